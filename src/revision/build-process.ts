/** Runs the steps of a recipe, each in its own process group, with its output in a log and its progress reported. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { guardGroup } from '../machine/group-guard.js';
import { signalGroup } from '../machine/signal-group.js';
import type { RecipeStep } from './recipe.js';

/** Where a build is. `done` of `total` steps of the compiler where the generator tells; make tells percents. */
export interface BuildProgress {
  phase: 'waiting' | 'configure' | 'compile';
  done: number | null;
  total: number | null;
  /** What is waited for, or the line of the compiler. */
  text: string;
}

/** `building the engine [12/80]`, or what it does instead of compiling. */
export function describeBuild(what: string, { phase, done, total, text }: BuildProgress): string {
  if (phase === 'waiting') return `building ${what}: ${text}`;
  return done === null ? `building ${what}: ${phase}` : `building ${what} [${done}/${total}]`;
}

/** How long an aborted step may take to end in order. */
const KILL_AFTER_MS = 3000;

/** Lines of output that a failure shows. */
export const TAIL_LINES = 20;

/** How a step ended; `tail` holds its last lines. */
interface StepOutcome {
  exitCode: number | null;
  tail: string[];
}

/** Ninja's looks at its own build files, counted as `[0/2]`, before it knows how much there is to compile. */
const NOT_COMPILING = /^\[\d+\/\d+\] Re-(checking|running) /;

/** Reads `[12/80] Building …` of Ninja and `[ 15%] Building …` of make. */
export function parseProgress(line: string): { done: number; total: number } | undefined {
  if (NOT_COMPILING.test(line)) return undefined;
  const steps = /^\[(\d+)\/(\d+)\]/.exec(line);
  if (steps) return { done: Number(steps[1]), total: Number(steps[2]) };
  const percent = /^\[\s*(\d+)%\]/.exec(line);
  return percent ? { done: Number(percent[1]), total: 100 } : undefined;
}

/**
 * Runs one step. An abort ends the whole group and rejects with the signal's reason when it is gone. It is asked before
 * it is killed, because Ninja runs compilers in groups of their own and ends them only when it is asked.
 */
export async function runStep(
  step: RecipeStep,
  options: {
    environment: Record<string, string>;
    log: WriteStream;
    onProgress?: ((progress: BuildProgress) => void) | undefined;
    signal?: AbortSignal | undefined;
  },
): Promise<StepOutcome> {
  options.signal?.throwIfAborted();
  options.onProgress?.({ phase: step.name, done: null, total: null, text: '' });
  options.log.write(`$ ${step.program} ${step.arguments.join(' ')}\n`);
  const child = spawn(step.program, step.arguments, {
    env: options.environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const unguard = child.pid === undefined ? () => {} : guardGroup(child.pid, true);
  let killTimer: NodeJS.Timeout | undefined;
  const end = () => {
    signalGroup(child.pid, 'SIGTERM');
    killTimer = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), KILL_AFTER_MS);
  };
  // A harness that exits while compiling (an uncaught error, a second Ctrl-C) must not leave compilers behind.
  process.once('exit', end);
  options.signal?.addEventListener('abort', end, { once: true });
  const tail: string[] = [];
  const readLines = (stream: NodeJS.ReadableStream) => {
    let rest = '';
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      options.log.write(text);
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        tail.push(line);
        if (tail.length > TAIL_LINES) tail.shift();
        const counted = step.name === 'compile' ? parseProgress(line) : undefined;
        if (counted !== undefined) options.onProgress?.({ phase: step.name, ...counted, text: line });
      }
    });
    stream.on('end', () => rest !== '' && tail.push(rest));
  };
  readLines(child.stdout);
  readLines(child.stderr);
  try {
    const [exitCode] = (await once(child, 'close')) as [number | null];
    options.signal?.throwIfAborted();
    return { exitCode, tail: tail.slice(-TAIL_LINES) };
  } finally {
    unguard();
    clearTimeout(killTimer);
    process.removeListener('exit', end);
    options.signal?.removeEventListener('abort', end);
  }
}

/** Opens the log of a build. A disk that fills up is told by `closeLog`. */
export const openLog = (path: string): WriteStream => createWriteStream(path).on('error', () => {});

/** @throws what kept the log from being written. */
export async function closeLog(log: WriteStream): Promise<void> {
  log.end();
  await finished(log);
}
