/** `qualify waive` as it is called, and what a gate makes of its waivers: a run of this change loses a cell. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadKey } from '../../src/manifest/key-store.js';
import { empty, gate, home, inRepository, losing, site } from '../fixtures/gate-commands.js';
import { trusted } from '../fixtures/gate-site.js';
import type { CliResult } from '../support/run-cli.js';

// The maintainer is a key of this home, and the change a second one.
await home.run('keys', 'generate');
const own = await loadKey('default', home.path('config', 'qualify', 'keys'));
site.repository.git('checkout', '--quiet', 'main');
site.writeRules({}, [trusted(site.observer, 'observer'), trusted(own, 'maintainer')]);
site.base = site.repository.commit('the maintainer of this home');
site.repository.git('checkout', '--quiet', '-b', 'change-2');
site.head = site.change('two');
await site.run('2026/losing', losing);

test('a cell that fails is waived by a maintainer, and says so first', async () => {
  // The folder is not there yet.
  const waivers = home.path('signed', 'deep');
  const path = join(waivers, 'slow.waiver.json');
  const waive = (...more: string[]): Promise<CliResult> =>
    inRepository(
      ...['waive', '--head', site.head, '--matrix', 'fixture', '--cell', '96/32', '--out', path],
      ...more,
    );
  const terms = ['--reason', 'until the next one lands', '--expires', '14d'];
  const first = await waive(...terms);
  assert.equal(first.exitCode, 0, first.stderr);
  assert.equal((await waive(...terms)).exitCode, 64, 'a waiver is not replaced');
  assert.deepEqual(readdirSync(waivers), ['slow.waiver.json']);
  const nowhere = await waive(...terms, '--out', '/proc/nowhere/a.waiver.json');
  assert.equal(nowhere.exitCode, 15, nowhere.stderr);
  assert.match(nowhere.stderr, /ERR_QUALIFY_UNWRITABLE/);
  const { exitCode, stdout } = await gate('--waivers', waivers);
  assert.equal(exitCode, 0);
  assert.match(stdout, /^WAIVED \(exit 0\)/);
  assert.match(stdout, /until the next one lands/);
});

test('a waiver that no gate could use is not signed, with what would be used', async () => {
  const out = home.path('refused', 'a.waiver.json');
  const terms = { head: site.head, matrix: 'fixture', cell: '96/32', reason: 'why', expires: '14d', out };
  const waive = (change: Partial<Record<keyof typeof terms | 'base' | 'policy' | 'key', string>>) =>
    inRepository(
      'waive',
      ...Object.entries({ ...terms, ...change }).flatMap(([name, value]) => [`--${name}`, value]),
    );
  await home.run('keys', 'generate', 'nobody');
  const refused: [change: Parameters<typeof waive>[0], code: string, text: RegExp][] = [
    [
      { matrix: 'fixtur' },
      'ERR_QUALIFY_WAIVER',
      /requires no matrix "fixtur"[\s\S]*qualify\.policy\.yaml of main[\s\S]*Did you mean "fixture"\?/,
    ],
    [{ matrix: 'other' }, 'ERR_QUALIFY_WAIVER', /It requires: fixture\n/],
    [
      { cell: '96/33' },
      'ERR_QUALIFY_WAIVER',
      /protects no cell "96\/33" of fixture[\s\S]*Did you mean "96\/32"\?/,
    ],
    [{ cell: 'all' }, 'ERR_QUALIFY_WAIVER', /It protects: 64\/32, 96\/32\n/],
    [
      { key: 'nobody' },
      'ERR_QUALIFY_WAIVER',
      /\(unknown-key\)[\s\S]*qualify keys add KEY\.pub --role maintainer/,
    ],
    [{ reason: ' \u200b ' }, '--reason', /Say why/],
    [{ expires: '367d' }, '--expires', /up to 366d/],
    [{ head: 'nowhere' }, 'ERR_QUALIFY_REVISION', /no commit "nowhere"/],
    [{ policy: 'other.yaml' }, 'ERR_QUALIFY_POLICY', /is not there/],
    [{ base: 'nowhere' }, 'ERR_QUALIFY_REVISION', /no commit "nowhere"/],
  ];
  for (const [change, code, text] of refused) {
    const { exitCode, stderr } = await waive(change);
    assert.equal(exitCode, 64, stderr);
    assert.ok(stderr.includes(code), stderr);
    assert.match(stderr, text);
  }
  assert.equal(existsSync(home.path('refused')), false);
  // A short name is resolved, and the commit is said with its subject.
  const { stdout, stderr } = await waive({ head: site.head.slice(0, 10) });
  assert.ok(stdout.includes(` at ${site.head} (two), until `), stdout);
  assert.equal(stderr, '');
});

test('where there is no policy a waiver is signed unchecked, and that is said', async () => {
  const { repository } = site;
  repository.git('branch', '--move', 'main', 'trunk');
  const waived = await inRepository(
    ...['waive', '--head', site.head, '--matrix', 'any', '--cell', 'any', '--reason', 'why'],
    ...['--expires', '1d', '--out', home.path('unchecked.waiver.json')],
  );
  repository.git('branch', '--move', 'trunk', 'main');
  assert.equal(waived.exitCode, 0, waived.stderr);
  assert.match(waived.stderr, /^Not checked: /);
});

test('a waiver, trust and rules that are committed to main leave the run as new as it was', async () => {
  const { repository } = site;
  const before = repository.git('rev-parse', 'main');
  repository.git('checkout', '--quiet', 'main');
  repository.write(
    'waivers/slow.waiver.json',
    readFileSync(home.path('signed/deep/slow.waiver.json'), 'utf8'),
  );
  const trust = readFileSync(join(repository.folder, 'qualify.trust.json'), 'utf8');
  repository.write('qualify.trust.json', `${trust}\n`);
  repository.commit('waived');
  const waived = await gate();
  assert.equal(waived.exitCode, 0, waived.stdout);
  assert.match(waived.stdout, /^WAIVED/);
  repository.write('matrices/other.yaml', 'not what decides who may speak\n');
  repository.commit('something else');
  assert.equal((await gate()).exitCode, 12, 'now it is behind');
  repository.git('reset', '--quiet', '--hard', before);
});

test('a changed byte of a waiver makes it none', async () => {
  const waivers = empty('forged');
  const path = await site.waive('96/32');
  const envelope = JSON.parse(readFileSync(path, 'utf8')) as { payload: string };
  const payload = Buffer.from(envelope.payload, 'base64')
    .toString('utf8')
    .replace('2026-12-10', '2036-12-10');
  envelope.payload = Buffer.from(payload).toString('base64');
  writeFileSync(join(waivers, 'forged.waiver.json'), `${JSON.stringify(envelope)}\n`);
  const { exitCode, stdout } = await gate('--waivers', waivers);
  assert.equal(exitCode, 10);
  assert.match(stdout, /\[not-verified\]/);
});
