/**
 * `calibration.json` in the config folder: the record of every session that calibrated, of all machines that share the folder.
 * Added to, never written over in place.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { type SessionRecord, sessionRecordSchema } from '../analysis/calibration.js';
import { QualifyError } from '../errors.js';
import { conform } from '../faults.js';
import { configFolder } from '../harness.js';
import { withCacheLock } from '../revision/cache-lock.js';
import { replaceFile } from './replace-file.js';

const fileSchema = z.strictObject({
  schemaVersion: z.literal(1),
  /** In order of time. */
  sessions: z.array(sessionRecordSchema),
});

export const calibrationPath = (): string => join(configFolder(), 'calibration.json');

function unreadable(path: string, why: string, cause?: unknown): QualifyError {
  return new QualifyError('ERR_QUALIFY_CALIBRATION', `The calibration cannot be read:${why}`, {
    exit: 'infrastructure',
    where: path,
    hint: 'Move the file away and calibrate again: qualify calibrate',
    cause,
  });
}

/** Every record; none when there is no file. @throws QualifyError `ERR_QUALIFY_CALIBRATION` (exit 15) */
export async function readCalibrations(path = calibrationPath()): Promise<SessionRecord[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw unwritable(path, error);
  });
  if (text === undefined) return [];
  try {
    return conform(fileSchema, JSON.parse(text), (faults) => unreadable(path, faults)).sessions;
  } catch (error) {
    if (error instanceof QualifyError) throw error;
    throw unreadable(path, ' it is not JSON', error);
  }
}

const unwritable = (path: string, cause: NodeJS.ErrnoException): QualifyError =>
  new QualifyError('ERR_QUALIFY_CALIBRATION', 'The calibration cannot be kept.', {
    exit: 'infrastructure',
    where: `${path}: ${cause.message}`,
    hint: 'Set XDG_CONFIG_HOME to a folder that you may write to.',
    cause,
  });

/** Adds a record. Two that calibrate at the same time wait for each other. @throws ERR_QUALIFY_CALIBRATION (exit 15) */
export async function addCalibration(record: SessionRecord, path = calibrationPath()): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await withCacheLock(`${path}.lock`, async () => {
      const sessions = [...(await readCalibrations(path)), record];
      await replaceFile(path, `${JSON.stringify({ schemaVersion: 1, sessions }, null, 2)}\n`, 0o600);
    });
  } catch (error) {
    if (error instanceof QualifyError) throw error;
    throw unwritable(path, error as NodeJS.ErrnoException);
  }
}

/** What makes sessions pool: the same machine in the same state, engine and clock. */
type CalibrationKey = Pick<SessionRecord, 'machineId' | 'kernel' | 'cpu' | 'engine' | 'clock'>;

/** The records that pool with `key`. */
export const poolOf = (records: readonly SessionRecord[], key: CalibrationKey): SessionRecord[] =>
  records.filter(
    (record) =>
      record.machineId === key.machineId &&
      record.kernel === key.kernel &&
      record.cpu === key.cpu &&
      record.engine === key.engine &&
      record.clock === key.clock,
  );
