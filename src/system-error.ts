/** What the system refuses and nobody foresaw, such as a disk that fails or a limit of the shell: the environment's doing, and no bug of ours. */
import { getSystemErrorMap } from 'node:util';
import { explainDiskFull } from './disk-full.js';
import { QualifyError } from './errors.js';

/** Said of what only we can have done wrong: using a file that we have closed. */
const OURS = 'EBADF';

const REMEDIES: Readonly<Record<string, string>> = {
  EFBIG: '`ulimit -f` shows how large a file may be; the file system has a limit, too.',
  EMFILE: '`ulimit -n` shows how many files may be open at once.',
  EIO: 'The disk or the device fails: see what the system says of it (dmesg).',
  EACCES: 'See who may use it: ls -ld.',
  EPERM: 'See who may use it: ls -ld.',
  EROFS: 'Name a place on a disk that can be written.',
};

/** What Node makes of a call that the system refuses; its own errors have no number. */
const isRefusal = (error: unknown): error is NodeJS.ErrnoException & { errno: number; syscall: string } =>
  error instanceof Error &&
  'errno' in error &&
  typeof error.errno === 'number' &&
  'syscall' in error &&
  typeof error.syscall === 'string';

/**
 * The error itself, or the failure that the system's refusal stands for: `ERR_QUALIFY_DISK_FULL` or `ERR_QUALIFY_SYSTEM` (exit 15). `path`
 * where the system names none.
 */
export function explainSystemError(thrown: unknown, path?: string): unknown {
  const error = explainDiskFull(thrown, path);
  if (error instanceof QualifyError || !isRefusal(error)) return error;
  const [code, meaning] = getSystemErrorMap().get(error.errno) ?? [error.code ?? 'unknown', error.message];
  if (code === OURS) return error;
  const named = error.path ?? path;
  const what = `${meaning} (${code} at ${error.syscall}).`;
  return new QualifyError(
    'ERR_QUALIFY_SYSTEM',
    named === undefined ? `The system says: ${what}` : `${named}: ${what}`,
    {
      exit: 'infrastructure',
      ...(named !== undefined && { where: named }),
      hint: REMEDIES[code] ?? 'Put that right, and call again.',
      cause: error,
    },
  );
}
