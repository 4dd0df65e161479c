import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createFullProgram } from '../../../src/cli/main.js';
import { renderManPage } from '../../../src/cli/man-page.js';
import { builtInNames } from '../../../src/matrix/built-in.js';
import { removeFolder } from '../../support/folder.js';
import { scratchRoot } from '../../support/scratch-root.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const folder = mkdtempSync(join(scratchRoot, 'completion-'));
after(() => removeFolder(folder));

const qualify = (...args: string[]): string =>
  execFileSync(process.execPath, [join(root, 'bin/qualify.js'), ...args], { cwd: folder, encoding: 'utf8' });

/** What is offered for the last word. */
const offered = (...words: string[]): string[] =>
  qualify('complete', '--', ...words)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(':'))
    .map((line) => line.split('\t')[0] ?? '');

describe('completion', () => {
  test('offers commands, their options and the values of these', () => {
    assert.deepEqual(offered('verif'), ['verify']);
    assert.ok(offered('run', 'smoke', '--').includes('--rounds'));
    assert.ok(offered('report', 'x', '--format', '').includes('llama-bench-sql'));
  });

  test('offers matrices where a matrix is wanted', () => {
    assert.deepEqual(offered('run', ''), builtInNames());
    assert.ok(offered('pr', '--matrix', '').includes('prefill-short'));
  });

  test('offers the sessions of the folder where a run is wanted, and nothing where there are none', () => {
    assert.deepEqual(offered('verify', ''), []);
    mkdirSync(join(folder, '.qualify', 'runs', '20261130-120000-abcdef'), { recursive: true });
    // bash would expand what it is offered: what no session can be called is not.
    for (const name of [
      '$(touch$IFS"pwn")',
      '`touch pwn`',
      '-rf',
      'a b cdefgh',
      'abcdefg\nh',
      '20261130-120000-abcdef\n',
    ])
      mkdirSync(join(folder, '.qualify', 'runs', name));
    assert.deepEqual(offered('verify', ''), ['20261130-120000-abcdef']);
  });

  test('works in bash, without any package, and runs nothing that was typed', () => {
    const script = join(folder, 'qualify.bash');
    writeFileSync(script, qualify('completion', 'bash'));
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    const started = `#!/bin/sh\nexec ${process.execPath} ${join(root, 'bin/qualify.js')} "$@"\n`;
    writeFileSync(join(bin, 'qualify'), started, { mode: 0o755 });
    const complete = (...words: string[]): string[] => {
      const quoted = words.map((word) => `'${word}'`).join(' ');
      const ask = `source ${script}; source ${script}; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}
        _qualify_complete && printf '%s\\n' "\${COMPREPLY[@]}"`;
      const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
      const reply = execFileSync('bash', ['--norc', '-ec', ask], { cwd: folder, encoding: 'utf8', env });
      return reply.split('\n').filter((line) => line !== '');
    };
    assert.deepEqual(complete('qualify', 'kern'), ['kernels']);
    assert.ok(complete('qualify', 'pr', '--matrix', '').includes('prefill-short'));
    complete('qualify', 'report', '$(touch pwned)', '--form');
    complete('qualify', 'report', '; touch pwned;', '> pwned', '');
    assert.ok(!existsSync(join(folder, 'pwned')));
  });
});

describe('the manual page', () => {
  test('is what npm run man writes, with every command in it', async () => {
    const page = renderManPage(await createFullProgram());
    assert.equal(readFileSync(join(root, 'docs/qualify.1'), 'utf8'), page, 'run: npm run man');
    for (const name of ['run', 'verify', 'model quantize'])
      assert.match(page, new RegExp(`^\\.SS ${name} `, 'm'));
    assert.match(page, /^\\fB64\\fR$/m);
  });

  test('holds only requests that man has', async () => {
    const requests = renderManPage(await createFullProgram()).match(/^\.[A-Za-z]+/gm) ?? [];
    assert.deepEqual([...new Set(requests)].toSorted(), [
      '.B',
      '.I',
      '.PP',
      '.SH',
      '.SS',
      '.TH',
      '.TP',
      '.fi',
      '.in',
      '.nf',
    ]);
  });

  test('shows nothing as it is that is wider than 80 columns with its indent', async () => {
    const page = renderManPage(await createFullProgram());
    const blocks = [...page.matchAll(/^\.nf\n\.in (\d+)n\n(.*?)\n\.in$/gms)];
    assert.ok(blocks.length > 10 && blocks.length === page.match(/^\.nf$/gm)?.length);
    for (const [, indent, kept = ''] of blocks)
      for (const line of kept
        .replaceAll('\\-', '-')
        .replaceAll('\\&', '')
        .replaceAll('\\e', '\\')
        .split('\n'))
        assert.ok(Number(indent) + line.length <= 80, line);
  });
});
