/** Planted faults in the real engine: what they do, what a run makes of them, and how prompts are graded by them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdtempSync, openSync, readdirSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { z } from 'zod';
import { EmbeddedEngine } from '../../src/engine/adapters/embedded.js';
import type { RunningEngine } from '../../src/engine/engine.js';
import { inheritedVariables } from '../../src/engine/launch.js';
import { cachedModel } from '../../src/engine/model-cache.js';
import { EvidenceFolder } from '../../src/journal/evidence.js';
import { loadMatrix } from '../../src/matrix/load.js';
import { plantedFaults } from '../../src/plan/planted-faults.js';
import { embeddedBuild } from '../../src/revision/build-cache.js';
import { verdictSchema } from '../../src/verdict/schema.js';
import { runCli } from '../fixtures/cli.js';
import { removeFolder } from '../support/folder.js';
import { scratchRoot } from '../support/scratch-root.js';

const folder = mkdtempSync(join(scratchRoot, 'qualify-oracle-test-'));
after(() => removeFolder(folder));

const environment = { QUALIFY_LOCK: `test ${folder}`, TMPDIR: folder, NO_COLOR: '1' };
const run = (...args: string[]) => runCli(args, environment);

const matrixFile = (name: string, changes: Record<string, unknown>): string => {
  const path = join(folder, `${name}.yaml`);
  const cells = [{ promptTokens: 300, chunk: 128 }];
  const matrix = { schemaVersion: 1, name, title: name, model: { preset: 'unit' }, cells, ...changes };
  writeFileSync(path, JSON.stringify({ arms: { base: {}, head: {} }, ...matrix }));
  return path;
};

const gradeSchema = z.object({
  exitCode: z.int(),
  grade: z.string(),
  level: z.string(),
  faults: z.record(z.string(), z.string()),
  cells: z.array(
    z.object({
      cell: z.string(),
      grade: z.string(),
      room: z
        .object({
          arms: z.record(z.string(), z.number().nullable()),
          faults: z.record(z.string(), z.number().nullable()),
        })
        .optional(),
    }),
  ),
  findings: z.array(z.object({ code: z.string(), message: z.string() })),
});

const ids = Array.from({ length: 200 }, (_, i) => (i * i * 31 + 7 * i) % 512);

async function launch(name: string, modelPath: string, args: string[] = []): Promise<RunningEngine> {
  const build = await embeddedBuild();
  const evidence = new EvidenceFolder(join(folder, name));
  return new EmbeddedEngine(evidence).launch({
    buildFolder: build.folder,
    buildDigest: build.buildDigest,
    modelPath,
    nonce: randomUUID(),
    place: { round: 0, position: 0 },
    plantedSlowdownPercent: undefined,
    inherited: inheritedVariables(),
    switches: {},
    arguments: args,
    threads: 2,
    cpus: undefined,
    contextTokens: 256,
    readyTimeoutMs: 60_000,
    logPath: evidence.pathOf('engine.log'),
  });
}

const ask = (running: RunningEngine) =>
  running.complete({
    tokens: ids,
    generatedTokens: 4,
    chunk: 64,
    reuseCache: false,
    probabilities: 0,
    timeoutMs: 60_000,
    evidenceName: 'one',
  });

const unit = () => cachedModel({ preset: 'unit', experts: 'rocmfp2', seed: 1, roundTrips: true });

describe('a planted fault', () => {
  test('is told, strikes, is counted and changes the logits; a healthy engine has none', async () => {
    const { path } = await unit();
    const healthy = await launch('healthy', path);
    const logits = new Set<string | null>();
    try {
      logits.add((await ask(healthy)).logitsSha256);
      assert.equal(healthy.witness.plantedFault, 'none');
      assert.equal('fault.struck' in (await healthy.counters()).counters, false);
    } finally {
      await healthy.stop();
    }
    for (const fault of plantedFaults) {
      const spoilt = await launch(fault, path, ['--plant-fault', fault]);
      try {
        logits.add((await ask(spoilt)).logitsSha256);
        assert.equal(spoilt.witness.plantedFault, fault);
        assert.ok(((await spoilt.counters()).counters['fault.struck'] ?? 0) > 0, fault);
      } finally {
        await spoilt.stop();
      }
    }
    assert.equal(logits.size, 1 + plantedFaults.length);
  });

  test('that does not exist is refused by its name', async () => {
    const { path } = await unit();
    await assert.rejects(
      launch('unknown', path, ['--plant-fault', 'half']),
      /--plant-fault: .*dropped-route/,
    );
  });

  test('makes a run unmatched, even where both arms have the same', async () => {
    const planted = { arguments: ['--plant-fault', 'dropped-route'] };
    const protocol = { warmups: 0, samples: 1, clock: 'cpu' };
    for (const [name, arms, result, code] of [
      ['both', { base: planted, head: planted }, 'unmatched', 14],
      // Outputs that differ are the worse of two refusals.
      ['head', { base: {}, head: planted }, 'parity-failed', 13],
    ] as const) {
      const matrix = matrixFile(`planted-${name}`, { arms, protocol });
      const out = join(folder, `run-${name}`);
      const { exitCode, stdout } = await run('run', matrix, '--rounds', '1', '--json', '--out', out);
      const verdict = verdictSchema.parse(JSON.parse(stdout));
      assert.equal(verdict.result, result);
      assert.equal(exitCode, code);
      const reasons = verdict.cells[0]?.comparisons[0]?.reasons ?? [];
      assert.ok(reasons.some(({ code }) => code === 'fault-planted'));
      assert.equal((await run('verify', out)).exitCode, 0);
    }
  });
});

describe('logits that are no numbers', () => {
  test('are counted in the answer; a healthy model has none', async () => {
    const { path } = await unit();
    const healthy = await launch('finite', path);
    try {
      assert.equal((await ask(healthy)).nonFiniteLogits, 0);
    } finally {
      await healthy.stop();
    }
    const spoilt = join(folder, 'nan.gguf');
    copyFileSync(path, spoilt);
    const described = z
      .object({ tensors: z.array(z.object({ name: z.string(), offsetBytes: z.int() })) })
      .parse(JSON.parse((await run('model', 'inspect', spoilt, '--json')).stdout));
    const norm = described.tensors.find(({ name }) => name === 'output_norm.weight');
    assert.ok(norm !== undefined);
    writeSync(
      openSync(spoilt, 'r+'),
      Buffer.from(Float32Array.of(Number.NaN).buffer),
      0,
      4,
      norm.offsetBytes,
    );
    const running = await launch('nan', spoilt);
    try {
      const answer = await ask(running);
      assert.equal(answer.tokens.length, 4);
      assert.ok((answer.nonFiniteLogits ?? 0) > 0);
    } finally {
      await running.stop();
    }
  });
});

describe('qualify oracle', () => {
  test('finds that the outputs of smoke would have shown every fault', async () => {
    const { exitCode, stdout, stderr } = await run('oracle', 'smoke', '--seed', 'a', '--json');
    const graded = gradeSchema.parse(JSON.parse(stdout));
    assert.equal(exitCode, 0, stderr);
    assert.deepEqual([graded.grade, graded.level, graded.findings], ['strong', 'exact', []]);
    for (const fault of plantedFaults) assert.equal(graded.faults[fault], 'caught', fault);
    assert.equal(graded.cells.length, 2);
    assert.deepEqual(
      readdirSync(folder).filter((name) => /^qualify-(oracle|launch)-(?!test)/.test(name)),
      [],
    );
  });

  test('exits 13 where tokens alone do not show a fault, and names cell, fault and remedy', async () => {
    const matrix = matrixFile('by-tokens', { protocol: { parity: 'tokens', minimumOutputTokens: 4 } });
    const { exitCode, stdout } = await run('oracle', matrix, '--seed', 'b');
    assert.equal(exitCode, 13);
    const text = stdout.replaceAll(/\s+/g, ' ');
    assert.match(text, /cell 300\/128 does not see fault [a-z-]+ \(.*\): it struck, and parity tokens held/);
    assert.match(text, /more generated tokens or more prompts, or parity exact/);
  });

  describe('of fast-exp', () => {
    test('finds that its limits catch every fault, with room on both sides', async () => {
      const { stdout, stderr } = await run('oracle', 'fast-exp', '--seed', 'c', '--json');
      assert.notEqual(stdout, '', stderr);
      const { exitCode, grade, level, faults, findings, cells } = gradeSchema.parse(JSON.parse(stdout));
      assert.deepEqual([exitCode, grade, level, findings], [0, 'strong', 'bounded', []]);
      for (const fault of plantedFaults) assert.equal(faults[fault], 'caught', fault);
      assert.equal(cells.length, 2);
      for (const { cell, room } of cells) {
        assert.ok(room !== undefined);
        assert.deepEqual(Object.keys(room.arms), ['head']);
        // The fast exponential rounds otherwise (0 would say that the switch did nothing), and takes a third of the limits at most.
        const head = room.arms.head ?? Number.NaN;
        assert.ok(head > 0 && head < 1 / 3, `${cell}: ${head}`);
        for (const fault of plantedFaults) {
          const times = room.faults[fault] ?? Number.NaN;
          assert.ok(times > 2, `${cell}, ${fault}: ${times}`);
        }
      }
    });

    test('finds that the fast exponential itself is beyond those limits where activations are rounded to int8', async () => {
      const { protocol, arms } = loadMatrix('fast-exp').matrix;
      const cells = [{ promptTokens: 300, chunk: 128, generatedTokens: 16 }];
      const rounding = matrixFile('rounding', { protocol, arms, cells });
      const { stdout, stderr } = await run('oracle', rounding, '--seed', 'c', '--json');
      assert.notEqual(stdout, '', stderr);
      const { exitCode, findings } = gradeSchema.parse(JSON.parse(stdout));
      assert.equal(exitCode, 13);
      assert.deepEqual(
        findings.map(({ code }) => code),
        ['healthy-beyond-limits'],
      );
    });
  });

  test('grades the prompts of a file, and says which faults do not reach them', async () => {
    const file = join(folder, 'prompts.txt');
    writeFileSync(file, 'write the integers from 1 through 1000, one integer per line\n\nand once more\n');
    const { exitCode, stdout } = await run('oracle', 'smoke', '--prompts', file, '--seed', 'a');
    assert.equal(exitCode, 0);
    assert.match(stdout, /prompt-1 .*\n.*prompt-2 /);
    assert.match(stdout, /Fault dropped-window-key strikes no prompt here/);
  });

  test('says what the engine wrote when it fails, and names no file that is gone', async () => {
    const arms = { base: { switches: { DFLASH_MOE_OWNERS: 'nonsense' } }, head: {} };
    const { exitCode, stderr } = await run('oracle', matrixFile('nonsense', { arms }));
    assert.equal(exitCode, 15, stderr);
    assert.match(stderr, /DFLASH_MOE_OWNERS="nonsense" is not understood/);
    assert.doesNotMatch(stderr, /qualify-oracle-|place named above/);
    assert.match(stderr, /next: .*qualify run/);
  });

  test('refuses a file that holds no prompts, or ids beyond the vocabulary', async () => {
    for (const [text, message] of [
      ['[]', /ERR_QUALIFY_PROMPTS_FILE/],
      ['[[1, 2.5]]', /ERR_QUALIFY_PROMPTS_FILE/],
      ['[[1, 2], [3, 512]]', /id 512 is beyond the vocabulary of 512/],
      ['\n\n', /ERR_QUALIFY_PROMPTS_FILE/],
    ] as const) {
      writeFileSync(join(folder, 'bad'), text);
      const { exitCode, stderr } = await run('oracle', 'smoke', '--prompts', join(folder, 'bad'));
      assert.equal(exitCode, 64, text);
      assert.match(stderr, message);
    }
  });
});
