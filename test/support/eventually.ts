/** Waiting for what comes about by itself, on a machine however busy. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { processesWithVariable } from '../../src/machine/procfs.js';
import type { Home } from './run-cli.js';

/** Far more than anything that is waited for takes; who waits longer waits in vain. */
const PATIENCE_MS = 300_000;
const POLL_MS = 5;
/** Each look at all processes takes a few milliseconds itself. */
const PROCESSES_POLL_MS = 50;

/** Waits until it holds, and fails with `what` where it never does. */
export async function eventually(
  holds: () => boolean,
  what: string | (() => string),
  pollMs = POLL_MS,
): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!holds()) {
    if (performance.now() > deadline)
      assert.fail(`never in ${PATIENCE_MS / 1000} s: ${typeof what === 'string' ? what : what()}`);
    await sleep(pollMs);
  }
}

/**
 * No process of any command of this home is left. A guard that was dismissed ends by itself a moment after the command, and one of a
 * command that was killed removes for 1.6 s what others may still write.
 */
export function nothingRunsOf(home: Home): Promise<void> {
  const running = (): number[] => processesWithVariable(home.mark);
  return eventually(
    () => running().length === 0,
    () => `no process is left (${running().join(', ')} are)`,
    PROCESSES_POLL_MS,
  );
}
