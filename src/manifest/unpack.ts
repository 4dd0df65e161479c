/** From an archive to a run folder: as a place that stays (`unpackRun`), or for as long as something works on it (`withRunFolder`). */
import { lstat, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { guardPath } from '../machine/guard.js';
import { exists, unwritable } from '../machine/write-new.js';
import { makeTemporaryFolder } from '../make-folder.js';
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
  return inScratch(await scratchBeside(resolve(beside)), async (scratch) => {
    const { extractArchive } = await archives();
    const extracted = await extractArchive(archive, scratch, options);
    const folder = join(scratch, extracted.session);
    await requireName(archive, extracted.session, folder);
    const verification = await verifyRun(folder, verify);
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
  const scratch = makeTemporaryFolder('qualify-unpack-');
  return inScratch(scratch, async () => {
    const { extractArchive } = await archives();
    const { session } = await extractArchive(path, scratch, options);
    const folder = join(scratch, session);
    await requireName(path, session, folder);
    return work(folder);
  });
}

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

/** Beside what it will be, so that a rename is enough; open to nobody else until then. */
const scratchBeside = (folder: string): Promise<string> =>
  mkdtemp(join(folder, '.qualify-unpack-')).catch((error: unknown) => {
    throw unwritable(folder, error);
  });

async function inScratch<T>(scratch: string, work: (scratch: string) => Promise<T>): Promise<T> {
  const dismissGuard = guardPath(scratch);
  try {
    return await work(scratch);
  } finally {
    await rm(scratch, { recursive: true, force: true });
    dismissGuard();
  }
}
