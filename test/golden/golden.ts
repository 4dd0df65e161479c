/**
 * The signed runs of `manifests/` and how they are told: each archive beside one file a format, the same bytes for ever. A change of a word in
 * a report shows here as a difference that somebody has to look at; a change of a rule, as a run that no longer verifies.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { sealedOf } from '../../src/cli/report.js';
import { harnessFolder } from '../../src/harness.js';
import { NO_KEYS } from '../../src/manifest/no-keys.js';
import { withRunFolder } from '../../src/manifest/unpack.js';
import { verifyRun } from '../../src/manifest/verify.js';
import { type Format, formats, type Render } from '../../src/report/formats.js';

export const MANIFESTS = join(harnessFolder, 'manifests');

const ENDINGS: Record<Format, string> = {
  table: 'txt',
  markdown: 'md',
  html: 'html',
  json: 'verdict.json',
  csv: 'csv',
  benchstat: 'benchstat',
  'llama-bench-json': 'llama-bench.json',
  'llama-bench-sql': 'llama-bench.sql',
};

/** Names of the golden runs, `NAME.tar` each. */
export const goldenNames = (): string[] =>
  readdirSync(MANIFESTS)
    .filter((file) => file.endsWith('.tar'))
    .map((file) => file.slice(0, -'.tar'.length))
    .toSorted();

/** Text by file of everything that is said of a golden run, after it stood up to every check. */
export async function renderGolden(name: string): Promise<Map<string, string>> {
  const verification = await withRunFolder(join(MANIFESTS, `${name}.tar`), (run) =>
    verifyRun(run, { keyFolder: NO_KEYS }),
  );
  const { verdict, ...record } = verification.record;
  const context = { ...record, sealed: sealedOf(verification) };
  const files = new Map<string, string>();
  for (const [format, render] of Object.entries(formats) as [Format, Render][]) {
    const text = await render(verdict, context);
    files.set(`${name}.${ENDINGS[format]}`, text.endsWith('\n') ? text : `${text}\n`);
  }
  return files;
}
