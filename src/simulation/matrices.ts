/**
 * Whole matrices of a scenario, decided as sessions are: the real order with its null arm, the real bounds, controls and rule, looks
 * that only undecided cells go on from. What is left out is everything but numbers: processes, proofs, journals.
 */
import { boundsOf } from '../analysis/effect.js';
import { NULL_ARM } from '../matrix/schema.js';
import { nullRoundsOf, withNullArm } from '../plan/null-arm.js';
import { buildOrder } from '../plan/order.js';
import type { PlannedRound } from '../plan/schema.js';
import { Stream } from '../plan/stream.js';
import { type Decision, unlessContradicted, type decide as zoneRule } from '../verdict/zone.js';
import { FastDraw } from './draw.js';
import { launchLog, machineCourse, type Noise, noiseOf, placeLog, requestLog } from './noise.js';
import { type Scenario, scenarioLabel } from './scenario.js';
import { emptyTally, type Outcome, type Tally } from './tally.js';
import type { Contradiction, SeenCell, Veto } from './veto.js';

/** How matrices are measured and decided; a session's defaults are `standardProtocol`. */
export interface Protocol {
  cells: number;
  warmups: number;
  /** Odd, so that a median is a sample. */
  samples: number;
  looks: readonly number[];
  levelPerLook: number;
  marginPercent: number;
  /** First rounds that also launch the null arm. */
  nullRounds: number;
  vetoes: readonly Veto[];
  contradiction: Contradiction;
  /** The rule; a test gives wrong ones to see that their errors show. */
  decide: typeof zoneRule;
}

/** Which of a run's matrices. */
export interface Batch {
  seed: string;
  from: number;
  count: number;
}

interface Cell extends SeenCell {
  logs: Record<'base' | 'head', Float64Array>;
  ratios: number[];
  nullRatios: number[];
  baseMedians: number[];
  outcome: Outcome | null;
}

type Arm = 'base' | 'head' | 'null';
const armOf = (name: string): Arm => (name === 'base' || name === 'head' ? name : NULL_ARM);

/** The order of launches: `null` beside base and head in the rounds that hold the null arm. */
function orderOf(seed: string, { looks, nullRounds }: Protocol): PlannedRound[] {
  const rounds = buildOrder(['base', 'head'], looks.at(-1) ?? 0, seed);
  return withNullArm(rounds, nullRoundsOf(nullRounds, rounds.length));
}

/** Median of an odd number of values, which it sorts: insertion is the fastest for a handful. */
function medianOfOdd(values: Float64Array): number {
  for (let i = 1; i < values.length; i++) {
    const value = values[i] ?? 0;
    let at = i;
    for (; at > 0 && (values[at - 1] ?? 0) > value; at--) values[at] = values[at - 1] ?? 0;
    values[at] = value;
  }
  return values[(values.length - 1) / 2] ?? 0;
}

/** A launch of a matrix: its arm, and the log of what all its requests share. */
interface SharedLaunch {
  arm: Arm;
  log: number;
}

/** Measures a launch in all cells that are still open; answers through `medians`, log rates by cell. */
function measureLaunch(
  cells: readonly Cell[],
  { arm, log }: SharedLaunch,
  { samples, warmups }: Protocol,
  noise: Noise,
  draw: FastDraw,
  medians: Float64Array,
): void {
  const sorted = new Float64Array(samples);
  for (const [index, cell] of cells.entries()) {
    if (cell.outcome !== null) continue;
    const own = arm === 'null' ? null : cell.logs[arm];
    const first = cell.rounds * samples;
    const shared = log + launchLog(noise, draw);
    for (let s = 0; s < samples; s++) {
      const sample = shared + requestLog(noise, warmups + s, draw);
      if (own !== null) own[first + s] = sample;
      sorted[s] = sample;
    }
    medians[index] = medianOfOdd(sorted);
  }
}

