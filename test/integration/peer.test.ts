/**
 * The peer, when it is installed (`npm ci --ignore-scripts --omit=optional` in `peers/llama-cpp`): a real launch behind the same
 * dialect. When it is not, what is said about that.
 */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { NodeLlamaCppEngine, peerCommand } from '../../src/engine/adapters/node-llama-cpp.js';
import { examineProcess, peerFolder, readPeer, requirePeer } from '../../src/engine/adapters/peer-package.js';
import type { CompletionRequest, LaunchSpec } from '../../src/engine/engine.js';
import { inheritedVariables } from '../../src/engine/launch.js';
import { cachedModel } from '../../src/engine/model-cache.js';
import { QualifyError } from '../../src/errors.js';
import { EvidenceFolder } from '../../src/journal/evidence.js';
import { scratchFolder } from '../support/folder.js';
import { Home } from '../support/run-cli.js';

const missing = (error: unknown): boolean =>
  error instanceof QualifyError &&
  error.code === 'ERR_QUALIFY_PEER_MISSING' &&
  error.exitCode === 15 &&
  /npm ci --ignore-scripts --omit=optional/.test(error.hint ?? '');

function isInstalled(): boolean {
  try {
    requirePeer();
    return true;
  } catch {
    return false;
  }
}

const installed = isInstalled();

test('a folder without the package, or with another version of it, is refused with the command that installs it', async (t) => {
  const folder = await scratchFolder(t);
  assert.throws(() => requirePeer(folder), missing);
  const inside = join(folder, 'node_modules', 'node-llama-cpp');
  mkdirSync(inside, { recursive: true });
  writeFileSync(join(inside, 'package.json'), JSON.stringify({ version: '3.0.0' }));
  assert.throws(() => requirePeer(folder), missing);
});

test('a run without the package ends before anything is built', {
  skip: installed && 'it is installed',
}, async (t) => {
  const home = new Home();
  t.after(() => home.remove());
  const result = await home.run('run', 'peer-llama-cpp', '--out', 'run');
  assert.equal(result.exitCode, 15);
  assert.match(result.stderr, /node-llama-cpp@3\.21\.1 is not installed[\s\S]*npm ci --ignore-scripts/);
});

const spec = (changes: Partial<LaunchSpec>): LaunchSpec => ({
  buildFolder: peerFolder,
  buildDigest: 'd'.repeat(64),
  modelPath: '/m.gguf',
  nonce: 'a nonce',
  place: { round: 0, position: 0 },
  plantedSlowdownPercent: undefined,
  inherited: inheritedVariables(),
  switches: {},
  arguments: [],
  threads: 2,
  cpus: undefined,
  contextTokens: 1024,
  readyTimeoutMs: 120_000,
  logPath: '/dev/null',
  ...changes,
});

test('the matrix decides threads and CPUs of the peer as it does of ours', () => {
  const free = peerCommand(spec({ arguments: ['--micro-batch', '256'] }));
  assert.equal(free.command, process.execPath);
  assert.match(free.arguments.join(' '), /--threads 2 --context 1024 --micro-batch 256$/);
  const pinned = peerCommand(spec({ threads: undefined, cpus: '0,2-3' }));
  assert.equal(pinned.command, 'taskset');
  assert.deepEqual(pinned.arguments.slice(0, 3), ['--cpu-list', '0,2-3', process.execPath]);
  assert.match(pinned.arguments.join(' '), /--threads 3 /);
});

test('a process that has not mapped the engine is not taken for it', async () => {
  const peer = { folder: peerFolder, binariesFolder: peerFolder, files: new Map<string, string>() };
  const rest = { lockSha256: '', binarySha256: '', recipeDigest: '', versions: {} };
  await assert.rejects(examineProcess(process.pid, { ...peer, ...rest }), /has not mapped llama-addon\.node/);
});

test('the peer answers cold, reuses where it may, names likely ids, and is what was read', {
  skip: !installed && 'it is not installed',
  timeout: 600_000,
}, async (t) => {
  const folder = await scratchFolder(t);
  const model = await cachedModel({ preset: 'unit', experts: 'q4_0', seed: 1, roundTrips: false });
  const engine = new NodeLlamaCppEngine(new EvidenceFolder(folder));
  const running = await engine.launch(spec({ modelPath: model.path, logPath: join(folder, 'log') }));
  t.after(() => running.stop());
  assert.equal(running.witness.modelSha256, model.sha256);
  assert.equal(running.witness.threads, 2);
  assert.equal(running.witness.nonce, 'a nonce');
  let count = 0;
  const ask = (changes: Partial<CompletionRequest>) =>
    running.complete({
      tokens: Array.from({ length: 100 }, (_, index) => (index * 37 + 11) % 500),
      generatedTokens: 1,
      chunk: 64,
      reuseCache: false,
      probabilities: 0,
      timeoutMs: 300_000,
      evidenceName: `request-${count++}`,
      ...changes,
    });
  const first = await ask({ reuseCache: true });
  const second = await ask({ reuseCache: true });
  assert.deepEqual([first.cacheN, first.promptN], [0, 100]);
  assert.deepEqual([second.cacheN, second.promptN], [99, 1]);
  const cold = await ask({ generatedTokens: 4, probabilities: 5 });
  assert.deepEqual([cold.cacheN, cold.promptN, cold.predictedN], [0, 100, 4]);
  assert.deepEqual(
    cold.probabilities?.map((likely) => likely[0]?.[0]),
    cold.tokens,
  );
  assert.equal(cold.tokens[0], second.tokens[0]);
  const again = await ask({ generatedTokens: 4 });
  assert.deepEqual(again.tokens, cold.tokens);
  const refused = await fetch(`http://127.0.0.1:${running.port}/completion`, {
    method: 'POST',
    body: JSON.stringify({ prompt: [1], n_predict: 1, ignore_eos: true, top_k: 5 }),
  });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /top_k: not supported here/);
  const { files, ...peer } = await readPeer();
  const swapped = new Map([...files].map(([path]): [string, string] => [path, 'f'.repeat(64)]));
  await assert.rejects(examineProcess(running.pid, { ...peer, files: swapped }), /has changed/);
  await assert.rejects(examineProcess(running.pid, { ...peer, files: new Map() }), /it has mapped /);
});
