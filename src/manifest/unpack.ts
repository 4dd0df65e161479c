/** From an archive to a run folder: as a place that stays (`unpackRun`), or for as long as something works on it (`withRunFolder`). */
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { lstat, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { QualifyError } from '../errors.js';
import { guardPath } from '../machine/guard.js';
import { exists, unwritable } from '../machine/write-new.js';
import { temporary } from '../make-folder.js';
import { readRegular } from './evidence-index.js';
import type { Extracted, ExtractOptions } from './extract-archive.js';
import { PLAN_FILE, parseJson } from './run-folder.js';
import { type Verification, type VerifyOptions, verifyRun } from './verify.js';

interface UnpackOptions extends ExtractOptions {
  /** The new folder; named after the session, in the current folder, when absent. */
  out?: string | undefined;
  verify?: VerifyOptions;
}

interface UnpackedRun extends Extracted {
  runFolder: string;
  verification: Verification;
}

/**
 * Unpacks an archive, verifies what was in it, and only then gives the folder its name. Nothing is written over, and nothing is left
 * where it does not hold.
 * @throws QualifyError what `extractArchive` and `verifyRun` throw; `ERR_QUALIFY_EXISTS` (exit 64), `ERR_QUALIFY_UNWRITABLE` (15)
 */
export async function unpackRun(
  archive: string,
  { out, verify, ...options }: UnpackOptions = {},
): Promise<UnpackedRun> {
  if (out !== undefined) await requireNothing(out);
  const beside = out === undefined ? '.' : dirname(out);
  return inScratch(scratchBeside(resolve(beside)), async (scratch) => {
    const { extractArchive } = await archives();
    const extracted = await extractArchive(archive, scratch, options);
    const folder = join(scratch, extracted.session);
    await requireName(archive, extracted.session, folder);
    const verification = await toldOf(archive, folder, () => verifyRun(folder, verify));
    const runFolder = out ?? extracted.session;
    await requireNothing(runFolder);
    await rename(folder, runFolder).catch((error: unknown) => {
      throw unwritable(runFolder, error);
    });
    return { ...extracted, runFolder, verification };
  });
}

/**
 * Gives `work` a run folder: `path` itself when it is a folder, else what the archive `path` holds, in a temporary folder that is gone
 * when `work` is done. Nothing is verified: that is for `work` to do.
 * @throws QualifyError what `extractArchive` and `work` throw
 */
export async function withRunFolder<T>(
  path: string,
  work: (runFolder: string) => Promise<T>,
  options: ExtractOptions = {},
): Promise<T> {
  const found = await stat(path).catch(() => null);
  // What is not there, `work` complains of as of any folder.
  if (!found?.isFile()) return work(path);
  return inScratch(scratchInTemporary(), async (scratch) => {
    const { extractArchive } = await archives();
    const { session } = await extractArchive(path, scratch, options);
    const folder = join(scratch, session);
    await requireName(path, session, folder);
    return toldOf(path, folder, () => work(folder));
  });
}

/** Lets what is refused of the folder of an archive, which is gone when people read it, be told of the archive. */
async function toldOf<T>(archive: string, folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof QualifyError)) throw error;
    const { code, message, exit, where, hint } = error;
    if (![message, where, hint].some((text) => text?.includes(folder))) throw error;
    throw new QualifyError(code, message.replaceAll(folder, archive), {
      exit,
      ...(where !== undefined && { where: where.replaceAll(folder, archive) }),
      ...(hint !== undefined && { hint: hint.includes(folder) ? ANOTHER_ARCHIVE : hint }),
      cause: error,
    });
  }
}

/** Nothing can be done with the folder of an archive. */
const ANOTHER_ARCHIVE =
  'Ask for an archive of a run that is finished and sealed: `qualify pack` makes no other.';

/** What reads archives: loaded when there is one, which most runs that are verified are not. */
const archives = () => import('./extract-archive.js');

const namedSchema = z.object({ session: z.string() });

/**
 * The folder in the archive has to be called what the session is, else one run would have many archives. It is asked of bytes that are
 * not verified yet, and that `verifyRun` then holds to be what was signed.
 */
async function requireName(archive: string, session: string, folder: string): Promise<void> {
  const named = parseJson(PLAN_FILE, await readRegular(folder, PLAN_FILE), namedSchema);
  if (named.session === session) return;
  const { refusedArchive } = await archives();
  throw refusedArchive(archive, `calls ${session} what is of the session ${named.session}`);
}

async function requireNothing(path: string): Promise<void> {
  if ((await lstat(path).catch(() => null)) !== null) throw exists(path);
}

/** A folder that is to be made, and how. */
interface Scratch {
  path: string;
  make: () => void;
}

const makePrivate = (path: string): void => mkdirSync(path, { mode: 0o700 });

/** Beside what it will be, so that a rename is enough; open to nobody else until then. */
function scratchBeside(folder: string): Scratch {
  const path = join(folder, `.qualify-unpack-${randomUUID()}`);
  const make = (): void => {
    try {
      makePrivate(path);
    } catch (error) {
      throw unwritable(folder, error);
    }
  };
  return { path, make };
}

function scratchInTemporary(): Scratch {
  const path = join(tmpdir(), `qualify-unpack-${randomUUID()}`);
  return { path, make: () => temporary(() => makePrivate(path)) };
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A signal takes the folder along and then ends as it would have; the guard, which is there first, sees to `kill -9`. */
async function inScratch<T>({ path, make }: Scratch, work: (scratch: string) => Promise<T>): Promise<T> {
  const dismissGuard = guardPath(path);
  const end = (signal: NodeJS.Signals): void => {
    try {
      rmSync(path, { recursive: true, force: true, maxRetries: 3 });
    } finally {
      for (const name of SIGNALS) process.off(name, end);
      process.kill(process.pid, signal);
    }
  };
  for (const name of SIGNALS) process.on(name, end);
  try {
    make();
    return await work(path);
  } finally {
    await rm(path, { recursive: true, force: true });
    for (const name of SIGNALS) process.off(name, end);
    dismissGuard();
  }
}
