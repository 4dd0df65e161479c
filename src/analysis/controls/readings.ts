/** What the controls of a cell read at a look, as the verdict shows it. The sentences carry figures, so that a reader can judge for himself. */
import { counted } from '../../counted.js';
import type { PlannedCell } from '../../plan/schema.js';
import { plainPercent, signedPercent } from '../../verdict/percent.js';
import type { Control } from '../../verdict/schema.js';
import type { LogEffect } from '../effect.js';
import type { Finding } from '../finding.js';
import { limits } from '../limits.js';
import { type Launch, samplesOf } from '../observations.js';
import type { Clock } from '../rate.js';
import { median } from '../statistics.js';
import { type ComparedRound, ratesIn } from '../summary.js';
import { asPercent, type Estimate, isBeyond, isWithin } from './interval.js';
import { leverOff } from './lever-off.js';
import { nullArm } from './null-arm.js';
import { orderEffect, pointsElsewhere, type TimedRate } from './order-effect.js';
import { slotEffect } from './slot-effect.js';
import { warmUpChange, warmUpLimit } from './warm-up.js';

type About = Pick<Control, 'name' | 'cell' | 'arm' | 'rounds'>;

/** The effects of rounds that are proved to be comparable, or the first proof that they lack. */
export type Proof = { perRound: readonly number[] } | { lacks: Finding };

/** What is missing and what to do about it, in the words of the finding, whose code the documentation explains. */
function whyNot({ code, message }: Finding): string {
  const remedy =
    code === 'switch-not-applied'
      ? 'give the lever a name and a value that this engine has, then measure again'
      : `see ${code} in docs/validity.md, then measure again`;
  return `${message}; ${remedy}`;
}

const shown = ({ centre, lower, upper }: Estimate, rounds: number): string =>
  `${signedPercent(Math.exp(centre))} (${signedPercent(Math.exp(lower))} to ${signedPercent(Math.exp(upper))}, ${counted(rounds, 'round')})`;

function taken(
  about: About,
  estimate: Estimate,
  limitPercent: number | null,
  status: 'ok' | 'unclear' | 'exceeded',
  message: string,
): Control {
  return {
    ...about,
    status,
    percent: asPercent(estimate.centre),
    lowerPercent: asPercent(estimate.lower),
    upperPercent: asPercent(estimate.upper),
    limitPercent,
    message,
  };
}

/** Where an estimate lies against plus or minus a limit. */
const statusOf = (estimate: Estimate, limitPercent: number): 'ok' | 'unclear' | 'exceeded' =>
  isBeyond(estimate, limitPercent) ? 'exceeded' : isWithin(estimate, limitPercent) ? 'ok' : 'unclear';

const limited = (limitPercent: number): string => `limit ±${plainPercent(limitPercent)}`;

const notTaken = (about: About, message: string): Control => ({
  ...about,
  status: 'not-taken',
  percent: null,
  lowerPercent: null,
  upperPercent: null,
  limitPercent: null,
  message,
});

/** The null arm against the reference, over the rounds that hold it. `others` are those of the comparisons. */
export function nullReading(
  cell: PlannedCell,
  { arm, against }: { arm: string; against: string },
  proof: Proof,
  others: readonly (readonly number[])[],
): Control {
  const about: About = { name: 'null', cell: cell.id, arm, rounds: 0 };
  if ('lacks' in proof)
    return notTaken(about, `${arm} is not proved to be ${against} once more: ${whyNot(proof.lacks)}`);
  const { perRound } = proof;
  about.rounds = perRound.length;
  const effect = nullArm(perRound, limits.vetoLevel, cell.marginPercent, others);
  if (effect === null) {
    return notTaken(about, `${counted(about.rounds, 'round')} of the null arm; an interval takes two`);
  }
  const limit = cell.marginPercent * limits.nullShare;
  const message = `${against} against itself ${shown(effect, about.rounds)}, ${limited(limit)}`;
  return taken(about, effect, limit, statusOf(effect, limit), message);
}

