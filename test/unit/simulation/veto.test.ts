import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stream } from '../../../src/plan/stream.js';
import { FastDraw } from '../../../src/simulation/draw.js';
import { type SeenCell, warmUpAdequacy } from '../../../src/simulation/veto.js';

/** Six rounds of five samples whose log rates rise by `rise` from first to last, with noise. */
function seen(rise: number, noise: number, samples = 5): SeenCell {
  const draw = new FastDraw(new Stream('seed', 'veto'));
  const logs = Float64Array.from({ length: 12 * samples }, (_, at) => {
    const share = samples === 1 ? 0 : (at % samples) / (samples - 1);
    return rise * share + noise * draw.normal();
  });
  return { rounds: 6, samples, logs, headAt: new Uint8Array(6), ratios: [] };
}

test('refuses rates that go on rising or falling within launches by more than a quarter of the margin', () => {
  assert.equal(warmUpAdequacy(seen(0.012, 0.002), 2), 'warm-up-inadequate');
  assert.equal(warmUpAdequacy(seen(-0.012, 0.002), 2), 'warm-up-inadequate');
});

test('lets pass what is flat, what rises less than that, and what noise may have made', () => {
  assert.equal(warmUpAdequacy(seen(0, 0.002), 2), null);
  assert.equal(warmUpAdequacy(seen(0.004, 0.002), 2), null);
  assert.equal(warmUpAdequacy(seen(0.012, 0.02), 2), null);
});

test('allows more where the margin is wider, and says nothing of single samples', () => {
  assert.equal(warmUpAdequacy(seen(0.012, 0.002), 10), null);
  assert.equal(warmUpAdequacy(seen(0.1, 0, 1), 2), null);
});
