/** What the doctor says of the calibration of this machine. */
import { type Calibration, calibrationOf, type SessionRecord } from '../analysis/calibration.js';
import { QualifyError } from '../errors.js';
import { poolOf, readCalibrations } from './calibration-file.js';
import type { Fingerprint } from './fingerprint.js';

interface CalibrationFinding {
  status: 'ok' | 'warn';
  found: string;
  remedy: string | null;
}

/** Older ones say little about a machine that has been updated, heated and filled since. */
const MOST_DAYS = 30;
const AGAIN = 'qualify calibrate';
const warn = (found: string, remedy: string): CalibrationFinding => ({ status: 'warn', found, remedy });
const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;

/** The noisiest cell bounds what may be asked of all. */
function worstCell({ cells }: Calibration): Calibration['cells'][number] | undefined {
  return cells.toSorted((a, b) => b.noise.round.value - a.noise.round.value)[0];
}

function describe(calibration: Calibration, last: SessionRecord): string {
  const { sessions } = calibration;
  const clock = last.clock === 'cpu' ? 'CPU' : 'wall';
  const counted = `${sessions} session${sessions === 1 ? '' : 's'} by ${clock} time`;
  const worst = worstCell(calibration);
  const margin = worst?.margins[0];
  const noise =
    worst === undefined || margin === undefined
      ? 'no rounds with all proofs'
      : `SD of a round ${percent(worst.noise.round.value)}, smallest margin ${margin.percent.toFixed(1)} % by ${margin.rounds} rounds (${worst.id})`;
  return `${counted}, ${noise}, on ${last.finishedAt.slice(0, 10)}`;
}

/** Judges the records of all machines for this one. `now` in milliseconds since 1970. */
export function judgeCalibration(
  records: readonly SessionRecord[],
  { id, system, cpu }: Pick<Fingerprint, 'id' | 'system' | 'cpu'>,
  now: number,
): CalibrationFinding {
  const last = records.filter(({ machineId }) => machineId === id).at(-1);
  if (last === undefined) return warn('none of this machine', `To learn what it can tell apart: ${AGAIN}`);
  const calibration = calibrationOf(poolOf(records, last));
  const found = describe(calibration, last);
  if (last.kernel !== system.kernel)
    return warn(`${found}, with kernel ${last.kernel}`, `The kernel is ${system.kernel} now: ${AGAIN}`);
  if (last.cpu !== cpu.model) return warn(`${found}, on ${last.cpu}`, `The CPU has changed: ${AGAIN}`);
  const days = Math.floor((now - Date.parse(last.finishedAt)) / 86_400_000);
  if (days > MOST_DAYS) return warn(`${found}, ${days} days ago`, `That is long ago: ${AGAIN}`);
  if (worstCell(calibration)?.margins[0] === undefined)
    return warn(found, `Quiet the machine, then ${AGAIN}`);
  if (calibration.alarms.failed > 0) {
    const { failed, cells } = calibration.alarms;
    return warn(`${found}; ${failed} of ${cells} equal cells failed`, `Quiet the machine, then ${AGAIN}`);
  }
  const planted = calibration.planted.at(-1);
  if (planted?.found === false)
    return warn(
      `${found}; a planted slowdown of ${planted.percent} % was not found`,
      `Quiet the machine, then ${AGAIN}`,
    );
  return { status: 'ok', found, remedy: null };
}

/** Reads the file and judges it. A file that does not parse is a finding, too. */
export async function checkCalibration(machine: Fingerprint, now = Date.now()): Promise<CalibrationFinding> {
  try {
    return judgeCalibration(await readCalibrations(), machine, now);
  } catch (error) {
    if (!(error instanceof QualifyError)) throw error;
    return warn(error.message, error.hint ?? AGAIN);
  }
}
