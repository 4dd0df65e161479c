/** A disk or a quota that is full, as a failure that the user can act on. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QualifyError } from './errors.js';

const CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** How programs that we start say it. */
export const saysDiskFull = (text: string): boolean =>
  /No space left on device|Disk quota exceeded|\bENOSPC\b|\bEDQUOT\b|ERR_QUALIFY_DISK_FULL/.test(text);

/** How the names of folders begin that we make below `TMPDIR`. */
const TEMPORARY = 'qualify-';

/** Which setting leads to another disk. */
function settingFor(path: string | undefined): string {
  if (path === undefined) return 'name a place on another disk with --out, XDG_CACHE_HOME or TMPDIR';
  return path.startsWith(join(tmpdir(), TEMPORARY))
    ? 'set TMPDIR to a folder on another disk'
    : 'name a place on another disk with --out or XDG_CACHE_HOME';
}

/** `path` is what cannot be written, where that is known. */
export const diskFull = (path: string | undefined, cause?: unknown): QualifyError =>
  new QualifyError(
    'ERR_QUALIFY_DISK_FULL',
    `The disk is full${path === undefined ? '.' : `: ${path} cannot be written.`}`,
    {
      exit: 'infrastructure',
      ...(path !== undefined && { where: path }),
      hint: `Free some space (df -h tells where), or ${settingFor(path)}.`,
      cause,
    },
  );

/** The error itself, or the failure that the system's word for a full disk stands for. `path` where the system names none. */
export function explainDiskFull(error: unknown, path?: string): unknown {
  if (error instanceof QualifyError || !(error instanceof Error) || !('code' in error)) return error;
  if (!CODES.has(error.code)) return error;
  const named = 'path' in error && typeof error.path === 'string' ? error.path : path;
  return diskFull(named, error);
}
