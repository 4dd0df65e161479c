/**
 * Whole matrices of a scenario, decided as sessions are: the real order, the real bounds, the real rule, looks that only
 * undecided cells go on from. What is left out is everything but numbers: processes, proofs, journals.
 */
import { boundsOf, type LogInterval } from '../analysis/effect.js';
import { buildOrder } from '../plan/order.js';
import { Stream } from '../plan/stream.js';
import type { decide as zoneRule } from '../verdict/zone.js';
import { FastDraw } from './draw.js';
import { launchLog, machineCourse, type Noise, noiseOf, placeLog, requestLog } from './noise.js';
import { type Scenario, scenarioLabel } from './scenario.js';
import { emptyTally, type Outcome, type Tally } from './tally.js';
import type { SeenCell, Veto } from './veto.js';

/** How matrices are measured and decided; a session's defaults are `standardProtocol`. */
export interface Protocol {
  cells: number;
  warmups: number;
  /** Odd, so that a median is a sample. */
  samples: number;
  looks: readonly number[];
  levelPerLook: number;
  marginPercent: number;
  vetoes: readonly Veto[];
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
  ratios: number[];
  outcome: Outcome | null;
}

/** Place of head in each round. */
function headPlaces(seed: string, rounds: number): Uint8Array {
  return Uint8Array.from(buildOrder(['base', 'head'], rounds, seed), ({ order }) => order.indexOf('head'));
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

/** Measures a launch: all cells that are still open; answers through `medians`, by cell. */
function measureLaunch(
  cells: readonly Cell[],
  launch: { at: number; log: number },
  protocol: Protocol,
  noise: Noise,
  draw: FastDraw,
  medians: Float64Array,
): void {
  const { samples, warmups } = protocol;
  const sorted = new Float64Array(samples);
  for (const [index, cell] of cells.entries()) {
    if (cell.outcome !== null) continue;
    const shared = launch.log + launchLog(noise, draw);
    for (let s = 0; s < samples; s++) {
      const log = shared + requestLog(noise, warmups + s, draw);
      cell.logs[launch.at * samples + s] = log;
      sorted[s] = log;
    }
    medians[index] = medianOfOdd(sorted);
  }
}

function outcomeOf(
  bounds: LogInterval | null,
  last: boolean,
  { decide, marginPercent }: Protocol,
): Outcome | null {
  const decision = decide({ deciding: bounds }, marginPercent, last);
  if (decision === null) return null;
  if (decision.detail === 'beyond-budget') return 'beyond';
  return decision.detail === 'slower-not-cleared'
    ? 'slower'
    : decision.verdict === 'pass'
      ? 'pass'
      : 'inconclusive';
}

/** Runs one matrix to the end of its cells. */
function runMatrix(scenario: Scenario, protocol: Protocol, headAt: Uint8Array, draw: FastDraw): Cell[] {
  const { samples, looks } = protocol;
  const cap = headAt.length;
  const noise = noiseOf(scenario.simulation);
  const effect = Math.log1p(scenario.effectPercent / 100);
  const course = machineCourse(noise, 2 * cap, draw);
  const cells = Array.from({ length: protocol.cells }, (): Cell => {
    return {
      rounds: 0,
      samples,
      logs: new Float64Array(2 * cap * samples),
      headAt,
      ratios: [],
      outcome: null,
    };
  });
  const medians = [new Float64Array(cells.length), new Float64Array(cells.length)] as const;
  for (let round = 0; round < cap; round++) {
    for (const position of [0, 1] as const) {
      const at = 2 * round + position;
      const own = headAt[round] === position ? effect : 0;
      const log = (course[at] ?? 0) + placeLog(noise, position) + own;
      measureLaunch(cells, { at, log }, protocol, noise, draw, medians[position]);
    }
    const head = headAt[round] === 1 ? 1 : 0;
    for (const [index, cell] of cells.entries()) {
      if (cell.outcome !== null) continue;
      cell.ratios.push((medians[head][index] ?? 0) - (medians[1 - head === 1 ? 1 : 0][index] ?? 0));
      cell.rounds = round + 1;
      if (looks.includes(cell.rounds)) cell.outcome = look(cell, scenario, protocol);
    }
    if (cells.every(({ outcome }) => outcome !== null)) break;
  }
  return cells;
}

function look(cell: Cell, { interval }: Scenario, protocol: Protocol): Outcome | null {
  if (protocol.vetoes.some((veto) => veto(cell, protocol.marginPercent) !== null)) return 'refused';
  const bounds = boundsOf(cell.ratios, interval, protocol.levelPerLook);
  return outcomeOf(bounds, cell.rounds === protocol.looks.at(-1), protocol);
}

/** Counts what becomes of a batch of matrices; the same for the same batch, whoever else runs others. */
export function simulateMatrices(scenario: Scenario, protocol: Protocol, batch: Batch): Tally {
  const tally = emptyTally();
  const cap = protocol.looks.at(-1) ?? 0;
  const label = scenarioLabel(scenario);
  for (let matrix = batch.from; matrix < batch.from + batch.count; matrix++) {
    const seed = `${batch.seed}:${label}:${matrix}`;
    const draw = new FastDraw(new Stream(seed, 'simulated matrix'));
    const cells = runMatrix(scenario, protocol, headPlaces(seed, cap), draw);
    tally.matrices += 1;
    if (cells.every(({ outcome }) => outcome === 'pass')) tally.matricesPassed += 1;
    for (const { outcome, rounds } of cells) {
      tally.cells[outcome ?? 'inconclusive'] += 1;
      tally.rounds += rounds;
    }
  }
  return tally;
}
