/** Engines that misbehave end as verdicts, never as a crash of ours, and leave nothing running. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ofABusyMachine } from '../support/busy-machine.js';
import { nothingRunsOf } from '../support/eventually.js';
import { Home } from '../support/run-cli.js';

interface Expectation {
  fault: string;
  exitCode: number;
  /** Code of the `failure` entry; null when the launch goes through. */
  failure: string | null;
  /** How the launch with the fault ended; null when it never came up. */
  how?: 'asked' | 'killed' | 'died';
  reason?: string;
}

const cases: Expectation[] = [
  { fault: 'die-at-start', exitCode: 15, failure: 'ERR_QUALIFY_ENGINE_DIED' },
  { fault: 'wrong-nonce', exitCode: 15, failure: 'ERR_QUALIFY_WRONG_ENGINE' },
  { fault: 'never-ready', exitCode: 15, failure: 'ERR_QUALIFY_TIMEOUT' },
  { fault: 'crash:4', exitCode: 15, failure: 'ERR_QUALIFY_ENGINE_DIED', how: 'died' },
  { fault: 'hang:3', exitCode: 15, failure: 'ERR_QUALIFY_TIMEOUT', how: 'asked' },
  { fault: 'hang-busy:5', exitCode: 15, failure: 'ERR_QUALIFY_TIMEOUT', how: 'killed' },
  { fault: 'malformed:3', exitCode: 15, failure: 'ERR_QUALIFY_ANSWER_MALFORMED', how: 'asked' },
  { fault: 'refuse:3', exitCode: 15, failure: 'ERR_QUALIFY_REQUEST_REFUSED', how: 'asked' },
  { fault: 'slow-start:500', exitCode: 11, failure: null, how: 'asked', reason: 'too-few-rounds' },
  { fault: 'leak-child', exitCode: 14, failure: null, how: 'killed', reason: 'stray-child' },
  { fault: 'stray-child', exitCode: 14, failure: null, how: 'killed', reason: 'stray-child' },
  { fault: 'always-warm', exitCode: 14, failure: null, how: 'asked' },
  { fault: 'dead-cache-field', exitCode: 14, failure: null, how: 'asked' },
  { fault: 'other-output', exitCode: 13, failure: null, how: 'asked' },
];

describe('engine faults', () => {
  for (const { fault, exitCode, failure, how, reason } of cases) {
    test(`${fault} ends with exit code ${exitCode}`, async (t) => {
      const home = new Home();
      t.after(() => home.remove());
      const timeouts = {
        requestTimeoutSeconds: fault.startsWith('hang') ? 4 : 60,
        readyTimeoutSeconds: fault === 'never-ready' ? 2 : 60,
      };
      // Where a verdict is to say that a launch failed, requests so long that a stall on a busy machine does not part the clocks first.
      const pace = exitCode === 15 ? { FAKE_US_PER_TOKEN: '1000' } : {};
      const arms = { base: pace, head: { ...pace, FAKE_FAULT: fault } };
      const matrix = home.fakeMatrix(arms, { looks: [1], ...timeouts });
      const result = await home.run('run', matrix, '--out', 'run');
      const verdict = home.verdict();
      const isOfABusyMachine = ({ code }: { code: string }): boolean => ofABusyMachine.includes(code);
      // A failure stands beside other reasons, of which a refusal goes before it.
      const spoilt =
        result.exitCode === 14 &&
        ((exitCode === 11 && verdict.reasons.every(isOfABusyMachine)) ||
          (exitCode === 15 && verdict.reasons.some(isOfABusyMachine)));
      if (!spoilt) assert.equal(result.exitCode, exitCode, result.stderr);

      const entries = home.journal();
      const failures = entries.filter((entry) => entry.kind === 'failure');
      assert.deepEqual(
        failures.map((entry) => entry.code),
        failure === null ? [] : [failure],
      );
      const end = entries.at(-1);
      assert.ok(end?.kind === 'end' && end.complete === (failure === null));
      const heads = entries.flatMap((entry) =>
        entry.kind === 'launch' && entry.arm === 'head' ? [entry.launch] : [],
      );
      const stops = entries.flatMap((entry) =>
        entry.kind === 'stop' && heads.includes(entry.launch) ? [entry] : [],
      );
      assert.deepEqual(
        stops.map((entry) => entry.how),
        how === undefined ? [] : [how],
      );

      assert.equal(verdict.exitCode, result.exitCode);
      if (reason !== undefined && !spoilt) assert.ok(verdict.reasons.some(({ code }) => code === reason));
      await nothingRunsOf(home);
    });
  }
});
