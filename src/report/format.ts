/** Numbers and names as the reports print them. */
import { counted } from '../counted.js';
import { signedPercent } from '../verdict/percent.js';
import type { ArmSummary, CellVerdict, Comparison, Effect } from '../verdict/schema.js';

/** `401-token prefill, chunk=512`, `64 tokens decoded after 401, chunk=512`; another id is named in front. */
export function workload({ id, promptTokens, chunk, phase, generatedTokens }: CellVerdict): string {
  const text =
    phase === 'prefill'
      ? `${promptTokens}-token prefill, chunk=${chunk}`
      : `${generatedTokens}-token decode after ${promptTokens}, chunk=${chunk}`;
  const usual = phase === 'prefill' ? `${promptTokens}/${chunk}` : `${promptTokens}+${generatedTokens}`;
  return id === usual ? text : `${id}: ${text}`;
}

/** `94.59 tok/s`. */
export const rate = ({ median }: ArmSummary): string => `${median.toFixed(2)} tok/s`;

/** `(MAD 0.15)`. */
export const spread = ({ mad }: ArmSummary): string => `(MAD ${mad.toFixed(2)})`;

/** `+89.2 %`. */
export const delta = (effect: Effect): string => signedPercent(effect.ratio);

/** `(1.89x)`. */
export const ratio = (effect: Effect): string => `(${effect.ratio.toFixed(2)}x)`;

/** `+88.3 % to +90.1 %`, or why there is none. */
export const interval = ({ lower, upper, rounds }: Effect): string =>
  lower === null || upper === null
    ? `no interval from ${counted(rounds, 'round')}`
    : `${signedPercent(lower)} to ${signedPercent(upper)}`;

/** `pass, improved`. */
export const verdictText = ({ verdict, detail }: Comparison): string =>
  detail === null ? verdict : `${verdict}, ${detail}`;

/** `exact, identical`; `bounded, within: top-1 98.2 %, 84 % in common, log-probabilities 0.031 apart`. */
export function parityText({ parity: { level, status, distance } }: Comparison): string {
  if (distance === undefined) return `${level}, ${status}`;
  const apart = distance.meanLogProbability;
  const mean = apart === null ? '' : `, log-probabilities ${apart.toPrecision(3)} apart`;
  const [top1, common] = [distance.top1, distance.common].map((share) => (100 * share).toFixed(1));
  return `${level}, ${status}: top-1 ${top1} %, ${common} % of likely ids in common${mean}`;
}
