/** Reads every waiver of a folder. One that cannot be read is told, not dropped. */
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { QualifyError } from '../errors.js';
import { invalid } from '../manifest/invalid.js';
import type { TrustPolicy } from '../manifest/trust-policy.js';
import { noFolder, unreadable } from './find-runs.js';
import type { FoundWaiver } from './input.js';
import { refusedFor } from './refused-for.js';
import { openWaiver } from './waiver.js';

/** What a waiver's file is called: `NAME.waiver.json`. */
export const WAIVER_ENDING = '.waiver.json';
/** Where they lie in a repository, unless `--waivers` names other folders. */
export const WAIVERS_FOLDER = 'waivers';
const MOST_BYTES = 65_536;

/** @throws QualifyError `ERR_QUALIFY_GATE_FOLDER` (exit 64) when there is no such folder */
export async function findWaivers(folder: string, trust: TrustPolicy): Promise<FoundWaiver[]> {
  if (!(await stat(folder).catch(() => null))?.isDirectory()) throw noFolder(folder, '--waivers');
  const entries = await readdir(folder).catch((error: unknown) => refused(folder, error));
  if (!Array.isArray(entries)) return [entries];
  const found: FoundWaiver[] = [];
  for (const file of entries.filter((name) => name.endsWith(WAIVER_ENDING)).sort())
    found.push(await readWaiver(join(folder, file), trust));
  return found;
}

async function readWaiver(path: string, trust: TrustPolicy): Promise<FoundWaiver> {
  try {
    const info = await lstat(path);
    if (!info.isFile() || info.size > MOST_BYTES)
      throw invalid(path, `is no plain file of at most ${MOST_BYTES} bytes`);
    return { path, waiver: openWaiver(await readFile(path), path, trust), failure: null };
  } catch (error) {
    return refused(path, error);
  }
}

/** One that cannot be taken, for what the error says of it. */
function refused(path: string, error: unknown): FoundWaiver {
  if (!(error instanceof QualifyError)) unreadable(error);
  const message = error instanceof Error ? refusedFor(path, error) : '';
  return { path, waiver: null, failure: { code: 'not-verified', message } };
}
