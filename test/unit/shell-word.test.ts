/** Words of printed commands, as a real shell reads them. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { QualifyError } from '../../src/errors.js';
import { requireFinishedRun } from '../../src/manifest/run-state.js';
import { untrusted } from '../../src/manifest/untrusted.js';
import type { Plan } from '../../src/plan/schema.js';
import { verifyCommand } from '../../src/report/context.js';
import { shellWord } from '../../src/shell-word.js';
import { removeFolder } from '../support/folder.js';

/** The arguments that a shell makes of a command line, but for the first. */
const argumentsOf = (line: string): string[] =>
  execFileSync('/bin/sh', ['-c', `set -- ${line}; shift; for word; do printf '%s\\0' "$word"; done`], {
    encoding: 'utf8',
  })
    .split('\0')
    .slice(0, -1);

test('a name that every shell takes as it stands is left as it is', () => {
  for (const plain of [
    '.qualify/runs/20261130-170800-3c5226',
    'origin/main',
    'HEAD~2',
    'größe.yaml',
    '401/512',
    'a@b:c',
  ])
    assert.equal(shellWord(plain), plain);
});

test('any other is one word to a shell, and does nothing', () => {
  const odd = [
    'a b',
    "it's",
    '',
    '$(id)',
    '`id`',
    'a;id',
    '~',
    '~root/x',
    '*',
    '{a,b}',
    'a\nb',
    '\\',
    '"',
    '!x',
    '#x',
    'a&b',
    '<x',
    '=ls',
    'HEAD^',
  ];
  for (const text of odd) {
    assert.notEqual(shellWord(text), text);
    assert.deepEqual(argumentsOf(`qualify ${shellWord(text)}`), [text]);
  }
});

test('commands that are told name paths as one word', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'qualify-shell-'));
  t.after(() => removeFolder(folder));
  const run = join(folder, "nightly run; it's mine");
  mkdirSync(run);
  writeFileSync(join(run, 'plan.json'), '{}');
  const plan = { session: 's' } as Plan;
  const told = [
    verifyCommand({ plan, entries: [], runFolder: run } as unknown as Parameters<typeof verifyCommand>[0]),
    untrusted('unknown-key', '', run).hint,
    await requireFinishedRun(run).then(
      () => undefined,
      ({ hint }: QualifyError) => hint,
    ),
  ];
  for (const text of told) {
    const command = /qualify (?:verify|resume|keys add) .*?(?=\. docs|$)/.exec(text ?? '')?.[0] ?? '';
    assert.equal(argumentsOf(command).at(-1), run, text);
  }
});
