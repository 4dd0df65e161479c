/**
 * Calibrates a machine: sessions of one build against itself, then one with a slowdown planted in it. Each is an ordinary session
 * with a run folder of its own, and its record is kept at once, so that an interruption loses one session at most.
 */
import { join } from 'node:path';
import {
  type Calibration,
  calibrationOf,
  isRefused,
  recordOf,
  type SessionRecord,
} from '../analysis/calibration.js';
import { QualifyError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { readJournal } from '../journal/read.js';
import { addCalibration, poolOf, readCalibrations } from '../machine/calibration-file.js';
import { fingerprint } from '../machine/fingerprint.js';
import { JOURNAL_FILE } from '../manifest/run-folder.js';
import { plantedTwice, sameTwice } from '../matrix/same-twice.js';
import type { Matrix } from '../matrix/schema.js';
import { exitCodeOf } from '../verdict/exit-code.js';
import { worstOf } from '../verdict/refusal.js';
import type { SessionProgress } from './context.js';
import { runSession, type SessionResult } from './session.js';

interface CalibrateOptions {
  /** Cells, model and protocol; its first arm is the one that runs twice. */
  matrix: Matrix;
  repository: string;
  /** Folder in which `.qualify/runs` lies. */
  folder: string;
  /** Sessions of equal arms, and rounds of each. */
  sessions: number;
  rounds: number;
  clock?: Matrix['protocol']['clock'] | undefined;
  /** What is planted in the last session, and the margin under which it must fail; both in percent. */
  plantedPercent: number;
  marginPercent: number;
  /** Ids of the only cells to run. */
  cells?: readonly string[] | undefined;
  seed?: string | undefined;
  wait: boolean;
  progress: SessionProgress;
  signal: AbortSignal;
}

/** One session to run. What a thing of the harness costs is such a trial, too: equal arms but for that thing. */
interface Trial {
  name: string;
  matrix: Matrix;
}

export interface Calibrated {
  /** Records of the sessions of this call, in order. */
  records: SessionRecord[];
  /** Those and what earlier calls found on this machine, pooled. */
  calibration: Calibration;
  /** What ended it early. */
  failure: SessionResult['failure'];
  exitCode: number;
}

function trialsOf({
  matrix,
  sessions,
  rounds,
  clock,
  plantedPercent,
  marginPercent,
}: CalibrateOptions): Trial[] {
  const same = sameTwice(matrix, { rounds, clock });
  const equal = Array.from({ length: sessions }, (_, index) => ({
    name: `A/A session ${index + 1} of ${sessions}`,
    matrix: same,
  }));
  const planted = plantedTwice(same, { percent: plantedPercent, marginPercent });
  return [...equal, { name: `planted slowdown of ${plantedPercent} %`, matrix: planted }];
}

async function runTrial(
  options: CalibrateOptions,
  { name, matrix }: Trial,
  index: number,
): Promise<SessionResult> {
  const { repository, folder, cells, seed, wait, progress, signal } = options;
  return runSession({
    ...{ matrix, repository, folder, cells, wait, signal },
    seed: seed === undefined ? undefined : `${seed} ${index}`,
    progress: {
      update: (text, share) => progress.update(`${name}: ${text}`, share),
      note: (text) => progress.note(`${name}: ${text}`),
    },
  });
}

async function keep({ runFolder, verdict, report, failure }: SessionResult): Promise<SessionRecord> {
  const machine = fingerprint();
  const record = recordOf(report.plan, readJournal(join(runFolder, JOURNAL_FILE)), verdict, {
    runFolder,
    finishedAt: new Date().toISOString(),
    machineId: machine.id,
    kernel: machine.system.kernel,
    cpu: machine.cpu.model,
  });
  // What was broken off says nothing about the machine.
  if (failure === null) await addCalibration(record);
  return record;
}

/**
 * The code of what these sessions found: that of a session that proved nothing; 10 where equal arms failed or the planted
 * slowdown did not; else 0. Equal arms that stay undecided are no alarm: the machine is noisy, which the margins say.
 */
export function exitCodeOfRecords(records: readonly SessionRecord[]): number {
  const worst = worstOf(records.map(({ result }) => result));
  if (isRefused(worst)) return exitCodeOf(worst);
  const { alarms, planted } = calibrationOf(records);
  const isFound = planted.length > 0 && planted.every(({ found }) => found);
  return alarms.failed === 0 && isFound ? EXIT.pass : EXIT.overBudget;
}

/** What takes p % longer has a rate that is p / (100 + p) lower; within the margin it rightly passes. */
function requireFindable({ plantedPercent, marginPercent }: CalibrateOptions): void {
  const slower = (100 * plantedPercent) / (100 + plantedPercent);
  if (slower > marginPercent) return;
  const message = `What takes ${plantedPercent} % longer is ${slower.toFixed(2)} % slower, which a margin of ${marginPercent} % allows.`;
  throw new QualifyError('ERR_QUALIFY_PLANTED', message, {
    exit: 'usage',
    hint: 'Plant more with --plant-slowdown, or give a smaller --margin.',
  });
}

/**
 * Runs the sessions one after the other; stops at the first that ends early.
 * @throws QualifyError as `runSession`, and ERR_QUALIFY_CALIBRATION (exit 15) before anything has run.
 */
export async function calibrate(options: CalibrateOptions): Promise<Calibrated> {
  requireFindable(options);
  // What cannot be read at the end is better known now.
  await readCalibrations();
  const records: SessionRecord[] = [];
  let failure: SessionResult['failure'] = null;
  for (const [index, trial] of trialsOf(options).entries()) {
    const result = await runTrial(options, trial, index);
    records.push(await keep(result));
    failure = result.failure;
    if (failure !== null) break;
  }
  const [first] = records;
  const pooled = first === undefined ? [] : poolOf(await readCalibrations(), first);
  return { records, calibration: calibrationOf(pooled), failure, exitCode: exitCodeOfRecords(records) };
}
