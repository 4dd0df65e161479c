import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { auditPrompt } from '../../src/engine/model-audit.js';
import { cachedModel } from '../../src/engine/model-cache.js';
import { propsSchema } from '../../src/engine/server/props.js';
import { cliScript } from '../../src/harness.js';
import { isSameProcessAlive, processStat } from '../../src/machine/procfs.js';
import { runCli } from '../fixtures/cli.js';
import { removeFolder } from '../support/folder.js';

const VOCABULARY = 512;
const completionSchema = z.object({
  timings: z.record(z.string(), z.number()),
  stages: z.record(z.string(), z.number()),
  logits_sha256: z.string(),
});
const folder = mkdtempSync(join(tmpdir(), 'qualify-embedded-'));
after(() => removeFolder(folder));

const place = (name: string) => join(folder, name);
const model = place('unit.gguf');
const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

/** Runs a command that must pass and gives what it answered. */
async function pass(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runCli(args);
  assert.equal(exitCode, 0, stderr);
  return stdout;
}

function readLogits(path: string): Float32Array {
  const bytes = readFileSync(path);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

/** Squared error over squared size. */
function nmse(values: Float32Array, reference: Float32Array): number {
  let error = 0;
  let size = 0;
  values.forEach((value, index) => {
    error += (value - (reference[index] ?? 0)) ** 2;
    size += (reference[index] ?? 0) ** 2;
  });
  return error / size;
}

describe('the embedded engine, really built', () => {
  before(async () => {
    await pass('model', 'create', '--preset', 'unit', '--out', model);
    writeFileSync(place('ids.json'), JSON.stringify([...auditPrompt(150, VOCABULARY)]));
  });

  it('writes the same model for the same seed, also with other thread counts, and another for another', async () => {
    const answer = JSON.parse(
      await pass(
        'model',
        'create',
        '--preset',
        'unit',
        '--out',
        place('same.gguf'),
        '--threads',
        '1',
        '--json',
      ),
    );
    assert.equal(answer.sha256, sha256(model));
    assert.equal(answer.sizeBytes, readFileSync(model).length);
    await pass('model', 'create', '--preset', 'unit', '--out', place('other.gguf'), '--seed', '2');
    assert.notEqual(sha256(place('other.gguf')), sha256(model));
  });

  it('keeps a made model and gives the same one again', async () => {
    const first = await cachedModel({ preset: 'unit', experts: 'rocmfp2', seed: 1, roundTrips: true });
    assert.equal(first.sha256, sha256(model));
    assert.deepEqual(await cachedModel({ preset: 'unit', experts: 'rocmfp2', seed: 1, roundTrips: true }), {
      ...first,
      cached: true,
    });
  });

  it('prints dimensions, tensors, types and the digest', async () => {
    const text = await pass('model', 'inspect', model);
    assert.match(text, new RegExp(sha256(model)));
    assert.match(text, /general\.architecture +"deepseek4"/);
    assert.match(text, /^token_embd\.weight /m);
    const description = JSON.parse(await pass('model', 'inspect', model, '--json'));
    assert.equal(description.sha256, sha256(model));
    assert.equal(description.metadata['general.architecture'], 'deepseek4');
  });

  it('names the place in a truncated and in a foreign file', async () => {
    writeFileSync(place('short.gguf'), readFileSync(model));
    truncateSync(place('short.gguf'), 100_000);
    const short = await runCli(['model', 'inspect', place('short.gguf')]);
    assert.equal(short.exitCode, 15);
    assert.match(short.stderr, /ERR_QUALIFY_MODEL_FILE/);
    writeFileSync(place('foreign.gguf'), 'PK\u0003\u0004 this is a zip');
    const foreign = await runCli(['model', 'inspect', place('foreign.gguf')]);
    assert.equal(foreign.exitCode, 15);
    assert.match(foreign.stderr, /offset 0|magic/i);
  });

  it('names file, tensor and remedy when a value of a model is no number, before it serves it', async () => {
    const { tensors } = JSON.parse(await pass('model', 'inspect', model, '--json'));
    const tensor = tensors.find(({ name }: { name: string }) => name === 'output_norm.weight');
    const bytes = readFileSync(model);
    bytes.writeUInt32LE(0x7fc00000, tensor.offsetBytes + 4 * 3);
    writeFileSync(place('damaged.gguf'), bytes);
    for (const args of [
      ['model', 'inspect', place('damaged.gguf')],
      ['engine', 'serve', '--model', place('damaged.gguf'), '--port', '0', '--threads', '1'],
    ]) {
      const { exitCode, stdout, stderr } = await runCli(args);
      assert.deepEqual([exitCode, stdout], [15, ''], stderr);
      assert.match(
        stderr,
        /damaged\.gguf: offset \d+: tensor 'output_norm\.weight' \(f32, \d+\): value 3 is NaN/,
      );
      assert.match(stderr, /the file is damaged, fetch or create it again/);
    }
  });

  it('refuses a file without an architecture, and shows one of another with a note', async () => {
    const number = (value: number, bytes: 4 | 8): Buffer => {
      const buffer = Buffer.alloc(bytes);
      buffer.writeUInt32LE(value);
      return buffer;
    };
    const text = (value: string): Buffer => Buffer.concat([number(value.length, 8), Buffer.from(value)]);
    const header = (keys: number): Buffer =>
      Buffer.concat([Buffer.from('GGUF'), number(3, 4), number(0, 8), number(keys, 8)]);
    writeFileSync(place('empty.gguf'), header(0));
    const empty = await runCli(['model', 'inspect', place('empty.gguf')]);
    assert.equal(empty.exitCode, 15, empty.stdout);
    assert.match(empty.stderr, /names no architecture: .*general\.architecture is missing/);
    const entry = [text('general.architecture'), number(8, 4), text('llama')];
    writeFileSync(place('llama.gguf'), Buffer.concat([header(1), ...entry]));
    const llama = await runCli(['model', 'inspect', place('llama.gguf')]);
    assert.equal(llama.exitCode, 0, llama.stderr);
    assert.match(llama.stdout, /general\.architecture +"llama"/);
    assert.match(llama.stderr, /the architecture is "llama"; the embedded engine runs deepseek4 only/);
  });

  it('quantises the experts of a float model, tells what that cost, and gives the same bytes again', async () => {
    const source = place('float.gguf');
    await pass('model', 'create', '--preset', 'unit', '--experts', 'f32', '--out', source);
    const flags = ['--experts', 'q4_0', '--json'];
    const made = JSON.parse(await pass('model', 'quantize', source, place('q4.gguf'), ...flags));
    assert.equal(made.sha256, sha256(place('q4.gguf')));
    assert.equal(made.quantized.length, 12);
    for (const tensor of made.quantized) {
      assert.match(tensor.name, /^blk\.\d\.ffn_(gate|up|down)_exps\.weight$/);
      assert.equal(tensor.to, 'q4_0');
      assert.equal(tensor.toBytes * 64, tensor.fromBytes * 9);
      assert.ok(tensor.nmse > 1e-3 && tensor.nmse < 0.02, `NMSE ${tensor.nmse}`);
    }
    const again = await pass('model', 'quantize', source, place('again.gguf'), ...flags, '--threads', '1');
    assert.equal(JSON.parse(again).sha256, made.sha256);
    const description = JSON.parse(await pass('model', 'inspect', place('q4.gguf'), '--json'));
    assert.equal(description.metadata['qualify.quantized'], 'experts q4_0');
    const logits = [];
    for (const file of ['float', 'q4']) {
      const out = place(`${file}.f32`);
      const args = ['--model', place(`${file}.gguf`), '--tokens', place('ids.json'), '--out', out, '--all'];
      await pass('engine', 'logits', ...args);
      logits.push(readLogits(out));
    }
    const error = nmse(logits[1] ?? new Float32Array(), logits[0] ?? new Float32Array());
    assert.ok(error > 0 && error < 0.4, `NMSE of the logits against the float model: ${error}`);
    const text = await pass('model', 'quantize', source, place('text.gguf'), '--experts', 'mxfp4');
    assert.match(text, /^blk\.0\.ffn_gate_exps\.weight +f32 -> mxfp4 +4194304 +557056 +1\.\d\de-2$/m);
  });

  it('refuses to quantise onto itself, over a file, or where rows do not fill blocks, and leaves nothing', async () => {
    const refused = async (args: string[], exit: number, message: RegExp) => {
      const { exitCode, stderr } = await runCli(['model', 'quantize', ...args]);
      assert.equal(exitCode, exit, stderr);
      assert.match(stderr, message);
    };
    const none = place('none.gguf');
    await refused([model, model, '--experts', 'q4_0', '--force'], 64, /ERR_QUALIFY_SAME_FILE/);
    await refused([model, place('float.gguf'), '--experts', 'q4_0'], 64, /exists already/);
    await refused([model, none, '--experts', 'q5_1'], 64, /Allowed choices are rocmfp2/);
    await refused([model, none], 64, /--experts/);
    const dense = ['--experts', 'q4_0', '--dense', 'q2_k'];
    await refused([model, none, ...dense], 64, /attn_q_b\.weight' has rows of 128 values/);
    for (const name of ['absent.gguf', 'ids.json']) {
      const at = new RegExp(`at: +\\S*/${name}\\n`);
      await refused([place(name), none, '--experts', 'q4_0'], 64, at);
      await refused([model, none, '--experts', 'rocmfp4', '--imatrix', place(name)], 64, at);
    }
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('none')),
      [],
    );
  });

  it('leaves nothing when it is interrupted', async () => {
    const out = place('interrupted.gguf');
    const args = [cliScript, 'model', 'quantize', place('float.gguf'), out, '--experts', 'rocmfp4'];
    const child = spawn(process.execPath, [...args, '--threads', '1'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    // The first line of progress says that it is at work.
    await once(createInterface(child.stderr), 'line');
    child.kill('SIGINT');
    await once(child, 'close');
    assert.equal(child.exitCode, 12);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('interrupted')),
      [],
    );
  });

  it('reports margins that are decisive', async () => {
    const report = JSON.parse(await pass('model', 'audit', model, '--json'));
    assert.equal(report.positions, 64 + 128 + 256 + 401);
    assert.ok(report.marginMinimum > 0);
    assert.ok(report.marginOnePercent > 0.05, `1 % of the margins are below ${report.marginOnePercent}`);
    assert.ok(report.distinctBest > 50);
  });

  it('writes the same bits at any chunk, and the last position is the last row of all', async () => {
    const logits = (out: string, ...more: string[]) =>
      pass('engine', 'logits', '--model', model, '--tokens', place('ids.json'), '--out', place(out), ...more);
    await logits('whole.f32', '--all');
    await logits('chunks.f32', '--all', '--chunk', '32', '--threads', '1');
    await logits('last.f32');
    assert.equal(readFileSync(place('whole.f32')).length, 150 * VOCABULARY * 4);
    assert.equal(sha256(place('whole.f32')), sha256(place('chunks.f32')));
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
      logits.push(sha256(out));
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
      const prompt = [...auditPrompt(150, VOCABULARY)];
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
    assert.equal(cold.logits_sha256, sha256(place('served.f32')));
    const props = propsSchema.parse(await (await fetch(`http://127.0.0.1:${port}/props`)).json());
    assert.equal(props.nonce, 'mine');
    assert.equal(props.switches.DFLASH_MOE_GROUPED_MMID_PREFILL, '0');
    assert.equal(props.model.sha256, sha256(model));
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
