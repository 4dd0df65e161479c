/** Whether the evidence of a run that is to be resumed is all of launches that its journal has. Changes nothing. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Entry } from '../journal/entries.js';
import { invalid } from '../manifest/invalid.js';
import { KIND_OF_FILE } from '../manifest/replay-evidence.js';
import { EVIDENCE_FOLDER, JOURNAL_FILE } from '../manifest/run-folder.js';

/**
 * Refuses a run whose journal was cut before launches of which there is evidence: they would be measured again over it. `lost` is the
 * launch that was under way, which may have come no further than its files.
 * @throws QualifyError `ERR_QUALIFY_INVALID` (exit 16) that names the first such file
 */
export async function requireKnownEvidence(
  runFolder: string,
  entries: readonly Entry[],
  lost: string | null,
): Promise<void> {
  const known = new Set(lost === null ? [] : [lost]);
  for (const entry of entries) {
    if (entry.kind === 'resume' && entry.lost !== null) known.add(entry.lost);
    if ((entry.kind === 'launch' || entry.kind === 'failure') && entry.launch !== null)
      known.add(entry.launch);
  }
  const namesIn = (folder: string): Promise<string[]> =>
    readdir(join(runFolder, EVIDENCE_FOLDER, folder)).catch(() => []);
  const isOfKnown = (file: string): boolean =>
    [...file.matchAll(/\./g)].some(
      ({ index }) => known.has(file.slice(0, index)) && KIND_OF_FILE.test(file.slice(index)),
    );
  const files = (await namesIn('launches')).filter((name) => !isOfKnown(name));
  const asked = (await namesIn('requests')).filter((name) => !known.has(name));
  const answered = (await namesIn('responses')).filter((name) => !known.has(name));
  const [first] = [
    ...files.toSorted().map((name) => `launches/${name}`),
    ...asked.toSorted().map((name) => `requests/${name}`),
    ...answered.toSorted().map((name) => `responses/${name}`),
  ];
  if (first === undefined) return;
  throw invalid(
    JOURNAL_FILE,
    `has no launch that wrote ${EVIDENCE_FOLDER}/${first}: lines of it are gone, or the file was added`,
    undefined,
    `Bring the journal back from a copy of the run, or measure anew with qualify run; ${EVIDENCE_FOLDER}/ stays as it is.`,
  );
}
