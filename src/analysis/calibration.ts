/**
 * What sessions of equal arms, and of one that was slowed down on purpose, say of a machine. The record of a session is kept in
 * `calibration.json`; the estimates are made from all of them anew, so that sessions pool.
 */

import { z } from 'zod';
import { counted } from '../counted.js';
import type { Entry } from '../journal/entries.js';
import { engineNameSchema } from '../matrix/engines.js';
import { generatedModelText } from '../matrix/generated-model.js';
import { phaseSchema, protocolSchema } from '../matrix/schema.js';
import { type Plan, sha256Schema } from '../plan/schema.js';
import { type Comparison, type Verdict, type VerdictName, verdictNameSchema } from '../verdict/schema.js';
import { binomialInterval } from './binomial-interval.js';
import { type Noise, noiseOf, requestDeviation } from './noise.js';
import { launchesOf, observe } from './observations.js';
import { rateOf } from './rate.js';
import { smallestMarginPercent } from './smallest-margin.js';
import { retained } from './summary.js';

const cellRecordSchema = z.strictObject({
  id: z.string(),
  phase: phaseSchema,
  marginPercent: z.number(),
  verdict: verdictNameSchema,
  detail: z.string().nullable(),
  /** Standard deviation of ln(rate) inside of a launch; null where launches have one sample. */
  requestDeviation: z.number().min(0).nullable(),
  samplesPerLaunch: z.int().min(1),
  /** Empty where a proof was missing: such rounds say nothing. */
  rounds: z.array(z.strictObject({ lnRatio: z.number(), armSecond: z.boolean() })),
});

export const sessionRecordSchema = z.strictObject({
  session: z.string(),
  /** Absolute. The folder may have gone since. */
  runFolder: z.string(),
  finishedAt: z.iso.datetime(),
  planDigest: sha256Schema,
  machineId: sha256Schema,
  kernel: z.string(),
  cpu: z.string(),
  engine: engineNameSchema,
  clock: protocolSchema.shape.clock,
  /** Model, threads and CPUs in words: cells pool only where it is the same. */
  workload: z.string(),
  /** Percent by which the second arm was slowed down; null for equal arms. */
  plantedPercent: z.number().positive().nullable(),
  levelPerLook: z.number(),
  result: verdictNameSchema,
  cells: z.array(cellRecordSchema),
});

export type SessionRecord = z.infer<typeof sessionRecordSchema>;

function workloadOf({ model, engine }: Plan): string {
  const name = 'preset' in model ? generatedModelText(model) : 'path' in model ? model.path : 'simulated';
  const threads = engine.threads === undefined ? [] : [counted(engine.threads, 'thread')];
  const cpus = engine.cpus === undefined ? [] : [`CPUs ${engine.cpus}`];
  return [name, ...threads, ...cpus].join(', ');
}

/** What the rule called equal arms, before the verdict took it back because they are equal: that is what is counted. */
const detailByRule = ({ verdict, detail, reasons }: Comparison): string | null =>
  verdict === 'pass' && reasons.some(({ code }) => code === 'false-alarm') ? 'improved' : detail;

/** Details of a fail. Equal arms have them also where the verdict says `inconclusive`. */
const failDetails: readonly (string | null)[] = ['beyond-budget', 'slower-not-cleared'];

/** The record of a finished session of two arms, and of where and when it ran. */
export function recordOf(
  plan: Plan,
  entries: readonly Entry[],
  verdict: Verdict,
  place: Pick<SessionRecord, 'runFolder' | 'finishedAt' | 'machineId' | 'kernel' | 'cpu'>,
): SessionRecord {
  const [reference, arm] = plan.arms;
  if (reference === undefined || arm === undefined) throw new RangeError('a calibration compares two arms');
  const { clock } = plan.protocol;
  const seen = observe(entries);
  const cells = plan.cells.map((cell): SessionRecord['cells'][number] => {
    const judged = verdict.cells.find(({ id }) => id === cell.id);
    const comparison = judged?.comparisons.find((candidate) => candidate.arm === arm.name);
    const ratios = comparison?.effect?.perRound ?? [];
    const launches = [reference, arm].flatMap(({ name }) => launchesOf(seen, name, ratios.length));
    const rates = launches.map((launch) =>
      retained(cell, [launch]).flatMap(({ answer }) => {
        const rate = rateOf(answer, cell.phase, clock);
        return rate === null ? [] : [Math.log(rate)];
      }),
    );
    return {
      id: cell.id,
      phase: cell.phase,
      marginPercent: cell.marginPercent,
      verdict: judged?.verdict ?? 'not-measured',
      detail: comparison === undefined ? null : detailByRule(comparison),
      requestDeviation: requestDeviation(rates),
      samplesPerLaunch: plan.protocol.samples,
      rounds: ratios.map((lnRatio, round) => {
        const order = plan.rounds[round]?.order ?? [];
        return { lnRatio, armSecond: order.indexOf(arm.name) > order.indexOf(reference.name) };
      }),
    };
  });
  return {
    session: plan.session,
    planDigest: verdict.planDigest,
    ...place,
    engine: reference.engine,
    clock,
    workload: workloadOf(plan),
    plantedPercent: arm.plantedSlowdownPercent ?? null,
    levelPerLook: plan.decision.levelPerLook,
    result: verdict.result,
    cells,
  };
}

