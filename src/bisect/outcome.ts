/** What a session says of one commit: good, bad, undecided, or nothing at all. Pure. */
import type { QualifyError } from '../errors.js';
import type { Verdict, VerdictName } from '../verdict/schema.js';

/**
 * `good`: every required cell passes. `bad`: one is slower beyond its budget. `undecided`: neither is shown, slower-not-cleared
 * included. `refused`: the commit cannot be measured here, or a proof is missing.
 */
export type Outcome = 'good' | 'bad' | 'undecided' | 'refused';

export interface Judgement {
  outcome: Outcome;
  /** The verdict and its detail, or the code of what ended the session. */
  word: string;
  /** The losing comparison's effect in percent of the rate, with its bounds; null where there is none. */
  effect: { deltaPercent: number; lowerPercent: number | null; upperPercent: number | null } | null;
  /** Why, where it is neither good nor bad. */
  reason: string | null;
}

/** Failures that a commit brings about by itself. Any other (a full disk, a machine that is taken) says nothing of it, and ends a bisection. */
const OF_THE_COMMIT: ReadonlySet<string> = new Set([
  'ERR_QUALIFY_ADDON',
  'ERR_QUALIFY_ANSWER_MALFORMED',
  'ERR_QUALIFY_BUILD_DIFFERS',
  'ERR_QUALIFY_BUILD_FAILED',
  'ERR_QUALIFY_ENGINE_DIED',
  'ERR_QUALIFY_EXCHANGE_FAILED',
  'ERR_QUALIFY_LAUNCH_FAILED',
  'ERR_QUALIFY_NO_ENGINE_SOURCES',
  'ERR_QUALIFY_PROCESS_LEFT',
  'ERR_QUALIFY_REQUEST_REFUSED',
  'ERR_QUALIFY_TIMEOUT',
  'ERR_QUALIFY_WRONG_ENGINE',
]);

/** What ended a session early. */
export type Failure = Pick<QualifyError, 'code' | 'message'>;

/** Whether a session failed for what the commit is. */
export const isOfTheCommit = ({ code }: Failure): boolean => OF_THE_COMMIT.has(code);

const asPercent = (ratio: number | null): number | null => (ratio === null ? null : 100 * (ratio - 1));

/** The refusal of a comparison whose arms are one binary, though their sources differ. */
const SAME_BINARY = 'binary-identical';
/** That a run has one cell only is no fault of the commit. */
const NARROWED = 'narrowed';

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';

/** What follows from a verdict by the cells that it has: that other cells were left out is no fault of the commit. */
export function judgementOf(verdict: Verdict, failure: Failure | null): Judgement {
  if (failure !== null)
    return { outcome: 'refused', word: failure.code, effect: null, reason: firstLine(failure.message) };
  const cells = verdict.cells.filter(({ required }) => required);
  const all = (cells.length > 0 ? cells : verdict.cells).flatMap(({ comparisons }) => comparisons);
  const slower = all.find(({ detail }) => detail === 'beyond-budget');
  const unsettled = all.find(({ verdict }) => verdict === 'inconclusive' || verdict === 'fail');
  const shown = slower ?? unsettled ?? all[0];
  const measured = ['pass', 'inconclusive', 'fail'].includes(verdict.result);
  const reasons =
    (measured ? shown?.reasons : verdict.reasons)?.filter(({ code }) => code !== NARROWED) ?? [];
  const reason = reasons[0]?.message ?? null;
  if (!measured && reasons.length > 0 && reasons.every(({ code }) => code === SAME_BINARY))
    return { outcome: 'good', word: 'same binary', effect: null, reason: null };
  if (!measured || shown === undefined)
    return { outcome: 'refused', word: verdict.result, effect: null, reason };
  const { effect, detail } = shown;
  const outcome = slower !== undefined ? 'bad' : unsettled !== undefined ? 'undecided' : 'good';
  return {
    outcome,
    word: detail === null ? shown.verdict : `${shown.verdict}, ${detail}`,
    effect: effect && {
      deltaPercent: effect.deltaPercent,
      lowerPercent: asPercent(effect.lower),
      upperPercent: asPercent(effect.upper),
    },
    reason: outcome === 'undecided' ? reason : null,
  };
}

/** Refusals that a busy machine may have brought about. */
const OF_THE_MACHINE: ReadonlySet<string> = new Set<VerdictName>(['contaminated', 'unmatched']);

/** Whether another session could say more: with more rounds, or when the machine is quieter. */
export const isWorthAnother = ({ outcome, word }: Judgement): boolean =>
  outcome === 'undecided' || (outcome === 'refused' && OF_THE_MACHINE.has(word));
