/** `qualify calibrate` on fake engines: sessions of equal arms, a planted slowdown, what is kept, and what the doctor says. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { type SessionRecord, sessionRecordSchema } from '../../src/analysis/calibration.js';
import { eventually } from '../support/eventually.js';
import { type Home, newHome } from '../support/run-cli.js';

const quiet = { FAKE_NOISE_PERCENT: '0.2' };

const kept = (home: Home): SessionRecord[] => {
  const text = readFileSync(home.path('config', 'qualify', 'calibration.json'), 'utf8');
  return z.object({ sessions: z.array(sessionRecordSchema) }).parse(JSON.parse(text)).sessions;
};

const doctorSays = async (home: Home): Promise<{ status: string; found: string; remedy: string | null }> => {
  const { stdout } = await home.run('doctor', '--json');
  const { findings } = JSON.parse(stdout);
  return findings.find(({ check }: { check: string }) => check === 'calibration');
};

describe('qualify calibrate', () => {
  test('runs equal arms and a planted slowdown, keeps what it found, and the doctor reads it', async (t) => {
    const home = newHome(t);
    assert.match((await doctorSays(home)).remedy ?? '', /qualify calibrate/);
    const matrix = home.fakeMatrix({ base: quiet });
    const result = await home.run('calibrate', '--matrix', matrix, '--sessions', '1', '--seed', 'a seed');
    assert.equal(result.exitCode, 0, result.stderr + result.stdout);
    const records = kept(home);
    assert.deepEqual(
      records.map(({ plantedPercent, result: verdict }) => [plantedPercent, verdict]),
      [
        [null, 'pass'],
        [3, 'fail'],
      ],
    );
    for (const { runFolder, cells } of records) {
      assert.equal((await home.run('verify', runFolder)).exitCode, 0);
      assert.equal(cells[0]?.rounds.length, 6);
      assert.equal(cells[0]?.rounds.filter(({ armSecond }) => armSecond).length, 3);
    }
    for (const text of [
      /0 of 1 equal cells called a fail/,
      /slowdown of 3 %: found/,
      /SD of the log ratio/,
      /9 times in 10/,
    ])
      assert.match(result.stdout.replaceAll(/\s+/g, ' '), text);
    assert.deepEqual(
      result.stdout.split('\n').filter((line) => line.length > 80 && !line.includes('/')),
      [],
    );
    const doctor = await doctorSays(home);
    assert.equal(doctor.status, 'ok', JSON.stringify(doctor));
    assert.match(
      doctor.found,
      /^1 session by CPU time, SD of a round .* %, smallest margin .* % by 6 rounds/,
    );
    assert.deepEqual(readdirSync(home.path('config', 'qualify')).sort(), ['calibration.json', 'keys']);
  });

  test('ends with 10 when the planted slowdown is not found, and the doctor warns', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({ base: { FAKE_FAULT: 'feigned-slowdown' } });
    const result = await home.run('calibrate', '--matrix', matrix, '--sessions', '1');
    assert.equal(result.exitCode, 10, result.stderr);
    assert.match(result.stdout, /NOT FOUND/);
    const doctor = await doctorSays(home);
    assert.equal(doctor.status, 'warn');
    assert.match(doctor.found, /planted slowdown of 3 % was not found/);
  });

  test('ends with the code of a session that proved nothing', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({ base: { FAKE_FAULT: 'dead-cache-field' } });
    const result = await home.run('calibrate', '--matrix', matrix, '--sessions', '1');
    assert.equal(result.exitCode, 14, result.stderr);
    assert.match(result.stdout, /1 more without all proofs/);
    assert.equal(kept(home)[0]?.cells[0]?.rounds.length, 0);
  });

  test('refuses a slowdown that the margin allows, odd rounds, and a calibration that cannot be read', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix();
    const base = ['calibrate', '--matrix', matrix];
    const within = await home.run(...base, '--plant-slowdown', '2%', '--margin', '2%');
    assert.equal(within.exitCode, 64);
    assert.match(within.stderr, /1\.96 % slower, which a margin of 2 % allows/);
    for (const rounds of ['4', '7']) assert.equal((await home.run(...base, '--rounds', rounds)).exitCode, 64);
    assert.equal(existsSync(home.path('.qualify')), false);
    await home.run('keys', 'generate');
    writeFileSync(home.path('config', 'qualify', 'calibration.json'), '{"schemaVersion":2}');
    const broken = await home.run(...base);
    assert.equal(broken.exitCode, 15, broken.stderr);
    assert.match(broken.stderr, /Move the file away[\s\S]*ERR_QUALIFY_CALIBRATION/);
    assert.equal((await doctorSays(home)).status, 'warn');
  });

  test('keeps nothing of a session that is interrupted, and stops', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({ base: { FAKE_FAULT: 'hang:3' } });
    const { child, finished } = home.start(['calibrate', '--matrix', matrix]);
    const runs = home.path('.qualify', 'runs');
    const journals = (): string[] =>
      existsSync(runs) ? readdirSync(runs).map((name) => join(runs, name, 'journal.jsonl')) : [];
    const isUp = (path: string): boolean =>
      existsSync(path) && readFileSync(path, 'utf8').includes('"kind":"ready"');
    await eventually(() => journals().some(isUp) || child.exitCode !== null, 'an engine is ready');
    child.kill('SIGINT');
    const { exitCode, stderr } = await finished;
    assert.equal(exitCode, 12, stderr);
    assert.equal(readdirSync(runs).length, 1);
    assert.equal(existsSync(home.path('config', 'qualify', 'calibration.json')), false);
  });
});
