/** `qualify kernels test|bench`: the kernels against their references, and their speed. */
import { availableParallelism, loadavg } from 'node:os';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { QualifyError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { harnessFolder } from '../harness.js';
import { isCaught, plantFaults } from '../kernels/faults.js';
import { isaSchema, type SuiteLine } from '../kernels/lines.js';
import { runSuite, SUITE_EXIT, type SuiteRun } from '../kernels/suite.js';
import { checkLoad } from '../machine/doctor.js';
import { describeBench, describeFaults, describeSuiteTest } from '../report/kernels.js';
import { suiteRecipe } from '../revision/recipe.js';
import { findToolchain } from '../revision/toolchain.js';
import { requireBuild } from './embedded.js';
import { interruptSignal } from './interrupt.js';
import { wholeNumber } from './options.js';
import { answer, answerJson, startProgress } from './output.js';

interface SuiteFlags {
  filter: string;
  isa?: string;
  threads?: number;
  json: boolean;
}

interface TestFlags extends SuiteFlags {
  seed?: string;
  thorough: boolean;
  faults: boolean;
  brief: boolean;
}

interface BenchFlags extends SuiteFlags {
  quick: boolean;
}

const shared = ({ filter, isa, threads }: SuiteFlags): string[] => [
  ...['--filter', filter],
  ...(isa === undefined ? [] : ['--isa', isa]),
  ...(threads === undefined ? [] : ['--threads', String(threads)]),
];

/** Runs the program with a line of progress for every case or measurement. */
async function run(binary: string, arguments_: string[]): Promise<SuiteRun> {
  const progress = startProgress();
  let total: number | undefined;
  let done = 0;
  const onLine = (line: SuiteLine) => {
    if (line.type === 'header' && line.cases !== undefined)
      total = line.cases * (line.isas ?? '').split(' ').filter(Boolean).length;
    if (line.type === 'case') {
      done += 1;
      progress.update(`${line.group}: ${line.name}`, total ? done / total : null);
    }
    if (line.type === 'measure') progress.update(`${line.op}: ${line.shape}`, null);
  };
  try {
    return await runSuite(binary, arguments_, { signal: interruptSignal(), onLine });
  } finally {
    progress.end();
  }
}

/** The code of `qualify` for what the program said. */
function exitCodeOf({ exitCode }: SuiteRun): number {
  if (exitCode === SUITE_EXIT.failed) return EXIT.parity;
  return exitCode === SUITE_EXIT.unsupported ? EXIT.unsupported : EXIT.pass;
}

async function test(flags: TestFlags): Promise<void> {
  const { binary } = await requireBuild(suiteRecipe);
  if (flags.faults) return testFaults(binary, flags);
  const result = await run(binary, [
    'test',
    ...shared(flags),
    ...(flags.seed === undefined ? [] : ['--seed', flags.seed]),
    ...(flags.thorough ? ['--thorough'] : []),
  ]);
  requireRun(result, flags);
  const exitCode = exitCodeOf(result);
  if (flags.json) answerJson({ schemaVersion: 1, exitCode, lines: result.lines });
  else answer(describeSuiteTest(result.lines, flags));
  process.exitCode = exitCode;
}

/** Refuses what left nothing to run: a filter that takes nothing, or an instruction set that is not there. */
export function requireRun(
  { lines: [header] }: SuiteRun,
  { filter, isa }: Pick<SuiteFlags, 'filter' | 'isa'>,
): void {
  if (header?.type !== 'header') return;
  if (header.cases === 0 || header.operations === 0) {
    const what = header.cases === 0 ? 'case has' : 'operation has';
    const where = header.cases === 0 ? 'group and name' : 'name';
    throw new QualifyError('ERR_QUALIFY_USAGE', `no ${what} "${filter}" in its ${where}`, {
      exit: 'usage',
      hint: `qualify kernels ${header.cases === 0 ? 'test' : 'bench --quick'} lists them all`,
    });
  }
  const names = (header.supported ?? '').split(' ');
  if (isa !== undefined && !names.includes(isa)) throw lacking(isa, names);
}

const lacking = (what: string, names: readonly string[]): QualifyError =>
  new QualifyError('ERR_QUALIFY_UNSUPPORTED', `this CPU or build cannot run ${what}`, {
    exit: 'unsupported',
    hint: `it runs ${names.join(', ')}`,
  });

/** The fastest set of this CPU, or the one that was asked for. */
async function faultIsa(binary: string, asked: string | undefined) {
  const probe = await runSuite(binary, ['test', '--filter', 'no such case'], { signal: interruptSignal() });
  const [header] = probe.lines;
  const names = header?.type === 'header' ? (header.supported ?? '').split(' ') : [];
  const supported = isaSchema.options.filter((isa) => names.includes(isa));
  const chosen = asked === undefined ? supported.at(-1) : supported.find((isa) => isa === asked);
  if (chosen !== undefined) return chosen;
  throw lacking(asked ?? 'any of the kernels', names);
}

async function testFaults(binary: string, flags: TestFlags): Promise<void> {
  const isa = await faultIsa(binary, flags.isa);
  const progress = startProgress();
  try {
    const outcomes = await plantFaults({
      sourceFolder: harnessFolder,
      toolchain: await findToolchain(),
      isa,
      seed: flags.seed ?? '1',
      signal: interruptSignal(),
      onProgress: (text, share) => progress.update(text, share),
    });
    progress.end();
    const exitCode = outcomes.every(isCaught) ? EXIT.pass : EXIT.parity;
    if (flags.json) answerJson({ schemaVersion: 1, exitCode, isa, outcomes });
    else answer(describeFaults(outcomes));
    process.exitCode = exitCode;
  } catch (error) {
    progress.end();
    throw error;
  }
}

async function bench(flags: BenchFlags): Promise<void> {
  // Before the build and the run, which are load themselves.
  const [load = 0] = loadavg();
  const { binary } = await requireBuild(suiteRecipe);
  const result = await run(binary, ['bench', ...shared(flags), ...(flags.quick ? ['--quick'] : [])]);
  requireRun(result, flags);
  const exitCode = exitCodeOf(result);
  if (flags.json) answerJson({ schemaVersion: 1, exitCode, lines: result.lines });
  else answer(describeBench(result.lines, checkLoad(load, availableParallelism())));
  process.exitCode = exitCode;
}

function seedText(text: string): string {
  if (/^\d{1,20}$/.test(text) && BigInt(text) < 2n ** 64n) return text;
  throw new InvalidArgumentError('It must be a whole number below 2^64.');
}

const FAULTS_HELP =
  'plant each of the 20 faults in a copy of the kernels, build it and see that the cases catch it; it compiles for each, which is many minutes on 2 cores';

export function register(program: Command): void {
  const kernels = program
    .command('kernels')
    .description('the kernels by themselves: parity with their references, and speed');
  const options = (command: Command) =>
    command
      .option('--filter <text>', 'only what has this text in its name', '')
      .addOption(
        new Option('--isa <set>', 'one instruction set instead of those of this CPU').choices(
          isaSchema.options,
        ),
      )
      .addOption(new Option('--threads <n>', 'threads to use').argParser(wholeNumber(1, 1024)))
      .option('--json', 'answer with one JSON object', false);
  options(kernels.command('test'))
    .description('every kernel against its reference, on every instruction set, with fresh random inputs')
    .addOption(new Option('--seed <n>', 'seed of the inputs; a fresh one unless told').argParser(seedText))
    .option('--thorough', 'every width and more shapes', false)
    .addOption(
      new Option('--faults', FAULTS_HELP)
        .default(false)
        .conflicts(['filter', 'thorough', 'threads', 'brief']),
    )
    .option('--brief', 'scores without the list of cases', false)
    .action(test);
  options(kernels.command('bench'))
    .description('the speed of every kernel, beside what this machine can do and beside the plain way')
    .option('--quick', 'fewer shapes and shorter repeats', false)
    .action(bench);
}
