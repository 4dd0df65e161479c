/** `qualify model` on the embedded engine, really built: models made, inspected, quantised and audited. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { cachedModel } from '../../src/engine/model-cache.js';
import { cliScript } from '../../src/harness.js';
import { runCli } from '../fixtures/cli.js';
import { nmse, pass, prompt, readLogits, sha256OfFile } from '../fixtures/logits.js';
import { removeFolder } from '../support/folder.js';

const folder = mkdtempSync(join(tmpdir(), 'qualify-model-'));
after(() => removeFolder(folder));

const place = (name: string) => join(folder, name);
const model = place('unit.gguf');

describe('model files', () => {
  before(async () => {
    await pass('model', 'create', '--preset', 'unit', '--out', model);
    writeFileSync(place('ids.json'), JSON.stringify(prompt));
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
    assert.equal(answer.sha256, sha256OfFile(model));
    assert.equal(answer.sizeBytes, readFileSync(model).length);
    await pass('model', 'create', '--preset', 'unit', '--out', place('other.gguf'), '--seed', '2');
    assert.notEqual(sha256OfFile(place('other.gguf')), sha256OfFile(model));
  });

  it('keeps a made model and gives the same one again', async () => {
    const first = await cachedModel({ preset: 'unit', experts: 'rocmfp2', seed: 1, roundTrips: true });
    assert.equal(first.sha256, sha256OfFile(model));
    assert.deepEqual(await cachedModel({ preset: 'unit', experts: 'rocmfp2', seed: 1, roundTrips: true }), {
      ...first,
      cached: true,
    });
  });

  it('prints dimensions, tensors, types and the digest', async () => {
    const text = await pass('model', 'inspect', model);
    assert.match(text, new RegExp(sha256OfFile(model)));
    assert.match(text, /general\.architecture +"deepseek4"/);
    assert.match(text, /^token_embd\.weight /m);
    const description = JSON.parse(await pass('model', 'inspect', model, '--json'));
    assert.equal(description.sha256, sha256OfFile(model));
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
    assert.equal(made.sha256, sha256OfFile(place('q4.gguf')));
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
});
