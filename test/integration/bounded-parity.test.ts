/** Parity `bounded` from the matrix to the exit code and to `verify`, on fake engines that round otherwise or answer something else. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { Home } from '../support/run-cli.js';

const protocol = { parity: 'bounded', bounded: { top1: 0.9, common: 0.5, meanLogProbability: 0.1 } };

async function runWith(
  t: TestContext,
  fault: string,
): Promise<{ home: Home; exitCode: number | null; text: string }> {
  const home = new Home();
  t.after(() => home.remove());
  const matrix = home.fakeMatrix({ head: { FAKE_FAULT: fault } }, protocol);
  const { exitCode, stdout } = await home.run('run', matrix, '--out', 'run');
  const verified = await home.run('verify', 'run');
  assert.equal(verified.exitCode, 0, verified.stderr);
  return { home, exitCode, text: stdout };
}

describe('parity bounded', () => {
  test('passes a head that rounds otherwise, tells the figures, and verifies', async (t) => {
    const { home, exitCode, text } = await runWith(t, 'other-rounding');
    assert.equal(exitCode, 0, text);
    const parity = home.verdict().cells[0]?.comparisons[0]?.parity;
    assert.equal(parity?.status, 'within');
    assert.equal(parity.distance?.top1, 1);
    assert.ok((parity.distance.meanLogProbability ?? 0) > 0.005, JSON.stringify(parity));
    assert.match(
      text.replaceAll(/\s+/g, ' '),
      /bounded, within: top-1 100\.0 %, 100\.0 % of likely ids in common, log-/,
    );
    const answers = home.journal().flatMap((entry) => (entry.kind === 'sample' ? [entry.answer] : []));
    assert.ok(answers.every(({ tokens, probabilities }) => probabilities?.length === tokens.length));
  });

  test('fails a head that answers other tokens', async (t) => {
    const { home, exitCode, text } = await runWith(t, 'other-output');
    assert.equal(exitCode, 13, text);
    const [comparison] = home.verdict().cells[0]?.comparisons ?? [];
    assert.equal(comparison?.verdict, 'parity-failed');
    assert.ok(comparison.reasons.some(({ code }) => code === 'top1-below-limit'));
    assert.doesNotMatch(text, /tok\/s/);
  });

  test('fails a head that gives the same tokens from other probabilities', async (t) => {
    const { home, exitCode } = await runWith(t, 'wild-rounding');
    assert.equal(exitCode, 13);
    assert.deepEqual(
      home.verdict().cells[0]?.comparisons[0]?.reasons.map(({ code }) => code),
      ['log-probabilities-apart'],
    );
  });

  test('decides nothing about a head that does not agree with itself', async (t) => {
    const { exitCode } = await runWith(t, 'random-output');
    assert.equal(exitCode, 11);
  });
});
