/**
 * A guard: a shell that waits on a pipe from the harness and acts when the pipe breaks. It makes even `kill -9` of the harness
 * leave nothing. A line from us is the word that all is well; the end of the pipe without one is our death.
 */
import { spawn } from 'node:child_process';

/** How often, 0.2 s apart, what is to go is removed: whoever writes there may take a moment to end. */
const REMOVALS = 8;

/** Shell text that repeats `command` while those who wrote end. */
export const repeatedly = (command: string): string =>
  `n=0; while [ $n -lt ${REMOVALS} ]; do ${command}; sleep 0.2; n=$((n + 1)); done`;

/**
 * From now on `script` runs, with `values` as `$1`, `$2`, …, should the harness die. Call the answer when there is nothing left
 * to guard.
 */
export function guard(
  script: string,
  values: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
): () => void {
  // In a session of its own, so that Ctrl-C at the terminal does not reach it.
  const shell = spawn('/bin/sh', ['-c', `read -r _ || { ${script}; }`, 'guard', ...values], {
    detached: true,
    env: environment,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  shell.unref();
  return () => shell.stdin.end('done\n');
}

/** Removes files and folders whose names begin with `path`, should the harness die. The name has to be this process's alone. */
export const guardPath = (path: string): (() => void) => guard(repeatedly('rm -rf -- "$1"*'), [path]);
