/** What each switch promises of the kernels that run: kept, broken while on, broken while off, and not due without what it needs. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Draft, makePlan, verdictOf } from '../../fixtures/journal.js';

const GROUPED = 'DFLASH_MOE_GROUPED_MMID_PREFILL';
const STREAM = 'GGML_CUDA_MLA_STREAM_TOPK';
const STAGE = 'GGML_CUDA_MLA_STREAM_F32_STAGE';
const streamed = { [STREAM]: '1' };
const staged = { ...streamed, [STAGE]: '1' };

/** Switch, value that kills it, value that turns it on, its counter, and the switches it needs to have an effect. */
const cases: [string, string, string, string, Record<string, string>, Record<string, string>][] = [
  [GROUPED, '0', '1', 'mmid.grouped.gate_up', {}, {}],
  ['DFLASH_MOE_FUSED_COMBINE', '0', '1', 'mmid.grouped.down_combine', { [GROUPED]: '1' }, { [GROUPED]: '0' }],
  ['GGML_CUDA_MMQ_MOE_ADAPTIVE_X', '0', '1', 'mmid.adaptive_tile', { [GROUPED]: '1' }, { [GROUPED]: '0' }],
  ['GGML_CUDA_MMQ_MOE_PERSISTENT', '0', '1', 'mmid.persistent_queue', { [GROUPED]: '1' }, { [GROUPED]: '0' }],
  ['DFLASH_MOE_OWNERS', '1', '2', 'mmid.owner', {}, {}],
  [
    'DFLASH_MOE_FUSED_COMBINE',
    '0',
    '1',
    'mmid.grouped.down_combine',
    { [GROUPED]: '1', DFLASH_MOE_OWNERS: '1' },
    { [GROUPED]: '1', DFLASH_MOE_OWNERS: '2' },
  ],
  ['DFLASH_DS4_DIRECT_INDEXER_TOPK', '0', '1', 'attention.gathered', { [STREAM]: '0' }, streamed],
  [STREAM, '0', '1', 'attention.streamed', {}, {}],
  [STAGE, '0', '1', 'attention.staged', streamed, { [STREAM]: '0' }],
  ['GGML_CUDA_MLA_STREAM_FAST_EXP', '0', '1', 'attention.fast_exp', staged, { ...streamed, [STAGE]: '0' }],
];

/** Names of what else runs with the needs of a switch, so that only its own promise is looked at. */
function alsoRuns(switches: Record<string, string>): string[] {
  const names: string[] = [];
  if (switches.DFLASH_MOE_OWNERS === '2') names.push('mmid.owner');
  if (switches[GROUPED] === '1') names.push('mmid.grouped.gate_up');
  if (switches[STREAM] === '1')
    names.push(switches[STAGE] === '1' ? 'attention.staged' : 'attention.streamed');
  return names;
}

/** Verdict of a session whose head runs `name` at `on` and counts what `ran` says of its kernel, by the value of the switch. */
function verdictOfCase(
  [name, off, on, counter]: (typeof cases)[number],
  beside: Record<string, string>,
  ran: (value: string) => boolean,
): string {
  const values = { base: { ...beside, [name]: off }, head: { ...beside, [name]: on } };
  const plan = makePlan({ arms: { base: { switches: values.base }, head: { switches: values.head } } });
  const alter = (draft: Draft): Draft => {
    if (draft.kind !== 'counters' && draft.kind !== 'ready') return draft;
    const switches = draft.launch.endsWith('-head') ? values.head : values.base;
    if (draft.kind === 'ready') return { ...draft, witness: { ...draft.witness, switches } };
    const own = ran(switches[name] ?? '') ? [counter] : [];
    const names = [...alsoRuns({ ...beside, [name]: name in beside ? (switches[name] ?? '') : '' }), ...own];
    return { ...draft, counters: Object.fromEntries([...names, 'always'].map((each) => [each, 3])) };
  };
  return verdictOf(plan, { alter }).result;
}

for (const each of cases) {
  const [name, off, on, , needs, without] = each;
  describe(name, () => {
    test('shows its kernels when it is on, and none when it is off', () =>
      assert.equal(
        verdictOfCase(each, needs, (value) => value === on),
        'pass',
      ));
    test('is refused when its kernels never run', () =>
      assert.equal(
        verdictOfCase(each, needs, () => false),
        'unmatched',
      ));
    test('is refused when its kernels run although it is off', () =>
      assert.equal(
        verdictOfCase(each, needs, () => true),
        'unmatched',
      ));
    if (Object.keys(without).length > 0) {
      test('is refused as a switch without effect where it lacks what it needs, instead of passing unseen', () =>
        assert.equal(
          verdictOfCase(each, without, () => false),
          'unmatched',
        ));
      test('is still held to run nothing when it is off there', () =>
        assert.equal(
          verdictOfCase(each, without, (value) => value === off),
          'unmatched',
        ));
    }
  });
}
