/** `qualify calibrate` on the real machine: its options, the sessions, and what is printed of them. */
import { type Command, Option } from 'commander';
import { calibrationPath } from '../machine/calibration-file.js';
import { describeCalibration } from '../report/calibration.js';
import { engineRepository } from '../revision/resolve.js';
import { type Calibrated, calibrate } from '../session/calibrate.js';
import { describeError } from './describe-error.js';
import { interruptSignal } from './interrupt.js';
import { onWorktree, worktreeNotice } from './left-to-pr.js';
import { cellOption, MOST_PLANTED, percentUpTo, wholeNumber } from './options.js';
import { answer, answerJson, note, startProgress } from './output.js';
import { loadRealMatrix } from './real-matrix.js';

export interface MachineFlags {
  matrix: string;
  cell?: string[];
  sessions: number;
  rounds: number;
  clock?: 'wall' | 'cpu';
  plantSlowdown: number;
  margin: number;
  seed?: string;
  wait?: true;
  json?: true;
}

const MOST_SESSIONS = 100;
const MOST_ROUNDS = 96;

const HELP = `
Runs the first arm of the matrix against itself, in sessions like any other, and
then once more with a slowdown planted in it, which must come out as "fail".
From rounds of equal arms it says how noisy requests and launches are, whether
the second place of a round is worse than the first, how often equal things were
called different, and the smallest margin that this machine can support. All
sessions of a machine, engine and clock pool; "qualify doctor" reads the result.

  qualify calibrate                            two A/A sessions, one planted
  qualify calibrate --sessions 10 --rounds 12  closer bounds
  qualify calibrate --clock cpu                on a machine that others share

Exit code 0: no equal cell failed, and the planted slowdown did; 10: otherwise;
14: a session was contaminated or lacked another proof.`;

/** The options of a calibration of this machine. */
export const machineOptions = (command: Command): Command =>
  command
    .option('--matrix <matrix>', 'cells, model and protocol; its first arm runs twice', 'calibrate')
    .addOption(cellOption())
    .option('--sessions <n>', 'A/A sessions', wholeNumber(1, MOST_SESSIONS), 2)
    .option('--rounds <n>', 'rounds of each; even, from 6 on', wholeNumber(6, MOST_ROUNDS), 6)
    .addOption(
      new Option('--clock <clock>', 'what decides (default: as the matrix says)').choices(['wall', 'cpu']),
    )
    .addOption(
      new Option('--plant-slowdown <percent>', 'what the last session must find')
        .argParser(percentUpTo(MOST_PLANTED))
        .default(3, '3%'),
    )
    .addOption(
      new Option('--margin <percent>', 'the budget under which it must fail')
        .argParser(percentUpTo(MOST_PLANTED))
        .default(2, '2%'),
    )
    .option('--seed <text>', 'seed of prompts and order (default: drawn at random)')
    .option('--wait', 'wait for the machine when another session measures on it')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP);

/** Runs, prints, and sets the exit code. */
export async function calibrateMachine(flags: MachineFlags): Promise<void> {
  const repository = await engineRepository(process.cwd());
  const { matrix, left } = await onWorktree(loadRealMatrix(flags.matrix), repository);
  if (left.length > 0) note(worktreeNotice(flags.matrix, left));
  const line = startProgress();
  try {
    const done = await calibrate({
      matrix,
      repository,
      folder: process.cwd(),
      sessions: flags.sessions,
      rounds: flags.rounds,
      clock: flags.clock,
      plantedPercent: flags.plantSlowdown,
      marginPercent: flags.margin,
      cells: flags.cell,
      seed: flags.seed,
      wait: flags.wait === true,
      progress: {
        update: (text: string, share: number | null) => line.update(text, share),
        note: (text: string) => line.end(text),
      },
      signal: interruptSignal(),
    });
    line.end();
    print(done, flags.json === true);
  } finally {
    line.end();
  }
}

function print({ records, calibration, failure, exitCode }: Calibrated, json: boolean): void {
  if (json) answerJson({ schemaVersion: 1, exitCode, calibration, sessions: records });
  else answer(describeCalibration(records, calibration));
  if (records.length > 0) note(`The calibration is in ${calibrationPath()}.`);
  if (failure !== null) note(describeError(failure));
  process.exitCode = exitCode;
}
