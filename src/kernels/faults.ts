/**
 * The check of the suite itself: each planted fault is a small edit of a kernel in a copy of the sources, and at least
 * one case must fail with it.
 */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { QualifyError } from '../errors.js';
import { guardPath } from '../machine/guard.js';
import { makeTemporaryFolder } from '../make-folder.js';
import { openLog, runStep } from '../revision/build-process.js';
import { type RecipeStep, recipeEnvironment } from '../revision/recipe.js';
import { SOURCE_FOLDERS } from '../revision/source-tree.js';
import type { Toolchain } from '../revision/toolchain.js';
import type { Isa, SuiteCase } from './lines.js';
import { runSuite, SUITE_EXIT } from './suite.js';

const faultSchema = z.strictObject({
  name: z.string().min(1),
  /** What the fault would do to users. */
  why: z.string().min(1),
  /** Below `kernels/`. */
  file: z.string().min(1),
  /** Occurs once in the file. */
  text: z.string().min(1),
  replacement: z.string(),
  /** Part of the names of the cases that are run with it. */
  filter: z.string(),
});
export type Fault = z.infer<typeof faultSchema>;

export interface FaultOutcome {
  fault: Fault;
  /** The cases that failed; none: the suite does not see this fault. */
  caughtBy: SuiteCase[];
  /** How the suite ended where it did not run to its end: whoever runs it sees this fault. */
  crash?: string;
}

export const isCaught = ({ caughtBy, crash }: FaultOutcome): boolean =>
  caughtBy.length > 0 || crash !== undefined;

export const FAULTS_FILE = 'kernels/suite/faults.json';

