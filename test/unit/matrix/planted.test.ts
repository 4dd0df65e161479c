import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withLeverOff } from '../../../src/matrix/lever-off.js';
import { loadMatrix } from '../../../src/matrix/load.js';
import { plantSlowdown } from '../../../src/matrix/planted.js';
import { matrixSchema } from '../../../src/matrix/schema.js';
import { refusal } from '../../support/refusal.js';

describe('a planted slowdown', () => {
  const { matrix } = loadMatrix('smoke');

  test('is in every arm but the reference and the null arm', () => {
    const { arms } = matrix;
    const nothing = { engine: 'embedded' as const, revision: 'worktree', switches: {}, arguments: [] };
    const wide = {
      ...matrix,
      arms: { ...arms, other: nothing, null: { ...nothing, control: 'null' as const } },
    };
    const planted = matrixSchema.parse(plantSlowdown(wide, 2.5));
    assert.deepEqual(
      Object.entries(planted.arms).map(([name, arm]) => [name, arm.plantedSlowdownPercent]),
      [
        ['base', undefined],
        ['head', 2.5],
        ['other', 2.5],
        ['null', undefined],
      ],
    );
    assert.match(planted.title, /^PLANTED slowdown of 2.5 %: Smoke/);
  });

  test('keeps the longest title within what a matrix may have', () => {
    assert.ok(matrixSchema.safeParse(plantSlowdown({ ...matrix, title: 'x'.repeat(200) }, 3)).success);
  });

  test('is refused for an engine that cannot be slowed down', async () => {
    const peer = loadMatrix('peer-llama-cpp').matrix;
    const turned = { ...peer, arms: Object.fromEntries(Object.entries(peer.arms).toReversed()) };
    const error = await refusal(Promise.resolve().then(() => plantSlowdown(turned, 3)));
    assert.equal(error.code, 'ERR_QUALIFY_PLANTED');
    assert.equal(error.exitCode, 64);
  });
});

describe('the lever-off arm', () => {
  const compared = [
    { name: 'base', revision: 'main' },
    { name: 'head', revision: 'HEAD' },
  ];

  test('is the last revision with the switches at their kill values', () => {
    const off = { name: 'lever-off', revision: 'HEAD', switches: { A: '0' }, control: 'lever-off' };
    assert.deepEqual(withLeverOff(compared, { A: '0' }), [...compared, off]);
    assert.deepEqual(withLeverOff(compared, undefined), compared);
  });

  test('takes another name where a revision has its', () => {
    const taken = [...compared.slice(0, 1), { name: 'Lever-Off', revision: 'x' }];
    const last = withLeverOff(taken, { A: '0' }).at(-1);
    assert.equal(last?.name, 'lever-off-3');
  });
});
