import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { propsSchema } from '../../src/engine/server/props.js';
import { fakeModel, type Host, startHost } from '../fixtures/native-host.js';

const model = fakeModel();
after(() => model.remove());

const timings = (body: Record<string, unknown>) => body.timings as Record<string, number>;
const ids = (count: number, first = 0) => Array.from({ length: count }, (_, index) => (first + index) % 250);

async function untilBusy(host: Host): Promise<void> {
  while (!JSON.parse((await host.get('/slots')).text)[0].is_processing) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('the engine process', () => {
  let host: Host;
  before(async () => {
    const digest = 'ab'.repeat(32);
    const args = [
      '--model',
      model.path,
      '--nonce',
      'n-1',
      '--build-digest',
      digest,
      '--context',
      '64',
      '--cpus',
      '0-1',
    ];
    host = await startHost(args, { DFLASH_MOE_GROUPED_MMID_PREFILL: '0' });
  });
  after(() => host.stop());

  it('says one line with its port and pid', () => {
    assert.deepEqual(host.event, {
      event: 'listening',
      port: Number(new URL(host.base).port),
      pid: host.child.pid,
    });
  });

  it('echoes nonce, build, model digest and effective switches in /props', async () => {
    const props = propsSchema.parse(JSON.parse((await host.get('/props')).text));
    assert.equal(props.nonce, 'n-1');
    assert.equal(props.build_digest, 'ab'.repeat(32));
    assert.equal(props.model.sha256, createHash('sha256').update('GGUF').digest('hex'));
    assert.deepEqual(props.switches, { DFLASH_MOE_GROUPED_MMID_PREFILL: '0' });
    assert.equal(props.threads, 2);
    assert.deepEqual(props.cpus, [0, 1]);
    assert.equal(props.n_ctx, 64);
  });

  it('is healthy, has one slot and lists its model', async () => {
    assert.equal((await host.get('/health')).status, 200);
    assert.equal(JSON.parse((await host.get('/slots')).text)[0].is_processing, false);
    assert.equal(JSON.parse((await host.get('/v1/models')).text).data[0].id, 'fake');
  });

  it('evaluates exactly the ids it was sent, cold on demand, and reuses a prefix by default', async () => {
    const prompt = ids(20);
    const first = await host.post('/completion', { prompt, n_predict: 1, cache_prompt: false });
    assert.equal(first.status, 200);
    assert.equal(timings(first.body).prompt_n, 20);
    assert.equal(timings(first.body).cache_n, 0);
    assert.equal(timings(first.body).prompt_cpu_ms, 8);
    const twin = await host.post('/completion', { prompt, n_predict: 1 });
    assert.equal(timings(twin.body).cache_n, 19);
    assert.equal(timings(twin.body).prompt_n, 1);
    assert.equal(twin.body.tokens_evaluated, 20);
    const cold = await host.post('/completion', { prompt, n_predict: 1, cache_prompt: false });
    assert.equal(timings(cold.body).cache_n, 0);
    assert.equal(cold.body.logits_sha256, twin.body.logits_sha256);
  });

  it('digests the ids as 32-bit little-endian and returns them when asked', async () => {
    const { body } = await host.post('/completion', { prompt: ids(5), n_predict: 3, return_tokens: true });
    const tokens = body.tokens as number[];
    assert.equal(tokens.length, 3);
    const bytes = Buffer.from(Uint32Array.from(tokens).buffer);
    assert.equal(body.tokens_sha256, createHash('sha256').update(bytes).digest('hex'));
    assert.equal(body.content, String.fromCharCode(...tokens));
    assert.equal(body.stop_type, 'limit');
    assert.deepEqual((await host.post('/completion', { prompt: ids(5), n_predict: 3 })).body.tokens, []);
  });

  it('takes text, and arrays that mix ids and text', async () => {
    const text = await host.post('/completion', { prompt: 'hé', n_predict: 0, cache_prompt: false });
    assert.equal(timings(text.body).prompt_n, 3);
    assert.equal(timings(text.body).predicted_n, 0);
    const mixed = await host.post('/completion', {
      prompt: [256, 'hé', 299],
      n_predict: 1,
      cache_prompt: false,
    });
    assert.equal(timings(mixed.body).prompt_n, 5);
  });

  it('reports log-probabilities whose likeliest id is the one generated', async () => {
    const { body } = await host.post('/completion', {
      prompt: ids(4),
      n_predict: 2,
      n_probs: 3,
      return_tokens: true,
    });
    const list = body.completion_probabilities as {
      id: number;
      logprob: number;
      top_logprobs: { id: number }[];
    }[];
    assert.deepEqual(
      list.map((entry) => entry.id),
      body.tokens,
    );
    for (const entry of list) {
      assert.equal(entry.top_logprobs.length, 3);
      assert.equal(entry.top_logprobs[0]?.id, entry.id);
      assert.ok(entry.logprob < 0 && entry.logprob > -1);
    }
  });

  const refused: [string, Record<string, unknown>, RegExp][] = [
    ['sampling', { temperature: 0.7 }, /^temperature: only greedy decoding/],
    ['a missing prompt', { prompt: undefined }, /^prompt: /],
    ['an empty prompt', { prompt: [] }, /^prompt: must not be empty/],
    ['an array of empty texts', { prompt: [''] }, /^prompt: must not be empty/],
    ['a negative id', { prompt: [3, -1] }, /^prompt\[1\]: /],
    [
      'an id beyond the vocabulary',
      { prompt: [1, 300] },
      /^prompt\[1\]: id 300 is beyond the vocabulary of 300/,
    ],
    ['a chunk of zero', { chunk: 0 }, /^chunk: /],
    ['another slot', { id_slot: 1 }, /^id_slot: /],
    ['stop words, which would be ignored', { stop: ['x'] }, /^stop: not supported/],
    ['a grammar', { grammar: 'root ::= "x"' }, /^grammar: not supported/],
    ['a repeat penalty', { repeat_penalty: 1.1 }, /^repeat_penalty: not supported/],
    ['more tokens than the context', { prompt: ids(60), n_predict: 5 }, /exceed the context of 64/],
  ];
  for (const [what, change, message] of refused) {
    it(`refuses ${what} and names the field`, async () => {
      const { status, body } = await host.post('/completion', { prompt: ids(3), n_predict: 1, ...change });
      assert.equal(status, 400);
      assert.match(body.error?.message ?? '', message);
    });
  }

  it('takes the chunk from a header, and refuses a wrong one', async () => {
    const ask = (chunk: string) =>
      host.post('/completion', { prompt: [1], n_predict: 1 }, { 'x-qualify-chunk': chunk });
    assert.equal((await ask('32')).status, 200);
    const { status, body } = await ask('many');
    assert.equal(status, 400);
    assert.equal(body.error?.message, 'x-qualify-chunk: must be a whole number from 1 to 1048576');
  });

  it('answers malformed JSON, unknown routes and huge bodies in the dialect', async () => {
    assert.equal((await host.post('/completion', '{"prompt": ')).status, 400);
    assert.equal((await host.post('/nothing', {})).status, 404);
    const { status, body } = await host.post('/completion', { prompt: 'x'.repeat(1 << 17) });
    assert.equal(status, 413);
    assert.equal(body.error?.type, 'invalid_request_error');
    assert.match(body.error?.message ?? '', /^body: larger than the limit of 66176 bytes/);
  });

  it('takes JSON under the type that curl -d gives it', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await host.post('/v1/completions', JSON.stringify({ prompt: 'a', max_tokens: 1 }), form);
    assert.equal(answer.status, 200);
    assert.equal((await host.post('/v1/completions', 'prompt=a', form)).status, 400);
  });

  it('refuses in /v1/completions what it would have to ignore, and takes what asks for nothing', async () => {
    const ask = (change: object) => host.post('/v1/completions', { prompt: 'a', max_tokens: 1, ...change });
    for (const [field, value] of [
      ['logprobs', 1],
      ['logprobs', true],
      ['n_probs', 2],
      ['suffix', 'b'],
      ['prompt', ['a', 'b']],
    ] as const) {
      const { status, body } = await ask({ [field]: value });
      assert.equal(status, 400, field);
      assert.match(body.error?.message ?? '', new RegExp(`^${field}: `));
    }
    for (const change of [{ logprobs: null }, { logprobs: 0 }, { prompt: ['a'] }, { suffix: null }]) {
      assert.equal((await ask(change)).status, 200, JSON.stringify(change));
    }
  });

  it('streams each token, then the timings', async () => {
    const answer = await fetch(`${host.base}/completion`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: ids(6), n_predict: 4, stream: true, cache_prompt: false }),
    });
    assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
    const events = (await answer.text())
      .trim()
      .split('\n\n')
      .map((event) => JSON.parse(event.slice('data: '.length)));
    const last = events.pop();
    assert.equal(events.length, 4);
    assert.ok(events.every((event) => event.stop === false && event.tokens.length === 1));
    assert.equal(last.stop, true);
    assert.equal(last.timings.predicted_n, 4);
  });

  it('speaks OpenAI completions, streamed and whole, with cached tokens in the usage', async () => {
    const ask = { model: 'any', prompt: ids(8), max_tokens: 2, temperature: 0 };
    const { body } = await host.post('/v1/completions', { ...ask, cache_prompt: false });
    const choice = (body.choices as { text: string; finish_reason: string }[])[0];
    assert.equal(choice?.finish_reason, 'length');
    assert.equal(choice?.text.length, 2);
    assert.deepEqual(body.usage, {
      prompt_tokens: 8,
      completion_tokens: 2,
      total_tokens: 10,
      prompt_tokens_details: { cached_tokens: 0 },
    });
    const answer = await fetch(`${host.base}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...ask, stream: true, stream_options: { include_usage: true } }),
    });
    const events = (await answer.text())
      .trim()
      .split('\n\n')
      .map((event) => event.slice('data: '.length));
    assert.equal(events.at(-1), '[DONE]');
    assert.equal(JSON.parse(events.at(-2) ?? '').usage.prompt_tokens_details.cached_tokens, 7);
    const words = events.slice(0, -2).map((event) => JSON.parse(event).choices[0].text);
    assert.equal(words.join(''), choice?.text);
    assert.equal((await host.post('/v1/completions', { ...ask, n: 2 })).status, 400);
  });

  it('tokenizes bytes and back', async () => {
    const { body } = await host.post('/tokenize', { content: 'aé', add_special: true });
    assert.deepEqual(body.tokens, [256, 97, 0xc3, 0xa9]);
    assert.equal((await host.post('/detokenize', { tokens: body.tokens })).body.content, '<256>aé');
  });

  it('counts in Prometheus text', async () => {
    const read = async (name: string) => {
      const { text } = await host.get('/metrics');
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
    };
    const before = await read('llamacpp:prompt_tokens_total');
    await host.post('/completion', { prompt: ids(11, 100), n_predict: 1, cache_prompt: false });
    assert.equal((await read('llamacpp:prompt_tokens_total')) - before, 11);
    assert.ok((await read('qualify_kernel_runs_total')) > 0);
    assert.equal(await read('llamacpp:requests_processing'), 0);
  });
});

describe('a slow engine process', () => {
  let host: Host;
  before(async () => {
    host = await startHost(['--model', model.path], { FAKE_TOKEN_MS: '5' });
  });
  after(() => host.stop());

  it('frees the slot when the client goes', async () => {
    const gone = new AbortController();
    const body = JSON.stringify({ prompt: ids(200), n_predict: 4000 });
    const headers = { 'content-type': 'application/json' };
    const asked = fetch(`${host.base}/completion`, { method: 'POST', headers, body, signal: gone.signal });
    await untilBusy(host);
    gone.abort();
    await assert.rejects(asked);
    // 4000 tokens take 20 s: an answer now means that the request ahead was ended.
    const next = await host.post('/completion', { prompt: [1], n_predict: 1 });
    assert.equal(next.status, 200);
    assert.match((await host.get('/metrics')).text, /^qualify_requests_cancelled_total 1$/m);
  });

  it('answers requests in the order in which they came', async () => {
    const order: string[] = [];
    const ask = (name: string, prompt: number[]) =>
      host.post('/completion', { prompt, n_predict: 1, cache_prompt: false }).then(() => order.push(name));
    const long = ask('long', ids(300));
    await untilBusy(host);
    await Promise.all([long, ask('short', [1])]);
    assert.deepEqual(order, ['long', 'short']);
  });

  it('ends in order on SIGTERM, cancelling what runs', async () => {
    const asked = host.post('/completion', { prompt: ids(100), n_predict: 4000 });
    await untilBusy(host);
    host.child.kill('SIGTERM');
    assert.equal((await asked).status, 503);
    if (host.child.exitCode === null) await once(host.child, 'close');
    assert.equal(host.child.exitCode, 0);
    const refused = once(connect(Number(new URL(host.base).port), '127.0.0.1'), 'connect');
    await assert.rejects(refused, /ECONNREFUSED/);
  });
});

describe('starting the engine process', () => {
  it('answers 503 on /health while the model loads', async () => {
    // Below the ports that systems give away by themselves, and another one in each process.
    const port = 20_000 + (process.pid % 12_000);
    const loads = `${model.path}.loads`;
    const starting = startHost(['--model', model.path, '--port', String(port)], { FAKE_OPEN_AFTER: loads });
    const health = async () =>
      (await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined))?.status;
    let status: number | undefined;
    while (status === undefined) status = await Promise.race([health(), starting.then(() => 200)]);
    assert.equal(status, 503);
    writeFileSync(loads, '');
    const host = await starting;
    assert.equal(await health(), 200);
    await host.stop();
  });

  it('ends when the process that started it closes its end of stdin', async () => {
    const host = await startHost(['--model', model.path]);
    host.child.stdin?.end();
    await once(host.child, 'close');
    assert.equal(host.child.exitCode, 0);
  });

  it('names what is wrong with the command line, the addon or the model', async () => {
    await assert.rejects(
      startHost(['--model', model.path, '--host', '0.0.0.0']),
      /exit 64: .*--host: only loopback/s,
    );
    await assert.rejects(startHost(['--model', model.path, '--thread', '2']), /exit 64: .*--thread/s);
    await assert.rejects(
      startHost(['--model', model.path, '--threads', 'two']),
      /exit 64: .*--threads: must be/s,
    );
    await assert.rejects(
      startHost(['--model', model.path], {}, '/nowhere/engine.node'),
      /exit 15: .*does not load/s,
    );
    await assert.rejects(startHost(['--model', '/nowhere/m.gguf']), /exit 15: .*ENOENT.*m\.gguf/s);
    const broken = fakeModel('broken.gguf');
    await assert.rejects(startHost(['--model', broken.path]), /exit 15: .*truncated at offset 24/s);
    broken.remove();
  });
});