function outcomeOf(decision: Decision | null): Outcome | null {
  if (decision === null) return null;
  if (decision.detail === 'beyond-budget') return 'beyond';
  if (decision.detail === 'slower-not-cleared') return 'slower';
  return decision.verdict === 'pass' ? 'pass' : 'inconclusive';
}

/** Runs one matrix to the end of its cells. */
function runMatrix(
  scenario: Scenario,
  protocol: Protocol,
  rounds: readonly PlannedRound[],
  room: readonly Cell['logs'][],
  draw: FastDraw,
): Cell[] {
  const { samples, looks } = protocol;
  const noise = noiseOf(scenario.simulation);
  const effect = Math.log1p(scenario.effectPercent / 100);
  const slots = rounds.reduce((sum, { order }) => sum + order.length, 0);
  const course = machineCourse(noise, slots, draw);
  const times: Record<'base' | 'head', number[]> = { base: [], head: [] };
  const cells = room.map((logs): Cell => {
    const seen = { rounds: 0, samples, baseMedians: [], ratios: [], nullRatios: [] };
    return { ...seen, logs, times, outcome: null };
  });
  const medians = () => new Float64Array(cells.length);
  const launched: Record<Arm, Float64Array> = { base: medians(), head: medians(), null: medians() };
  let slot = 0;
  for (const { round, order } of rounds) {
    for (const [position, name] of order.entries()) {
      const arm = armOf(name);
      const log = (course[slot] ?? 0) + placeLog(noise, position) + (arm === 'head' ? effect : 0);
      measureLaunch(cells, { arm, log }, protocol, noise, draw, launched[arm]);
      if (arm !== 'null') times[arm].push(slot);
      slot += 1;
    }
    const hasNull = order.length > 2;
    for (const [index, cell] of cells.entries()) {
      if (cell.outcome !== null) continue;
      const base = launched.base[index] ?? 0;
      cell.baseMedians.push(base);
      cell.ratios.push((launched.head[index] ?? 0) - base);
      if (hasNull) cell.nullRatios.push((launched.null[index] ?? 0) - base);
      cell.rounds = round + 1;
      if (looks.includes(cell.rounds)) cell.outcome = look(cell, scenario, protocol);
    }
    if (cells.every(({ outcome }) => outcome !== null)) break;
  }
  return cells;
}

function look(cell: Cell, { interval }: Scenario, protocol: Protocol): Outcome | null {
  const { marginPercent, levelPerLook, decide } = protocol;
  if (protocol.vetoes.some((veto) => veto(cell, marginPercent) !== null)) return 'refused';
  const bounds = boundsOf(cell.ratios, interval, levelPerLook);
  const last = cell.rounds === protocol.looks.at(-1);
  const decision = decide({ deciding: bounds }, marginPercent, last);
  const contradicted = decision !== null && protocol.contradiction(cell, bounds, levelPerLook);
  return outcomeOf(unlessContradicted(decision, contradicted, last));
}

/** Counts what becomes of a batch of matrices; the same for the same batch, whoever else runs others. */
export function simulateMatrices(scenario: Scenario, protocol: Protocol, batch: Batch): Tally {
  const tally = emptyTally();
  const label = scenarioLabel(scenario);
  const logs = (): Float64Array => new Float64Array(protocol.samples * (protocol.looks.at(-1) ?? 0));
  // Every matrix of the batch writes over the samples of the one before.
  const room = Array.from({ length: protocol.cells }, () => ({ base: logs(), head: logs() }));
  for (let matrix = batch.from; matrix < batch.from + batch.count; matrix++) {
    const seed = `${batch.seed}:${label}:${matrix}`;
    const draw = new FastDraw(new Stream(seed, 'simulated matrix'));
    const cells = runMatrix(scenario, protocol, orderOf(seed, protocol), room, draw);
    tally.matrices += 1;
    if (cells.every(({ outcome }) => outcome === 'pass')) tally.matricesPassed += 1;
    for (const { outcome, rounds } of cells) {
      tally.cells[outcome ?? 'inconclusive'] += 1;
      tally.rounds += rounds;
    }
  }
  return tally;
}