/** Whether the rates of an arm were steady from the first retained sample of a launch to the last. */
export function warmUpReading(
  cell: PlannedCell,
  arm: string,
  launches: readonly Launch[],
  clock: Clock,
): Control {
  const about: About = { name: 'warm-up', cell: cell.id, arm, rounds: launches.length };
  const samples = launches.map((launch) => samplesOf(launch, cell.id, 'sample'));
  const change = warmUpChange(
    launches.map((launch) => ratesIn(launch, cell, clock)),
    limits.vetoLevel,
    samples.map((own) => own.map(({ prompt }) => prompt)),
  );
  if (change === null) {
    return notTaken(about, `${arm}: too few launches or samples to tell warming up from what prompts cost`);
  }
  const limit = warmUpLimit(cell.marginPercent);
  const message = `${arm} ${shown(change, about.rounds)} from the first sample of a launch to the last, ${limited(limit)}`;
  return taken(about, change, limit, statusOf(change, limit), message);
}

/** A lever-off arm against the reference: in order only when shown to be within the margin on both sides. */
export function leverOffReading(
  cell: PlannedCell,
  { arm, against }: { arm: string; against: string },
  proof: Proof,
  level: number,
): Control {
  const about: About = { name: 'lever-off', cell: cell.id, arm, rounds: 0 };
  if ('lacks' in proof)
    return notTaken(about, `${arm} is not proved to be comparable with ${against}: ${whyNot(proof.lacks)}`);
  const { perRound } = proof;
  about.rounds = perRound.length;
  const effect = leverOff(perRound, level, cell.marginPercent);
  if (effect === null) return notTaken(about, `${counted(about.rounds, 'round')}; an interval takes two`);
  const budget = plainPercent(cell.marginPercent);
  const beyond = isBeyond(effect, cell.marginPercent);
  const status = effect.equivalent ? 'ok' : beyond ? 'exceeded' : 'unclear';
  const found = {
    ok: 'shown to be within',
    exceeded: 'shown to be outside',
    unclear: 'not shown to be within',
  };
  const message = `${arm} against ${against} ${shown(effect, about.rounds)}, ${found[status]} ±${budget}`;
  return taken(about, effect, cell.marginPercent, status, message);
}

/** Second against first launch of a round. */
export function slotReading(
  cell: PlannedCell,
  arm: string,
  rounds: readonly ComparedRound[],
  level: number,
): Control {
  const about: About = { name: 'slot', cell: cell.id, arm, rounds: rounds.length };
  const effect = slotEffect(
    rounds.map(({ ratio }) => ratio),
    rounds.map(({ base, head }) => base.started.position < head.started.position),
    level,
  );
  if (effect === null)
    return notTaken(about, `${arm}: ${counted(rounds.length, 'round')}; three, in both orders, are needed`);
  const limit = cell.marginPercent * limits.slotShare;
  const message = `${arm}: second launch of a round against the first ${shown(effect, rounds.length)}; ${limited(limit)}; the balanced order cancels it`;
  return taken(about, effect, limit, statusOf(effect, limit), message);
}

function timedRates(cell: PlannedCell, rounds: readonly ComparedRound[], clock: Clock): TimedRate[] {
  const origin = rounds[0]?.base.started.atNs ?? '0';
  return rounds.flatMap(({ base, head }) =>
    [base, head].map((launch): TimedRate => {
      // Nanoseconds may pass 2^53; their distance in a session does not.
      const time = Number(BigInt(launch.started.atNs) - BigInt(origin));
      return { logRate: Math.log(median(ratesIn(launch, cell, clock))), isHead: launch === head, time };
    }),
  );
}

/** The effect by arm and linear time; exceeded when it points the other way than an effect whose interval excludes none. */
export function orderReading(
  cell: PlannedCell,
  arm: string,
  rounds: readonly ComparedRound[],
  effect: LogEffect,
  clock: Clock,
): Control {
  const about: About = { name: 'order', cell: cell.id, arm, rounds: rounds.length };
  const timed = orderEffect(timedRates(cell, rounds, clock), effect.level);
  if (timed === null)
    return notTaken(
      about,
      `${arm}: ${counted(rounds.length, 'round')} ${rounds.length === 1 ? 'is' : 'are'} too few to take a drift out`,
    );
  const { deciding, centre } = effect;
  const contradicts = pointsElsewhere(timed, deciding);
  const message = `${arm} with a linear drift taken out ${shown(timed, rounds.length)}, by rounds ${signedPercent(Math.exp(centre))}`;
  return taken(about, timed, null, contradicts ? 'exceeded' : 'ok', message);
}
