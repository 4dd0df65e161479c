/** The run that the attacks on a manifest are made on, its envelope, and the guards that stop several of them. */
import { BASE_COMMIT, HEAD_COMMIT } from '../fixtures/run-folder.js';
import { sampleRun } from '../fuzz/sample-run.js';
import type { Guard } from './without-guard.js';

export const victim = await sampleRun({ revisions: { base: BASE_COMMIT, head: HEAD_COMMIT } });
/** Another run by the same key. */
export const other = await sampleRun({ msPerToken: 3, key: victim.key });
export const { keyId } = victim.key.publicKey;

/** A guard of the module that reads envelopes. */
export const envelope = (guard: string, instead: string): Guard => ({
  module: 'manifest/envelope',
  guard,
  instead,
});
