/** What an engine says, which may be anything: the harness reads it live, and `verify` from the evidence. And what a client asks of ours. */
import assert from 'node:assert/strict';
import { canonicalJson } from '../../src/digest.js';
import { readCompletion, readProps } from '../../src/engine/dialect.js';
import {
  completionSchema,
  openaiSchema,
  toNativeRequest,
} from '../../src/engine/server/completion-request.js';
import { parseBody, ServerError } from '../../src/engine/server/server-error.js';
import { answerSchema, entrySchema } from '../../src/journal/entries.js';
import { parseTelemetry } from '../../src/journal/telemetry.js';
import { fuzzTest } from './fuzz.js';
import { damagedJson, damagedValue } from './mutations.js';
import { sampleRun } from './sample-run.js';

const sample = await sampleRun();
const journal = sample
  .read('journal.jsonl')
  .trimEnd()
  .split('\n')
  .map((line) => entrySchema.parse(JSON.parse(line)));
const answers = journal.flatMap((entry) => (entry.kind === 'sample' ? [entry.answer] : []));
const ready = journal.find((entry) => entry.kind === 'ready');
const telemetry = journal.find((entry) => entry.kind === 'telemetry');
assert.ok(ready?.kind === 'ready' && telemetry?.kind === 'telemetry' && answers.length > 0);

const bodies = answers.map(({ response }) => sample.json(response.path));
const rich = {
  tokens: [1, 2],
  timings: { cache_n: 0, prompt_n: 2, prompt_ms: 1.5, predicted_ms: 0, chunk: 32 },
  stages: { a: 1 },
  logits_sha256: 'a'.repeat(64),
  logits_nonfinite: 0,
  completion_probabilities: [{ top_logprobs: [{ id: 1, logprob: -0.5 }] }],
};

fuzzTest('an answer: what is taken fits the journal', damagedJson([...bodies, rich]), (bytes) => {
  const completion = readCompletion(bytes.toString('utf8'));
  const answer = answerSchema.parse({ ...answers[0], ...completion });
  const { clientMs, request, response, ...read } = answerSchema.parse(JSON.parse(JSON.stringify(answer)));
  assert.equal(canonicalJson(read), canonicalJson(completion));
});

fuzzTest(
  'the witnesses: what is taken fits the journal',
  damagedJson([sample.json(ready.props.path)]),
  (bytes) => {
    const { witness, counters } = readProps(bytes.toString('utf8'));
    const line = JSON.stringify({ ...ready, witness });
    assert.equal(JSON.stringify(entrySchema.parse(JSON.parse(line))), line);
    for (const value of Object.values(counters)) assert.ok(Number.isSafeInteger(value) && value >= 0);
  },
);

const lines = sample.read(telemetry.log.path).trimEnd().split('\n');
fuzzTest(
  'telemetry',
  damagedJson([lines.map((line) => JSON.parse(line) as unknown)], (value) =>
    (Array.isArray(value) ? value : [value]).map((line) => `${JSON.stringify(line) ?? ''}\n`).join(''),
  ),
  (bytes) => void parseTelemetry(bytes.toString('utf8'), 'x.jsonl'),
);

const asked = [
  { prompt: [1, 2, 'text'], n_predict: 4, cache_prompt: false, temperature: 0, stream: false, n_probs: 0 },
  { prompt: 'text', n_predict: -1, ignore_eos: true, chunk: 32, stop: [] },
  {
    prompt: ['text'],
    max_tokens: 4,
    model: 'm',
    logprobs: null,
    n: 1,
    stream_options: { include_usage: true },
  },
];
const limits = { vocabulary: 500, contextTokens: 64 };
for (const [what, schema] of [
  ['/completion', completionSchema],
  ['/v1/completions', openaiSchema],
] as const) {
  fuzzTest(
    `a request of a client to ${what}: what is taken stays inside vocabulary and context`,
    damagedValue(asked),
    (body) => {
      const parsed = parseBody(schema, body);
      const generated = 'n_predict' in parsed && typeof parsed.n_predict === 'number' ? parsed.n_predict : 4;
      const request = toNativeRequest({ ...parsed, n_predict: generated }, undefined, limits);
      assert.ok(request.tokens.every((id) => id >= 0 && id < limits.vocabulary));
      assert.ok(request.tokens.length + request.generatedTokens <= limits.contextTokens);
    },
    { isRefusal: (error) => error instanceof ServerError },
  );
}
