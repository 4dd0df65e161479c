import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
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
  assert.match(readFileSync(home.path('a/b/comment.md'), 'utf8'), /^<!-- qualify:x -->\n\n### Prefill: FAIL/);
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
});
