/** Runs `qualify-kernels` as a process group of its own and reads its lines. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { QualifyError } from '../errors.js';
import { guardGroup } from '../machine/group-guard.js';
import { signalGroup } from '../machine/signal-group.js';
import { parseSuiteLine, type SuiteLine } from './lines.js';

/** What the program itself says with its exit code. */
export const SUITE_EXIT = { passed: 0, failed: 1, unsupported: 77 } as const;

const STDERR_LIMIT = 4000;

export interface SuiteRun {
  lines: SuiteLine[];
  /** One of `SUITE_EXIT`. */
  exitCode: number;
}

const broken = (binary: string, message: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_KERNEL_SUITE', message, {
    exit: 'infrastructure',
    hint: 'this is a fault of the suite or a crash of a kernel: run the program by hand with --filter',
    where: binary,
    cause,
  });

/**
 * Runs the program to its end; `onLine` sees every line as it comes.
 * @throws ERR_QUALIFY_KERNEL_SUITE (exit 15) when it crashes or prints what is no line of its own; the reason of
 * `signal` when aborted, with nothing left running.
 */
export async function runSuite(
  binary: string,
  arguments_: readonly string[],
  options: { signal?: AbortSignal | undefined; onLine?: ((line: SuiteLine) => void) | undefined } = {},
): Promise<SuiteRun> {
  options.signal?.throwIfAborted();
  const child = spawn(binary, arguments_, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const unguard = child.pid === undefined ? () => {} : guardGroup(child.pid);
  const end = () => signalGroup(child.pid, 'SIGKILL');
  process.once('exit', end);
  options.signal?.addEventListener('abort', end, { once: true });
  const lines: SuiteLine[] = [];
  let unreadable: { text: string; cause: unknown } | undefined;
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-STDERR_LIMIT);
  });
  createInterface({ input: child.stdout }).on('line', (text) => {
    try {
      const line = parseSuiteLine(text);
      lines.push(line);
      options.onLine?.(line);
    } catch (cause) {
      unreadable ??= { text, cause };
    }
  });
  try {
    const [exitCode, killedBy] = (await once(child, 'close')) as [number | null, string | null];
    options.signal?.throwIfAborted();
    if (exitCode === null || !Object.values<number>(SUITE_EXIT).includes(exitCode)) {
      const how = killedBy ?? `exit ${exitCode}`;
      throw broken(binary, `the suite ended by ${how} after ${describeLast(lines)}\n${complaint}`.trimEnd());
    }
    if (unreadable !== undefined)
      throw broken(binary, `the suite printed: ${unreadable.text.slice(0, 200)}`, unreadable.cause);
    return { lines, exitCode };
  } finally {
    unguard();
    process.removeListener('exit', end);
    options.signal?.removeEventListener('abort', end);
  }
}

function describeLast(lines: readonly SuiteLine[]): string {
  const last = lines.at(-1);
  if (last?.type === 'case') return `the case "${last.group}/${last.name}" on ${last.isa}`;
  if (last?.type === 'measure') return `the measurement of ${last.op}, ${last.shape}`;
  return 'its first line';
}
