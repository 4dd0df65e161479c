/** The embedded engine, really built: its logits, and what it serves. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { cachedModel } from '../../src/engine/model-cache.js';
import { propsSchema } from '../../src/engine/server/props.js';
import { cliScript } from '../../src/harness.js';
import { isSameProcessAlive, processStat } from '../../src/machine/procfs.js';
import { runCli } from '../fixtures/cli.js';
import { nmse, pass, prompt, readLogits, sha256OfFile, VOCABULARY } from '../fixtures/logits.js';
import { removeFolder } from '../support/folder.js';
import { scratchRoot } from '../support/scratch-root.js';

const completionSchema = z.object({
  timings: z.record(z.string(), z.number()),
  stages: z.record(z.string(), z.number()),
  logits_sha256: z.string(),
});
const folder = mkdtempSync(join(scratchRoot, 'qualify-embedded-'));
after(() => removeFolder(folder));

const place = (name: string) => join(folder, name);
/** One that other tests need, too. */
let model = '';

describe('the embedded engine, really built', () => {
  before(async () => {
    ({ path: model } = await cachedModel({ preset: 'unit', experts: 'rocmfp2', seed: 1, roundTrips: true }));
    writeFileSync(place('ids.json'), JSON.stringify(prompt));
  });

  it('writes the same bits at any chunk, and the last position is the last row of all', async () => {
    const logits = (out: string, ...more: string[]) =>
      pass('engine', 'logits', '--model', model, '--tokens', place('ids.json'), '--out', place(out), ...more);
    await logits('whole.f32', '--all');
    await logits('chunks.f32', '--all', '--chunk', '32', '--threads', '1');
    await logits('last.f32');
    assert.equal(readFileSync(place('whole.f32')).length, 150 * VOCABULARY * 4);
    assert.equal(sha256OfFile(place('whole.f32')), sha256OfFile(place('chunks.f32')));
    assert.deepEqual(readLogits(place('last.f32')), readLogits(place('whole.f32')).slice(-VOCABULARY));
  });

  it('agrees with the fp64 reference on unstructured F32 weights', async () => {
    await pass('model', 'create', '--preset', 'unit', '--stress', '--out', place('stress.gguf'));
    const common = ['--model', place('stress.gguf'), '--tokens', place('ids.json')];
    await pass('engine', 'logits', ...common, '--out', place('fast.f32'));
    await pass('engine', 'logits', ...common, '--out', place('reference.f32'), '--reference');
    const error = nmse(readLogits(place('fast.f32')), readLogits(place('reference.f32')));
    assert.ok(error > 0 && error < 1e-7, `NMSE against the fp64 reference: ${error}`);
  });

  it('makes a model without round trips, which says so and computes otherwise', async () => {
    const flags = (file: string) => [
      'model',
      'create',
      '--preset',
      'unit',
      '--seed',
      '3',
      '--out',
      place(file),
    ];
    await pass(...flags('rounded.gguf'));
    await pass(...flags('exact.gguf'), '--no-round-trips');
    const logits = [];
    for (const [name, rounds] of [
      ['rounded', true],
      ['exact', false],
    ] as const) {
      const file = place(`${name}.gguf`);
      const { metadata } = JSON.parse(await pass('model', 'inspect', file, '--json'));
      assert.equal(metadata['qualify.key_round_trip'], rounds);
      assert.equal(metadata['qualify.indexer_round_trip'], rounds);
      const out = place(`${name}.f32`);
      await pass('engine', 'logits', '--model', file, '--tokens', place('ids.json'), '--out', out);
      logits.push(sha256OfFile(out));
    }
    assert.notEqual(logits[0], logits[1]);
  });

  it('serves: a cold answer, a reused one and the logits on file have the same bits', async () => {
    const args = [
      cliScript,
      'engine',
      'serve',
      '--model',
      model,
      '--port',
      '0',
      '--nonce',
      'mine',
      '--threads',
      '2',
    ];
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, DFLASH_MOE_GROUPED_MMID_PREFILL: '0' },
    });
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const { port, pid } = JSON.parse(line);
    const ask = async (change: object) => {
      const body = JSON.stringify({ prompt, n_predict: 1, ignore_eos: true, return_tokens: true, ...change });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`http://127.0.0.1:${port}/completion`, { method: 'POST', headers, body });
      return completionSchema.parse(await answer.json());
    };
    const cold = await ask({ cache_prompt: false });
    assert.equal(cold.timings.cache_n, 0);
    assert.equal(cold.timings.prompt_n, 150);
    assert.ok(Number(cold.timings.prompt_ms) > 0 && Number(cold.timings.prompt_cpu_ms) > 0);
    assert.ok(Object.keys(cold.stages).length > 3);
    await ask({});
    const reused = await ask({});
    assert.ok(Number(reused.timings.cache_n) > 0);
    assert.equal(Number(reused.timings.cache_n) + Number(reused.timings.prompt_n), 150);
    assert.equal(reused.logits_sha256, cold.logits_sha256);
    await pass(
      'engine',
      'logits',
      '--model',
      model,
      '--tokens',
      place('ids.json'),
      '--out',
      place('served.f32'),
    );
    assert.equal(cold.logits_sha256, sha256OfFile(place('served.f32')));
    const props = propsSchema.parse(await (await fetch(`http://127.0.0.1:${port}/props`)).json());
    assert.equal(props.nonce, 'mine');
    assert.equal(props.switches.DFLASH_MOE_GROUPED_MMID_PREFILL, '0');
    assert.equal(props.model.sha256, sha256OfFile(model));
    child.kill('SIGTERM');
    await once(child, 'close');
    assert.equal(child.exitCode, 0);
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });

  it('serves with no switch that it does not understand or that does nothing: exit 64, with what is wrong', async () => {
    const missing = place('none.csv');
    const refused: [Record<string, string>, RegExp][] = [
      [
        { DFLASH_MOE_OWNERS: 'two' },
        /DFLASH_MOE_OWNERS="two" is not understood[\s\S]*at: +DFLASH_MOE_OWNERS\n/,
      ],
      [{ DFLASH_EXPERT_BUDGET_MB: '1' }, /needs DFLASH_MOE_OWNERS of 2[\s\S]*at: +DFLASH_EXPERT_BUDGET_MB\n/],
      [{ DFLASH_DS4_HOTNESS_CSV: '' }, /DFLASH_DS4_HOTNESS_CSV is empty[\s\S]*at: +DFLASH_DS4_HOTNESS_CSV\n/],
      [
        { DFLASH_MOE_OWNERS: '2', DFLASH_DS4_HOTNESS_CSV: missing },
        /cannot be read[\s\S]*at: +\S*none\.csv\n/,
      ],
    ];
    for (const [switches, message] of refused) {
      const serve = ['engine', 'serve', '--model', model, '--port', '0', '--threads', '2'];
      const { exitCode, stderr } = await runCli(serve, switches);
      assert.match(stderr, message);
      assert.equal(exitCode, 64);
    }
  });

  it('leaves no engine behind when the command that serves is killed', async () => {
    const args = [cliScript, 'engine', 'serve', '--model', model, '--port', '0'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const engine = processStat(JSON.parse(line).pid);
    assert.ok(engine !== null);
    child.kill('SIGKILL');
    // The engine holds the other end of stdout, which closes with it. A container may have nobody who buries the dead.
    await once(child, 'close');
    while (isSameProcessAlive(engine.pid, engine.startTicks))
      await new Promise((resolve) => setTimeout(resolve, 10));
  });
});
