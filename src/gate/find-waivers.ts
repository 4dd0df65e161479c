/** Reads every waiver of a folder. One that cannot be read is told, not dropped. */
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { QualifyError } from '../errors.js';
import type { TrustPolicy } from '../manifest/trust-policy.js';
import { noFolder } from './find-runs.js';
import type { FoundWaiver } from './input.js';
import { openWaiver } from './waiver.js';

/** What a waiver's file is called: `NAME.waiver.json`. */
export const WAIVER_ENDING = '.waiver.json';
const MOST_BYTES = 65_536;

/** @throws QualifyError `ERR_QUALIFY_GATE_FOLDER` (exit 64) when there is no such folder */
export async function findWaivers(folder: string, trust: TrustPolicy): Promise<FoundWaiver[]> {
  if (!(await stat(folder).catch(() => null))?.isDirectory()) throw noFolder(folder, '--waivers');
  const files = (await readdir(folder)).filter((name) => name.endsWith(WAIVER_ENDING)).sort();
  const found: FoundWaiver[] = [];
  for (const file of files) found.push(await readWaiver(join(folder, file), trust));
  return found;
}

async function readWaiver(path: string, trust: TrustPolicy): Promise<FoundWaiver> {
  const refused = (message: string): FoundWaiver => ({
    path,
    waiver: null,
    failure: { code: 'not-verified', message },
  });
  const info = await lstat(path);
  if (!info.isFile() || info.size > MOST_BYTES)
    return refused(`is no plain file of at most ${MOST_BYTES} bytes`);
  try {
    return { path, waiver: openWaiver(await readFile(path), path, trust), failure: null };
  } catch (error) {
    if (!(error instanceof QualifyError)) throw error;
    return refused(error.message);
  }
}