const faultError = (message: string, where: string, hint: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_FAULT', message, { exit: 'infrastructure', where, hint, cause });

/** The planted faults of a source folder. @throws ERR_QUALIFY_FAULT naming the fault whose text is not there once. */
export async function readFaults(sourceFolder: string): Promise<Fault[]> {
  const path = join(sourceFolder, FAULTS_FILE);
  let faults: Fault[];
  try {
    faults = z
      .array(faultSchema)
      .min(1)
      .parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    throw faultError(
      `the list of faults cannot be read: ${(error as Error).message}`,
      path,
      'mend the file',
      error,
    );
  }
  for (const fault of faults) await mutated(sourceFolder, fault);
  return faults;
}

/** The file's text with the fault in it. */
async function mutated(
  sourceFolder: string,
  fault: Fault,
): Promise<{ path: string; before: string; after: string }> {
  const path = join(sourceFolder, 'kernels', fault.file);
  const before = await readFile(path, 'utf8').catch(() => undefined);
  const count = before === undefined ? 0 : before.split(fault.text).length - 1;
  if (before === undefined || count !== 1) {
    throw faultError(
      `fault "${fault.name}": its text occurs ${count} times in kernels/${fault.file} instead of once`,
      join(sourceFolder, FAULTS_FILE),
      'the kernel was rewritten: choose another text for this fault',
    );
  }
  return { path, before, after: before.replace(fault.text, () => fault.replacement) };
}

interface FaultOptions {
  sourceFolder: string;
  toolchain: Toolchain;
  isa: Isa;
  seed: string;
  signal?: AbortSignal | undefined;
  onProgress?: ((text: string, share: number) => void) | undefined;
}

/**
 * Builds the suite with each fault in turn, for one instruction set, and runs the cases that are to see it.
 * @throws ERR_QUALIFY_FAULT when a fault does not apply or not compile, or when a case fails without any.
 */
export async function plantFaults(options: FaultOptions): Promise<FaultOutcome[]> {
  const scratch = makeTemporaryFolder('qualify-faults-');
  const dismissGuard = guardPath(scratch);
  try {
    for (const folder of SOURCE_FOLDERS) {
      await cp(join(options.sourceFolder, folder), join(scratch, folder), {
        recursive: true,
        filter: (path) => !/^build(-.*)?$/.test(basename(path)),
      });
    }
    const faults = await readFaults(scratch);
    const total = faults.length + 1;
    options.onProgress?.('building the suite without faults', 0);
    await build(scratch, options, true, 'no fault');
    const clean = await failures(scratch, options, '');
    if (clean.length > 0) {
      const first = clean.map(({ group, name }) => `${group}/${name}`)[0];
      throw faultError(
        `${clean.length} cases fail without any fault: ${first}`,
        scratch,
        'run qualify kernels test',
      );
    }
    const outcomes: FaultOutcome[] = [];
    for (const [index, fault] of faults.entries()) {
      options.onProgress?.(`fault ${index + 1} of ${faults.length}: ${fault.name}`, (index + 1) / total);
      const { path, before, after } = await mutated(scratch, fault);
      await writeFile(path, after);
      await build(scratch, options, false, fault.name);
      outcomes.push({ fault, ...(await seen(scratch, options, fault.filter)) });
      await writeFile(path, before);
    }
    return outcomes;
  } finally {
    await rm(scratch, { recursive: true, force: true });
    dismissGuard();
  }
}

/** What shows a planted fault: cases that fail, or the crash of the suite. */
async function seen(
  scratch: string,
  options: FaultOptions,
  filter: string,
): Promise<Omit<FaultOutcome, 'fault'>> {
  try {
    return { caughtBy: await failures(scratch, options, filter) };
  } catch (error) {
    if (!(error instanceof QualifyError) || error.code !== 'ERR_QUALIFY_KERNEL_SUITE') throw error;
    return { caughtBy: [], crash: error.message };
  }
}

/** Cases that fail. @throws ERR_QUALIFY_KERNEL_SUITE when the suite crashes. */
async function failures(scratch: string, options: FaultOptions, filter: string): Promise<SuiteCase[]> {
  const arguments_ = ['test', '--isa', options.isa, '--seed', options.seed, '--filter', filter];
  const { lines, exitCode } = await runSuite(join(scratch, 'build', 'qualify-kernels'), arguments_, options);
  if (exitCode === SUITE_EXIT.unsupported)
    throw faultError(`no case matches "${filter}" on ${options.isa}`, FAULTS_FILE, 'choose another filter');
  return lines.filter((line) => line.type === 'case').filter(({ outcome }) => outcome === 'failed');
}

async function build(scratch: string, options: FaultOptions, first: boolean, name: string): Promise<void> {
  const { toolchain } = options;
  const folder = join(scratch, 'build');
  const configure: RecipeStep = {
    name: 'configure',
    program: toolchain.cmakePath,
    arguments: [
      ...[
        '-S',
        join(scratch, 'native'),
        '-B',
        folder,
        '-G',
        toolchain.generator,
        '-DCMAKE_BUILD_TYPE=Release',
      ],
      `-DCMAKE_CXX_COMPILER=${toolchain.compilerPath}`,
      // Faults are found by their results: a quick compilation is worth more than a quick run.
      '-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG',
      ...['-DQUALIFY_SUITE=ON', `-DQUALIFY_ISAS=${options.isa}`],
    ],
  };
  const compile: RecipeStep = {
    name: 'compile',
    program: toolchain.cmakePath,
    arguments: [
      '--build',
      folder,
      '--target',
      'qualify-kernels',
      '--parallel',
      String(availableParallelism()),
    ],
  };
  const log = openLog(join(scratch, 'build.log'));
  try {
    for (const step of first ? [configure, compile] : [compile]) {
      const outcome = await runStep(step, { environment: recipeEnvironment(), log, signal: options.signal });
      if (outcome.exitCode !== 0) {
        throw faultError(
          `the suite does not compile with "${name}":\n${outcome.tail.join('\n')}`,
          FAULTS_FILE,
          'a fault must compile: choose another replacement',
        );
      }
    }
  } finally {
    log.end();
  }
}
