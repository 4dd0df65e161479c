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
import { shellPath, shellWord } from '../../src/shell-word.js';
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

test('a path that begins like an option is a path to the command that takes it', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'qualify-shell-'));
  t.after(() => removeFolder(folder));
  for (const path of ['-R3', '--help', '-it is mine', 'plain', '/', '../']) {
    if (!/[/]/.test(path)) mkdirSync(join(folder, path));
    const command = `ls -d ${shellPath(path)}`;
    const listed = execFileSync('/bin/sh', ['-c', command], { cwd: folder, encoding: 'utf8' });
    assert.equal(listed, `${path.startsWith('-') ? './' : ''}${path}\n`, command);
  }
  assert.equal(shellPath('.qualify/runs/one'), '.qualify/runs/one');
});

/** What somebody is told to do who takes a folder for a finished run. */
const hintOf = (folder: string): Promise<string | undefined> =>
  requireFinishedRun(folder).then(
    () => undefined,
    ({ hint }: QualifyError) => hint,
  );

test('commands that are told name paths as one word', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'qualify-shell-'));
  t.after(() => removeFolder(folder));
  const run = join(folder, "nightly run; it's mine");
  mkdirSync(run);
  writeFileSync(join(run, 'plan.json'), '{}');
  const ended = join(folder, 'ended', "nightly run; it's mine");
  mkdirSync(ended, { recursive: true });
  writeFileSync(join(ended, 'verdict.json'), '{}');
  const plan = { session: 's' } as Plan;
  const told = [
    verifyCommand({ plan, entries: [], runFolder: run } as unknown as Parameters<typeof verifyCommand>[0]),
    untrusted('unknown-key', '', run).hint,
    untrusted('wrong-role', '', run).hint,
    await hintOf(run),
    await hintOf(ended),
  ];
  for (const text of told) {
    // To the end of the line: nothing may stick to what people paste.
    const command = /qualify (?:verify|resume|keys add) .*$/.exec(text ?? '')?.[0] ?? '';
    assert.ok([run, ended].includes(argumentsOf(command).at(-1) ?? ''), text);
  }
});
