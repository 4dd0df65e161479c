import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gateDecisionSchema } from '../../src/gate/decision.js';
import { renderGithub } from '../../src/gate/github/render.js';
import { packRun } from '../../src/manifest/pack.js';
import { GateSite } from '../fixtures/gate-site.js';
import { makeDecision } from '../fixtures/github-decision.js';
import { Home } from '../support/run-cli.js';

const home = new Home();
after(() => home.remove());

test('`qualify github` writes five files of a decision and says which', async () => {
  writeFileSync(home.path('decision.json'), JSON.stringify(makeDecision('fail')));
  const args = ['github', '--decision', 'decision.json', '--out', 'a/b'];
  const done = await home.run(...args, '--run-url', 'https://github.com/o/r/actions/runs/1', '--id', 'x');
  assert.deepEqual([done.exitCode, done.stderr], [0, '']);
  const names = ['annotations.txt', 'check-run.json', 'comment.md', 'outputs.txt', 'summary.md'];
  assert.deepEqual(
    done.stdout.trimEnd().split('\n').toSorted(),
    names.map((name) => `a/b/${name}`),
  );
  assert.deepEqual(readdirSync(home.path('a/b')).toSorted(), names);
  assert.match(readFileSync(home.path('a/b/comment.md'), 'utf8'), /^<!-- qualify:x -->\n\n### FAIL: /);
  const again = await home.run(...args, '--json');
  assert.equal(JSON.parse(again.stdout).files.length, 5);
  assert.match(readFileSync(home.path('a/b/comment.md'), 'utf8'), /^<!-- qualify:qualify\.policy\.yaml -->/);
});

test('what is no decision, no address or no folder is named with the remedy, and nothing is written', async () => {
  const { result: _, ...rest } = makeDecision('pass');
  for (const [name, text] of [
    ['part.json', JSON.stringify(rest)],
    ['twice.json', '{"a":1,"a":2}'],
    ['text.json', 'pass'],
  ] as const) {
    writeFileSync(home.path(name), text);
    const done = await home.run('github', '--decision', name, '--out', 'none');
    assert.equal(done.exitCode, 64, name);
    assert.match(done.stderr, /ERR_QUALIFY_DECISION/);
  }
  assert.equal((await home.run('github', '--decision', 'absent.json', '--out', 'none')).exitCode, 64);
  writeFileSync(home.path('good.json'), JSON.stringify(makeDecision('pass')));
  const evil = ['--run-url', 'https://x/) [PASS](https://y'];
  assert.equal((await home.run('github', '--decision', 'good.json', '--out', 'none', ...evil)).exitCode, 64);
  assert.ok(!readdirSync(home.folder).includes('none'));
  writeFileSync(home.path('file'), '');
  mkdirSync(home.path('taken/summary.md'), { recursive: true });
  for (const out of ['file/x', 'taken']) {
    const done = await home.run('github', '--decision', 'good.json', '--out', out);
    assert.equal(done.exitCode, 15, done.stderr);
    assert.match(done.stderr, /ERR_QUALIFY_GITHUB_FOLDER/);
  }
  assert.deepEqual(readdirSync(home.path('taken')), ['summary.md']);
  mkdirSync(home.path('planted'));
  for (const name of ['summary.md', 'summary.md.partial'])
    symlinkSync(home.path('file'), home.path('planted', name));
  const done = await home.run('github', '--decision', 'good.json', '--out', 'planted');
  assert.equal(done.exitCode, 0, done.stderr);
  assert.equal(readFileSync(home.path('file'), 'utf8'), '', 'a link is replaced, not followed');
});

test('decisions on real runs read as what they are: mixed, waived, missing', async () => {
  const folder = home.path('site');
  mkdirSync(folder);
  const site = await GateSite.make(folder, { cells: [401, 2048] });
  const shown = async (): Promise<string[]> => {
    const files = renderGithub(await site.gate());
    return [JSON.parse(files['check-run.json']).conclusion, files['comment.md'], files['annotations.txt']];
  };
  const [none, empty = ''] = await shown();
  assert.equal(none, 'action_required');
  assert.match(empty, /MISSING: no run counts for this head/);
  await site.run('mixed', { headShare: (tokens) => (tokens === 401 ? 1 / 1.89 : 1.1) });
  const [failed, text = '', lines = ''] = await shown();
  assert.equal(failed, 'failure');
  const rows = text.split('\n').filter((line) => /^\| (\*\*|pass)/.test(line));
  assert.deepEqual(
    rows.map((row) => /-9\.\d+ %|\+89\.\d %/.exec(row)?.[0].slice(0, 3)),
    ['-9.', '+89'],
    text,
  );
  assert.match(lines, /^::error title=FAIL%3A fixture on any::2048-token prefill/m);
  site.waive('2048/32', { reason: 'slower | until <b>#647</b> lands' });
  const [waived, excused = ''] = await shown();
  assert.equal(waived, 'neutral');
  assert.match(excused, /WAIVED: not passed; a maintainer let it through \(1 of 2 protected cells\)/);
  assert.match(excused, /slower \\\| until &lt;b&gt;&#35;<!-- -->647&lt;\/b&gt; lands/);
});

test('a gate takes packed runs, and calls an archive invalid that is none', async () => {
  const folder = home.path('site-3');
  mkdirSync(folder);
  const site = await GateSite.make(folder, { cells: [401] });
  const offered = home.path('offered');
  mkdirSync(offered);
  const gate = () => site.gate({ manifests: [offered] });
  assert.equal((await gate()).result, 'missing');
  await packRun(await site.run('good'), { out: join(offered, 'qualification.tar') });
  const decision = await gate();
  assert.deepEqual([decision.result, decision.evidence.length], ['pass', 1]);
  assert.match(renderGithub(decision)['comment.md'], /`qualify verify qualification\.tar --trust/);
  const bytes = readFileSync(join(offered, 'qualification.tar'));
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
  writeFileSync(join(offered, 'qualification.tar'), bytes);
  assert.equal((await gate()).result, 'invalid');
});

test('`qualify gate --github` writes the same files', async () => {
  const folder = home.path('site-2');
  mkdirSync(folder);
  const site = await GateSite.make(folder, { cells: [401] });
  const args = ['gate', '--head', site.head, '--base', site.base, '--json', '--github', home.path('shown')];
  const { exitCode, stdout } = await home.start(args, { cwd: site.repository.folder }).finished;
  assert.equal(exitCode, 12);
  const files = renderGithub(gateDecisionSchema.parse(JSON.parse(stdout)));
  for (const [name, text] of Object.entries<string>({ ...files }))
    assert.equal(readFileSync(home.path('shown', name), 'utf8'), text, name);
});
