import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeQuantized } from '../../../src/report/model.js';

const quantizedFrom = (from: string): string =>
  describeQuantized({
    path: '/out.gguf',
    sha256: 'ab',
    sizeBytes: 10,
    tensors: 3,
    quantized: [{ name: 'a', from, to: 'q4_0', fromBytes: 8, toBytes: 4, nmse: 0.01, weighted: false }],
  });

test('the NMSE of what was rounded before is said to be against the rounded values', () => {
  assert.match(
    quantizedFrom('q8_0'),
    /^NMSE +against the values of the input, which q8_0 has rounded before$/m,
  );
  for (const type of ['f32', 'f16', 'bf16']) assert.doesNotMatch(quantizedFrom(type), /^NMSE/m);
});
