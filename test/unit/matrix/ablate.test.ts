import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AblationOptions, ablationMatrix } from '../../../src/matrix/ablate.js';
import { cellId } from '../../../src/matrix/cell-id.js';
import { loadMatrix } from '../../../src/matrix/load.js';
import { breachesOf } from '../../../src/matrix/rules.js';
import { type Design, type Matrix, matrixSchema } from '../../../src/matrix/schema.js';
import { withRevisions } from '../../../src/matrix/with-revisions.js';

const builtIn = loadMatrix('switches').matrix;
const make = (changes: Partial<AblationOptions> = {}): Matrix =>
  ablationMatrix(builtIn, { kind: 'folded-plackett-burman', from: 'on', rounds: 2, ...changes });

describe('the matrix of an ablation', () => {
  test('takes the switches in which the first and the last arm of the matrix differ', () => {
    const { design, arms, protocol } = make();
    assert.deepEqual(
      design?.factors.map((factor) => [factor.switch, factor.low, factor.high]),
      [
        ['DFLASH_MOE_GROUPED_MMID_PREFILL', '0', '1'],
        ['DFLASH_MOE_EXPERT_MAJOR_MIN_TOKENS', '512', '32'],
        ['DFLASH_MOE_FUSED_COMBINE', '0', '1'],
        ['GGML_CUDA_MMQ_MOE_ADAPTIVE_X', '0', '1'],
        ['GGML_CUDA_MMQ_MOE_PERSISTENT', '0', '1'],
        ['DFLASH_DS4_DIRECT_INDEXER_TOPK', '0', '1'],
        ['GGML_CUDA_MLA_STREAM_TOPK', '0', '1'],
        ['GGML_CUDA_MLA_STREAM_F32_STAGE', '0', '1'],
      ],
    );
    assert.equal(Object.keys(arms).length, 16);
    assert.deepEqual(arms['all-off']?.switches, builtIn.arms.off?.switches);
    assert.deepEqual(arms['all-on']?.switches, builtIn.arms.on?.switches);
    assert.deepEqual(protocol.looks, [2]);
  });

  test('is a matrix without a breach, of either kind and from either side', () => {
    for (const kind of ['one-at-a-time', 'folded-plackett-burman'] as const)
      for (const from of ['off', 'on'] as const) {
        const matrix = make({ kind, from });
        assert.deepEqual(breachesOf(matrix), []);
        assert.deepEqual(matrixSchema.parse(matrix), matrix);
      }
  });

  test('names the arms after what is alone in them', () => {
    const factors = ['A', 'B'].map((name) => ({ switch: name, low: '0', high: '1' }));
    const names = (from: 'off' | 'on'): string[] =>
      Object.keys(make({ kind: 'one-at-a-time', from, factors }).arms);
    assert.deepEqual(names('on'), ['all-on', 'without-A', 'without-B', 'all-off']);
    assert.deepEqual(names('off'), ['all-off', 'only-A', 'only-B', 'all-on']);
  });

  test('leaves the other switches of the matrix at the level asked for', () => {
    const factors = [{ switch: 'GGML_CUDA_MLA_STREAM_TOPK', low: '0', high: '1' }];
    const grouped = (from: 'off' | 'on'): (string | undefined)[] =>
      Object.values(make({ factors, from }).arms).map((arm) => arm.switches.DFLASH_MOE_GROUPED_MMID_PREFILL);
    assert.deepEqual(grouped('on'), ['1', '1']);
    assert.deepEqual(grouped('off'), ['0', '0']);
  });

  test('of some cells has those alone', () => {
    const { matrix } = loadMatrix('prefill-short');
    const options = { kind: 'one-at-a-time', from: 'on', rounds: 6 } as const;
    const narrowed = ablationMatrix(matrix, { ...options, cells: ['401/512'] });
    assert.deepEqual(narrowed.cells.map(cellId), ['401/512']);
    assert.ok(ablationMatrix(matrix, options).cells.length > 1);
    assert.deepEqual(Object.keys(narrowed.arms), ['all-on', 'all-off']);
  });

  test('is refused without switches, with too many, and with one twice', () => {
    const named = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ switch: `S${index}`, low: '0', high: '1' }));
    const [one] = named(1);
    for (const factors of [[], named(17), one === undefined ? [] : [one, one]]) {
      assert.throws(() => make({ factors }), { code: 'ERR_QUALIFY_SWITCHES', exitCode: 64 });
    }
    assert.throws(() => make({ cells: ['1/1'] }), { code: 'ERR_QUALIFY_CELL', exitCode: 64 });
  });

  test('loses its design when it is put onto revisions', () => {
    const { matrix, dropped } = withRevisions(make(), [
      { name: 'base', revision: 'main' },
      { name: 'head', revision: 'HEAD' },
    ]);
    assert.equal(matrix.design, undefined);
    assert.ok(dropped.includes('design'));
  });
});

describe('a design that is not what the generator makes', () => {
  const matrix = make();
  const design = matrix.design;
  assert.ok(design);
  const changed = (change: Partial<Design>): string[] =>
    breachesOf({ ...matrix, design: { ...design, ...change } }).map(({ message }) => message);
  const [first, second, ...others] = design.rows;
  assert.ok(first && second);

  test('is refused with other levels, another order or a row less', () => {
    const levels = second.levels.startsWith('+')
      ? `-${second.levels.slice(1)}`
      : `+${second.levels.slice(1)}`;
    for (const rows of [
      [first, { ...second, levels }, ...others],
      [second, first, ...others],
      [first, ...others],
    ]) {
      assert.match(changed({ rows }).join(), /has the rows/);
    }
  });

  test('is refused where an arm does not have the levels of its row', () => {
    const arm = matrix.arms['row-02'];
    assert.ok(arm);
    const switches = { ...arm.switches, GGML_CUDA_MLA_STREAM_TOPK: '7' };
    const breaches = breachesOf({ ...matrix, arms: { ...matrix.arms, 'row-02': { ...arm, switches } } });
    assert.deepEqual(
      breaches.map(({ path }) => path.join('.')),
      ['arms.row-02.switches.GGML_CUDA_MLA_STREAM_TOPK'],
    );
  });

  test('is refused where an arm differs in something else', () => {
    const arm = matrix.arms['row-02'];
    assert.ok(arm);
    for (const change of [
      { revision: 'HEAD' },
      { arguments: ['--x'] },
      { switches: { ...arm.switches, DFLASH_MOE_OWNERS: '2' } },
    ]) {
      const breaches = breachesOf({ ...matrix, arms: { ...matrix.arms, 'row-02': { ...arm, ...change } } });
      assert.match(breaches.map(({ message }) => message).join(), /in more than the switches of the design/);
    }
  });

  test('is refused with one level, a factor twice, or two looks', () => {
    const [factor, ...rest] = design.factors;
    assert.ok(factor);
    assert.match(
      changed({ factors: [{ ...factor, high: factor.low }, ...rest] }).join(),
      /low and high must differ/,
    );
    assert.match(changed({ factors: [factor, factor, ...rest.slice(1)] }).join(), /is a factor twice/);
    const looks = { ...matrix, protocol: { ...matrix.protocol, looks: [6, 12] } };
    assert.match(
      breachesOf(looks)
        .map(({ message }) => message)
        .join(),
      /looked at once/,
    );
  });
});
