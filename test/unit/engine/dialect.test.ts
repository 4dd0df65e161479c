import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { completionBody, readCompletion, readProps } from '../../../src/engine/dialect.js';
import { QualifyError } from '../../../src/errors.js';

const sha = 'b'.repeat(64);
const answer = {
  content: '',
  tokens: [1, 4_294_967_295],
  timings: {
    cache_n: 0,
    prompt_n: 3,
    prompt_ms: 1.5,
    prompt_cpu_ms: 3,
    predicted_ms: 2,
    predicted_cpu_ms: 4,
  },
  stages: { attention: 0.5 },
  logits_sha256: sha,
  something_else: true,
};
const props = {
  nonce: 'n',
  build_digest: 'd',
  model: { sha256: sha, path: '/m' },
  threads: 2,
  isa: 'avx2',
  switches: { A: '1' },
  counters: { k: 7 },
};

const malformed = (field: RegExp) => (error: unknown) =>
  error instanceof QualifyError && error.code === 'ERR_QUALIFY_ANSWER_MALFORMED' && field.test(error.message);

describe('the dialect', () => {
  test('asks for greedy output of exact length with the cache as told', () => {
    const request = { tokens: [5, 6], generatedTokens: 16, chunk: 128, reuseCache: false, probabilities: 0 };
    const body = JSON.parse(completionBody(request));
    assert.deepEqual(body, {
      prompt: [5, 6],
      n_predict: 16,
      chunk: 128,
      cache_prompt: false,
      temperature: 0,
      ignore_eos: true,
      return_tokens: true,
      stream: false,
    });
    assert.equal(JSON.parse(completionBody({ ...request, reuseCache: true })).cache_prompt, true);
  });

  test('reads an answer and hashes the tokens itself', () => {
    const read = readCompletion(JSON.stringify(answer));
    assert.deepEqual(read, {
      cacheN: 0,
      promptN: 3,
      promptMs: 1.5,
      promptCpuMs: 3,
      predictedN: 2,
      predictedMs: 2,
      predictedCpuMs: 4,
      tokens: [1, 4_294_967_295],
      // sha256 of 01 00 00 00 ff ff ff ff
      tokensSha256: 'b15348c8f462384c01e83b6d499c6faf3f96808f5aa07c6bab4b65b36b4445d4',
      logitsSha256: sha,
      stages: { attention: 0.5 },
      probabilities: undefined,
    });
  });

  test('reads the chunk, the logits that are no numbers and the tokenizer of an engine that says them', () => {
    const timings = { ...answer.timings, chunk: 512 };
    const said = readCompletion(JSON.stringify({ ...answer, timings, logits_nonfinite: 2 }));
    assert.deepEqual([said.chunk, said.nonFiniteLogits], [512, 2]);
    assert.equal(readCompletion(JSON.stringify({ ...answer, chunk: 256 })).chunk, 256);
    const { witness } = readProps(JSON.stringify({ ...props, tokenizer_sha256: sha }));
    assert.equal(witness.tokenizerSha256, sha);
  });

  test('asks for the likeliest ids where the plan wants them, and reads them best first', () => {
    const request = { tokens: [5], generatedTokens: 1, chunk: 8, reuseCache: false, probabilities: 10 };
    assert.equal(JSON.parse(completionBody(request)).n_probs, 10);
    const top = [
      { id: 7, logprob: -0.5, token: 'a' },
      { id: 1, logprob: -2 },
    ];
    const completion_probabilities = [{ id: 7, logprob: -0.5, top_logprobs: top }];
    assert.deepEqual(readCompletion(JSON.stringify({ ...answer, completion_probabilities })).probabilities, [
      [
        [7, -0.5],
        [1, -2],
      ],
    ]);
    // JSON has no infinity: what an engine could not write is no number.
    top[1] = { id: 1, logprob: Number.NEGATIVE_INFINITY };
    assert.throws(
      () => readCompletion(JSON.stringify({ ...answer, completion_probabilities })),
      malformed(/completion_probabilities\.0\.top_logprobs\.1\.logprob/),
    );
  });

  test('reads what the server does not report as null, never as zero', () => {
    const read = readCompletion(JSON.stringify({ tokens: [], timings: {} }));
    assert.deepEqual([read.cacheN, read.promptN, read.promptMs, read.logitsSha256], [null, null, null, null]);
    assert.deepEqual([read.predictedN, read.stages], [0, {}]);
  });

  test('reads how many logits are no numbers, and which fault an engine has, where it says so', () => {
    assert.equal(readCompletion(JSON.stringify({ ...answer, logits_nonfinite: 3 })).nonFiniteLogits, 3);
    assert.equal(readCompletion(JSON.stringify({ ...answer, logits_nonfinite: 0 })).nonFiniteLogits, 0);
    const faulty = readProps(JSON.stringify({ ...props, planted_fault: 'half-context' }));
    assert.equal(faulty.witness.plantedFault, 'half-context');
  });

  test('names the field of a malformed answer', () => {
    assert.throws(() => readCompletion('<html>'), malformed(/not JSON/));
    assert.throws(() => readCompletion(JSON.stringify({ ...answer, tokens: 'many' })), malformed(/tokens/));
    assert.throws(
      () => readCompletion(JSON.stringify({ ...answer, timings: { cache_n: -1 } })),
      malformed(/timings.cache_n/),
    );
    assert.throws(() => readProps(JSON.stringify({ ...props, nonce: 1 })), malformed(/nonce/));
  });

  test('reads the witnesses and the counters', () => {
    const { witness, counters } = readProps(JSON.stringify(props));
    assert.deepEqual(witness, {
      nonce: 'n',
      buildDigest: 'd',
      modelSha256: sha,
      threads: 2,
      isa: 'avx2',
      switches: { A: '1' },
    });
    assert.deepEqual(counters, { k: 7 });
  });

  test('reads the digest of the tokenizer where the server says it', () => {
    assert.equal(readProps(JSON.stringify({ ...props, tokenizer_sha256: sha })).witness.tokenizerSha256, sha);
    assert.throws(
      () => readProps(JSON.stringify({ ...props, tokenizer_sha256: 'x' })),
      malformed(/tokenizer_sha256/),
    );
  });
});
