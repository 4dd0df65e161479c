/**
 * Does one arm remember a little? Each launch has its own control: the last warm-up, whose prompt nobody can have seen. What an arm's
 * samples gain over it is compared with what the other arm's gain, round by round. What warming up costs, the gains of both arms show
 * alike, be it a share of the time or a time that is the same in both; so an arm must gain more by both measures.
 */
import type { PlannedCell } from '../plan/schema.js';
import { type Estimate, meanEstimate } from './controls/interval.js';
import { fewestRounds } from './effect.js';
import { type Finding, finding } from './finding.js';
import { limits } from './limits.js';
import type { Launch } from './observations.js';
import type { Clock } from './rate.js';
import { pacesOf } from './warm-across.js';

interface Apart {
  /** Difference of ln(rate of the samples / rate of the warm-up), arm less reference. */
  share: number;
  /** The same of the time that a sample takes less than the warm-up, in parts of a sample of the faster arm. */
  time: number;
  /** Those of each arm by itself. */
  own: { arm: number; against: number };
}

function apartIn(arm: Launch, against: Launch, cell: PlannedCell, clock: Clock): Apart | null {
  const [left, right] = [pacesOf(arm, cell, clock), pacesOf(against, cell, clock)];
  if (left === null || right === null) return null;
  const own = { arm: Math.log(left.samples / left.novel), against: Math.log(right.samples / right.novel) };
  const spared = 1 / left.novel - 1 / left.samples - (1 / right.novel - 1 / right.samples);
  return { share: own.arm - own.against, time: spared * Math.max(left.samples, right.samples), own };
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** The whole interval lies beyond `limit` on this side. */
const isBeyond = (estimate: Estimate | null, sign: 1 | -1, limit: number): boolean =>
  estimate !== null && (sign === 1 ? estimate.lower : -estimate.upper) > limit;

/** Why an arm and its reference, over the rounds of a look, cannot both have been cold; from 6 rounds on. */
export function gainsApart(
  cell: PlannedCell,
  arm: readonly Launch[],
  against: readonly Launch[],
  clock: Clock,
): Finding[] {
  const rounds = arm.flatMap((launch) => {
    const other = against.find(({ round }) => round === launch.round);
    return (other && apartIn(launch, other, cell, clock)) ?? [];
  });
  if (rounds.length < fewestRounds) return [];
  // In its first round an arm has nothing of this session's to remember yet.
  rounds.shift();
  const allowed = -Math.log1p(-cell.marginPercent / 200);
  const estimate = (of: 'share' | 'time'): Estimate | null =>
    meanEstimate(
      rounds.map((round) => round[of]),
      limits.vetoLevel,
    );
  const [share, time] = [estimate('share'), estimate('time')];
  const sign = (share?.centre ?? 0) > 0 ? 1 : -1;
  const own = meanOf(rounds.map((round) => (sign === 1 ? round.own.arm : round.own.against)));
  if (own <= allowed || !isBeyond(share, sign, allowed) || !isBeyond(time, sign, allowed)) return [];
  const [liar, other] = sign === 1 ? [arm, against] : [against, arm];
  const percent = Number((100 * Math.expm1(Math.abs(share?.centre ?? 0))).toPrecision(2));
  const message =
    `${cell.id}: over the new prompt of the last warm-up, samples of ${liar[0]?.arm} gain ${percent} % more than those of ` +
    `${other[0]?.arm} (mean of ${rounds.length} rounds): they are remembered from launch to launch, or the warm-ups are too few`;
  return [finding('warm-across-launches', message)];
}
