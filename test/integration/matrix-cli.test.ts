import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { generateKey } from '../../src/manifest/key-store.js';
import { seal } from '../../src/manifest/seal.js';
import { planSchema } from '../../src/plan/schema.js';
import { runCli } from '../fixtures/cli.js';
import { writeRun } from '../fixtures/run-folder.js';
import { removeFolder } from '../support/folder.js';
import { scratchRoot } from '../support/scratch-root.js';

const folder = mkdtempSync(join(scratchRoot, 'qualify-matrix-'));
after(() => removeFolder(folder));

describe('qualify matrix', () => {
  test('lists what is built in', async () => {
    const { exitCode, stdout } = await runCli(['matrix', 'list']);
    assert.equal(exitCode, 0);
    assert.match(
      stdout.replaceAll(/\s+/g, ' '),
      /prefill-short Short prefill[^()]*\(401\/512, 2048\/2048; base, head\)/,
    );
    assert.match(
      stdout.replaceAll(/\s+/g, ' '),
      /peer-llama-cpp-q2_k [^()]*gross faults only \([^()]*; parity bounded\)/,
    );
    for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
    assert.match(stdout, /^smoke /m);
  });

  test('shows a matrix as it is written, and one that it showed is fine', async () => {
    const { stdout } = await runCli(['matrix', 'show', 'smoke']);
    assert.match(stdout, /^# Seconds, not minutes/);
    const resolved = await runCli(['matrix', 'show', 'smoke', '--resolved']);
    const path = join(folder, 'again.yaml');
    writeFileSync(path, resolved.stdout);
    const [first, second] = await Promise.all([
      runCli(['matrix', 'lint', 'smoke']),
      runCli(['matrix', 'lint', path]),
    ]);
    assert.equal(first.exitCode, 0);
    assert.equal(second.exitCode, 0);
    const digest = (text: string): string | undefined => /sha256 ([0-9a-f]{64})/.exec(text)?.[1];
    assert.ok(digest(first.stdout));
    assert.equal(digest(first.stdout), digest(second.stdout));
  });

  test('refuses a wrong one with 64, its line and the remedy', async () => {
    const path = join(folder, 'wrong.yaml');
    writeFileSync(path, 'schemaVersion: 1\nname: wrong\ntitle: Wrong\nmodle: { preset: unit }\n');
    const { exitCode, stdout, stderr } = await runCli(['matrix', 'lint', path]);
    assert.equal(exitCode, 64);
    assert.equal(stdout, '');
    assert.match(stderr, /wrong\.yaml:4:1: unknown key "modle": did you mean "model"\?/);
    assert.match(stderr, /ERR_QUALIFY_MATRIX_INVALID/);
  });

  test('warns of a switch that the engine lacks, which is no error, in lint and plan', async () => {
    const path = join(folder, 'misspelt.yaml');
    const { stdout } = await runCli(['matrix', 'show', 'smoke', '--resolved']);
    writeFileSync(path, stdout.replace('DFLASH_MOE_GROUPED_MMID_PREFILL', 'DFLASH_MOE_GROUPED_MIMD_PREFILL'));
    const [lint, plan] = await Promise.all([runCli(['matrix', 'lint', path]), runCli(['plan', path])]);
    assert.deepEqual([lint.exitCode, plan.exitCode], [0, 0]);
    assert.match(lint.stderr, /no switch DFLASH_MOE_GROUPED_MIMD_PREFILL: did you mean \S+_MMID_PREFILL\?/);
    assert.match(plan.stdout, /^warning +arm base: this engine has no switch/m);
  });

  test('refuses what is no file, and what is too large, without reading it', async () => {
    const path = join(folder, 'large.yaml');
    writeFileSync(path, '#'.repeat(2 ** 20 + 1));
    for (const [name, message] of [
      ['/dev/zero', /\/dev\/zero is not a regular file/],
      [path, /has 1048577 bytes; a matrix has at most 1048576/],
    ] as const) {
      const { exitCode, stderr } = await runCli(['matrix', 'lint', name]);
      assert.equal(exitCode, 64);
      assert.match(stderr, message);
    }
  });

  test('knows no other matrix', async () => {
    const { exitCode, stderr } = await runCli(['matrix', 'show', 'smoek']);
    assert.equal(exitCode, 64);
    assert.match(stderr, /did you mean "smoke"/);
  });
});

describe('qualify plan', () => {
  test('says what would run, in what order, how long and with how much disk', async () => {
    const { exitCode, stdout } = await runCli(['plan', 'prefill-short', '--seed', 'a']);
    assert.equal(exitCode, 0);
    for (const label of ['digest', 'cell', 'arm base', 'order', 'launches', 'time', 'disk']) {
      assert.match(stdout, new RegExp(`^${label} `, 'm'));
    }
    for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
  });

  test('gives the whole plan as JSON, the same for the same seed', async () => {
    const [one, two] = await Promise.all([
      runCli(['plan', 'smoke', '--seed', 'a', '--json']),
      runCli(['plan', 'smoke', '--seed', 'a', '--json', '--rounds', '6']),
    ]);
    assert.equal(one.stdout, two.stdout);
    assert.equal(planSchema.parse(JSON.parse(one.stdout).plan).rounds.length, 6);
  });

  test('says when nothing can pass with so few rounds', async () => {
    const [few, enough] = await Promise.all([
      runCli(['plan', 'smoke', '--rounds', '2']),
      runCli(['plan', 'smoke', '--rounds', '6']),
    ]);
    assert.match(few.stdout, /^warning +2 rounds: with fewer than 6 nothing can pass/m);
    assert.doesNotMatch(enough.stdout, /^warning/m);
  });

  test('refuses a number of rounds that is none', async () => {
    assert.equal((await runCli(['plan', 'smoke', '--rounds', '0'])).exitCode, 64);
  });
});

describe('qualify report', () => {
  /** A run as a session leaves it, sealed by a key that nobody knows. */
  async function sealedRun(name: string): Promise<string> {
    const run = join(folder, name);
    await writeRun(run, { rounds: 6 });
    await seal(run, await generateKey(name, join(folder, 'keys')));
    return run;
  }

  test('renders a run folder in each format', async () => {
    const run = await sealedRun('run');
    const render = (format: string) => runCli(['report', run, '--format', format]);
    const [table, markdown, json, csv] = await Promise.all(['table', 'markdown', 'json', 'csv'].map(render));
    assert.match(table?.stdout ?? '', /PASS \(exit 0\): 1 of 1 required cells pass/);
    assert.ok(table?.stdout.includes(`verify: qualify verify ${run}\n`));
    assert.match(table?.stderr ?? '', /UNKNOWN SIGNER/);
    assert.match(markdown?.stdout ?? '', /^\| 32-token prefill, chunk=32 /m);
    assert.equal(JSON.parse(json?.stdout ?? '').schemaVersion, 1);
    assert.equal(csv?.stdout.trimEnd().split('\r\n').length, 1 + 2 * 6 * 2);
    for (const result of [table, markdown, json, csv]) assert.equal(result?.exitCode, 0);
  });

  test('refuses what is no run folder, or no format', async () => {
    for (const command of ['report', 'verify']) {
      const missing = await runCli([command, folder]);
      assert.equal(missing.exitCode, 64);
      assert.match(missing.stderr, /is not a run folder.*ERR_QUALIFY_NO_RUN/s);
    }
    assert.equal((await runCli(['report', folder, '--format', 'pdf'])).exitCode, 64);
  });

  test('never renders a verdict that was edited, and names its file with 16', async () => {
    const run = await sealedRun('forged');
    const path = join(run, 'verdict.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"ratio": ', '"ratio": 1'));
    for (const format of ['table', 'markdown', 'json', 'csv']) {
      const { exitCode, stdout, stderr } = await runCli(['report', run, '--format', format]);
      assert.equal(exitCode, 16);
      assert.equal(stdout, '');
      assert.match(stderr, /verdict\.json has changed/);
    }
  });

  test('says of a run that was killed that it is not finished, with 16', async () => {
    const run = join(folder, 'killed');
    await writeRun(run);
    for (const file of ['verdict.json', 'report.md']) rmSync(join(run, file));
    for (const command of ['report', 'verify']) {
      const { exitCode, stderr } = await runCli([command, run]);
      assert.equal(exitCode, 16);
      assert.match(stderr, /is not finished: still running, or its session was killed/);
      assert.match(stderr, /ERR_QUALIFY_RUN_UNFINISHED/);
    }
  });
});