/** A cell on a workload, over all sessions of equal arms. */
export interface CellCalibration {
  workload: string;
  id: string;
  noise: Noise;
  /** Smallest margin in percent that an unchanged cell passes 9 times in 10, by rounds; bounds from those of the noise. */
  margins: { rounds: number; percent: number; lowerPercent: number; upperPercent: number }[];
}

/** How often equal things were called different. Cells whose proofs were missing are `refused` and not counted. */
interface Alarms {
  cells: number;
  failed: number;
  improved: number;
  refused: number;
  /** Chance that an unchanged cell is called a fail: exact 95 % interval. */
  failShare: { lower: number; upper: number };
}

export interface Planted {
  session: string;
  percent: number;
  /** Every cell came out as a fail. */
  found: boolean;
  cells: { id: string; verdict: VerdictName; detail: string | null; rounds: number; marginPercent: number }[];
}

export interface Calibration {
  sessions: number;
  cells: CellCalibration[];
  alarms: Alarms;
  /** In order of time; those with all proofs. */
  planted: Planted[];
}

/** Rounds for which the smallest margin is told: the first look and the last of the default protocol. */
const MARGIN_ROUNDS = [6, 24];

const judgements: readonly VerdictName[] = ['pass', 'inconclusive', 'fail'];
/** A proof was missing, so that nothing was measured. */
export const isRefused = (verdict: VerdictName): boolean => !judgements.includes(verdict);

function cellCalibration(workload: string, id: string, same: readonly SessionRecord[]): CellCalibration[] {
  const own = same.filter((session) => session.workload === workload);
  const noise = noiseOf(own.flatMap(({ cells }) => cells.filter((cell) => cell.id === id)));
  if (noise === null) return [];
  const level = Math.min(...own.map(({ levelPerLook }) => levelPerLook));
  const margins = MARGIN_ROUNDS.map((rounds) => {
    const percent = (deviation: number): number => smallestMarginPercent(deviation, rounds, level);
    const { value, lower, upper } = noise.round;
    return {
      rounds,
      percent: percent(value),
      lowerPercent: percent(lower),
      upperPercent: percent(upper),
    };
  });
  return [{ workload, id, noise, margins }];
}

function alarmsOf(same: readonly SessionRecord[]): Alarms {
  const all = same.flatMap((session) => session.cells);
  const judged = all.filter(({ verdict }) => !isRefused(verdict));
  const failed = judged.filter(
    ({ verdict, detail }) => verdict === 'fail' || failDetails.includes(detail),
  ).length;
  return {
    cells: judged.length,
    failed,
    improved: judged.filter(({ detail }) => detail === 'improved').length,
    refused: all.length - judged.length,
    failShare: binomialInterval(failed, judged.length, 0.95),
  };
}

/** What the sessions of one machine, engine and clock say together. */
export function calibrationOf(sessions: readonly SessionRecord[]): Calibration {
  const same = sessions.filter(({ plantedPercent }) => plantedPercent === null);
  const keys = same.flatMap(({ workload, cells }) => cells.map(({ id }) => JSON.stringify([workload, id])));
  const cells = [...new Set(keys)].flatMap((key) => {
    const [workload, id] = z.tuple([z.string(), z.string()]).parse(JSON.parse(key));
    return cellCalibration(workload, id, same);
  });
  const planted = sessions.flatMap(({ session, plantedPercent, cells: own }): Planted[] => {
    if (plantedPercent === null || own.some(({ verdict }) => isRefused(verdict))) return [];
    const found = own.every(({ verdict }) => verdict === 'fail');
    const told = own.map(({ id, verdict, detail, rounds, marginPercent }) => ({
      ...{ id, verdict, detail, rounds: rounds.length, marginPercent },
    }));
    return [{ session, percent: plantedPercent, found, cells: told }];
  });
  return { sessions: same.length, cells, alarms: alarmsOf(same), planted };
}
