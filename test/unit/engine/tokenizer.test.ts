import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { auditPrompt, bestOf } from '../../../src/engine/model-audit.js';
import { Detokenizer, detokenize, tokenize, tokenizerDigest } from '../../../src/engine/tokenizer.js';
import { parseCpuList } from '../../../src/matrix/cpu-list.js';

it('turns any text into bytes and back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      assert.equal(detokenize(tokenize(text)), text);
    }),
  );
});

it('streams the same text as it gives at once', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(400)), (ids) => {
      const detokenizer = new Detokenizer();
      const streamed = ids.map((id) => detokenizer.push(id)).join('') + detokenizer.end();
      assert.equal(streamed, detokenize(ids));
    }),
  );
});

it('shows ids beyond the bytes as numbers, and waits for the end of a character', () => {
  assert.equal(detokenize([97, 300, 98]), 'a<300>b');
  const detokenizer = new Detokenizer();
  assert.deepEqual(
    [0xe2, 0x82, 0xac].map((id) => detokenizer.push(id)),
    ['', '', '€'],
  );
  assert.equal(detokenize([0xe2, 300]), '\ufffd<300>');
});

it('reads lists of CPUs, and refuses what is none', () => {
  assert.deepEqual(parseCpuList('0-2,5'), [0, 1, 2, 5]);
  for (const text of ['', '1-', '2-1', 'a', '0,0', '0-1,1', '-1', '1 ,2']) {
    assert.throws(() => parseCpuList(text), { code: 'ERR_QUALIFY_USAGE' }, text);
  }
});

it('draws audit prompts of ordinary ids, each length another prompt', () => {
  const prompt = auditPrompt(400, 512);
  assert.ok(prompt.every((id) => id >= 0 && id < 512 && id !== 256 && id !== 257));
  assert.notDeepEqual([...auditPrompt(64, 512)], [...prompt.subarray(0, 64)]);
  assert.deepEqual(auditPrompt(400, 512), prompt);
});

it('finds the best id and its margin; a tie has none', () => {
  assert.deepEqual(bestOf(Float32Array.of(1, 4, 2.5)), { id: 1, margin: 1.5 });
  assert.deepEqual(bestOf(Float32Array.of(4, 1, 4)), { id: 0, margin: 0 });
});

it('tells tokenizers apart by vocabulary, merges and special ids, and by nothing else', () => {
  const metadata = {
    'general.name': 'a',
    'tokenizer.ggml.tokens': ['a', 'bc'],
    'tokenizer.ggml.merges': ['b c'],
    'tokenizer.ggml.bos_token_id': 1,
  };
  const digest = tokenizerDigest(metadata);
  assert.match(digest, /^[0-9a-f]{64}$/);
  assert.equal(tokenizerDigest({ ...metadata, 'general.name': 'b' }), digest);
  const { 'general.name': name, ...rest } = metadata;
  assert.equal(
    tokenizerDigest({ ...rest, 'general.name': name }),
    digest,
    'order of the file does not matter',
  );
  const others = [
    { ...metadata, 'tokenizer.ggml.tokens': ['ab', 'c'] },
    { ...metadata, 'tokenizer.ggml.tokens': ['bc', 'a'] },
    { ...metadata, 'tokenizer.ggml.tokens': ['a', 'bc', ''] },
    { ...metadata, 'tokenizer.ggml.merges': [] },
    { ...metadata, 'tokenizer.ggml.bos_token_id': 2 },
    { ...metadata, 'tokenizer.ggml.bos_token_id': '1' },
    { ...metadata, 'tokenizer.ggml.add_bos_token': true },
  ];
  assert.equal(new Set([digest, ...others.map(tokenizerDigest)]).size, others.length + 1);
});
