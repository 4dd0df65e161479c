import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generatedModelText } from '../../../src/matrix/generated-model.js';
import { matrixSchema, modelSchema } from '../../../src/matrix/schema.js';

test('a generated model is named by what its bytes follow from, and only then by what is not the default', () => {
  const model = { preset: 'mini', experts: 'rocmfp2', seed: 1, roundTrips: true } as const;
  assert.equal(generatedModelText(model), 'mini, experts rocmfp2, seed 1');
  assert.equal(
    generatedModelText({ ...model, experts: 'f16', dense: 'f16', roundTrips: false }),
    'mini, experts f16, dense f16, seed 1, no round trips',
  );
});

test('the type of dense matrices is absent unless it is a float, so that plans without it keep their digest', () => {
  const parsed = modelSchema.parse({ preset: 'unit' });
  assert.equal('dense' in parsed, false);
  assert.deepEqual(modelSchema.parse({ preset: 'unit', dense: 'f32' }), { ...parsed, dense: 'f32' });
  for (const dense of ['q8_0', 'q4_0', null]) {
    assert.equal(matrixSchema.shape.model.safeParse({ preset: 'unit', dense }).success, false);
  }
});
