/** Draws the conclusions again: looks, verdict and report from plan and journal, to be compared by their bytes. */

import { isDeepStrictEqual } from 'node:util';
import { type Analysis, analyse } from '../analysis/analyse.js';
import { counted } from '../counted.js';
import type { Entry } from '../journal/entries.js';
import type { Plan } from '../plan/schema.js';
import { judge } from '../verdict/judge.js';
import { serializeVerdict } from '../verdict/serialize.js';
import { undecidedAfter } from '../verdict/settle.js';
import { invalid } from './invalid.js';
import { firstJsonDifference } from './json-difference.js';
import { JOURNAL_FILE, REPORT_FILE, type RunRecord, renderReport, VERDICT_FILE } from './run-folder.js';

/** Throws a `QualifyError` (exit `invalid`) at the first conclusion that does not follow. Returns what was recomputed. */
export async function replayConclusion(
  record: RunRecord,
  read: (path: string) => Promise<Buffer>,
): Promise<string[]> {
  const { plan, entries } = record;
  const analysis = analyse(plan, entries);
  const looks = replayLooks(plan, entries, analysis);
  const verdict = judge(plan, analysis);
  const text = serializeVerdict(verdict);
  const found = await read(VERDICT_FILE);
  if (!found.equals(Buffer.from(text))) {
    const difference = firstJsonDifference(JSON.parse(found.toString('utf8')), JSON.parse(text));
    throw invalid(
      VERDICT_FILE,
      `does not follow from plan and journal: ${difference ?? 'it is spelt differently'}`,
    );
  }
  if ((await read(REPORT_FILE)).toString('utf8') !== renderReport({ ...record, verdict })) {
    throw invalid(REPORT_FILE, `is not the report of ${VERDICT_FILE}`);
  }
  return [`${looks} look${looks === 1 ? '' : 's'}`, VERDICT_FILE, REPORT_FILE];
}

/** After each look the session went on with the cells that the rule left undecided, and with no others. */
function replayLooks(plan: Plan, entries: readonly Entry[], analysis: Analysis): number {
  const looks = entries.filter((entry) => entry.kind === 'look');
  for (const [at, look] of looks.entries()) {
    const expected = undecidedAfter(plan, analysis, look.rounds);
    if (look.rounds !== plan.decision.looks[at] || !isDeepStrictEqual(look.undecided, expected)) {
      throw invalid(
        JOURNAL_FILE,
        `line ${look.seq + 1} goes on with ${look.undecided.join(' ') || 'no cell'} after ${counted(look.rounds, 'round')}; ` +
          `by the rule it is ${expected.join(' ') || 'no cell'} after ${plan.decision.looks[at]}`,
      );
    }
  }
  return looks.length;
}
