/** Draws the summaries of telemetry again from the files that they were drawn from. */
import { isDeepStrictEqual } from 'node:util';
import { summariseTelemetry } from '../analysis/telemetry.js';
import type { Entry } from '../journal/entries.js';
import { parseTelemetry } from '../journal/telemetry.js';
import { invalid } from './invalid.js';
import { JOURNAL_FILE } from './run-folder.js';

/** Throws a `QualifyError` (exit `invalid`) at the first summary that its file does not give. */
export async function replayTelemetry(
  entries: readonly Entry[],
  read: (path: string) => Promise<Buffer>,
): Promise<void> {
  for (const entry of entries) {
    if (entry.kind !== 'telemetry') continue;
    const { seq, atNs: _at, kind: _kind, launch, log, ...stated } = entry;
    const samples = parseTelemetry((await read(log.path)).toString('utf8'), log.path);
    if (samples.length < 2) throw invalid(log.path, 'has fewer than the two readings of a launch');
    if (!isDeepStrictEqual(summariseTelemetry(samples), stated))
      throw invalid(
        JOURNAL_FILE,
        `line ${seq + 1} sums up the telemetry of ${launch} otherwise than ${log.path}`,
      );
  }
}
