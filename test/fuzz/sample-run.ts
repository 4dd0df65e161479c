/** One sealed run as a source of good files, made once for a file of tests. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { generateKey, type OwnKey } from '../../src/manifest/key-store.js';
import { type SealedRun, seal } from '../../src/manifest/seal.js';
import { type RunOptions, writeRun } from '../fixtures/run-folder.js';
import { removeFolder } from '../support/folder.js';
import { scratchRoot } from '../support/scratch-root.js';

export interface SampleRun {
  /** Scratch folder that holds `run` and may hold more. */
  folder: string;
  run: string;
  key: OwnKey;
  sealed: SealedRun;
  read: (path: string) => string;
  json: (path: string) => unknown;
}

/** Writes and seals a small run, by a key of its own unless it is given one; it goes when the file's tests have ended. */
export async function sampleRun({
  key: given,
  ...options
}: RunOptions & { key?: OwnKey } = {}): Promise<SampleRun> {
  const folder = mkdtempSync(join(scratchRoot, 'qualify-sample-'));
  after(() => removeFolder(folder));
  const run = join(folder, 'run');
  await writeRun(run, options);
  const key = given ?? (await generateKey('signer', join(folder, 'signer')));
  const sealed = await seal(run, key);
  const read = (path: string): string => readFileSync(join(run, path), 'utf8');
  return { folder, run, key, sealed, read, json: (path) => JSON.parse(read(path)) as unknown };
}
