/** An index whose lines lead elsewhere or mean two things. Its author signs it, so that only its reader can refuse. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { parseIndex, readListed } from '../../src/manifest/evidence-index.js';
import { scratchFolder } from '../support/folder.js';
import { type Guard, importWithout } from './without-guard.js';

type Reader = typeof import('../../src/manifest/evidence-index.js');

const guard = (text: string, instead: string): Guard => ({
  module: 'manifest/evidence-index',
  guard: text,
  instead,
});
const placesOnly = guard('!PATH.test(path) || ', '');
/** A dot of a regular expression takes no end of a line, which alone stops some names. */
const anyCharacter = guard('{2}(.+)$/', '{2}([^]+)$/');
const inOrder = guard('if (path <= previous)', 'if (false)');
const oneCase = guard('if (folded.has(lower))', 'if (false)');
const line = (path: string, content = 'x'): string => `${sha256(content)}  ${path}\n`;

const refuses = (text: string, why: RegExp): void =>
  assert.throws(() => parseIndex(text), { exit: 'invalid', where: 'evidence.sha256', message: why });

test('a path that leaves the folder: `..`, at any place', async (context) => {
  const folder = await scratchFolder(context);
  mkdirSync(join(folder, 'run', 'evidence'), { recursive: true });
  writeFileSync(join(folder, 'secret'), 'a secret of the verifier');
  const { parseIndex: lax } = await importWithout<Reader>(context, 'manifest/evidence-index', placesOnly);
  for (const path of ['../secret', 'evidence/../../secret']) {
    const text = line(path, 'a secret of the verifier');
    const read = await readListed(join(folder, 'run'), lax(text), path);
    assert.equal(read.toString(), 'a secret of the verifier');
    refuses(text, /line 1 is not a digest, two spaces and a path of evidence/);
  }
});

test('a path that a shell, xargs, sha256sum or another system reads otherwise', async (context) => {
  const guards = [placesOnly, anyCharacter];
  const { parseIndex: lax } = await importWithout<Reader>(context, 'manifest/evidence-index', ...guards);
  for (const path of [
    ...[
      '/etc/passwd',
      'evidence/a\0.log',
      'evidence//a',
      './a',
      'evidence/.hidden',
      'evidence/',
      '-rf',
      '~/a',
    ],
    ...[
      'a b',
      "a'b",
      'a"b',
      'a\\b',
      'a\tb',
      'C:\\a',
      'a\u202eb',
      'a\u0435b',
      'a\r',
      `a/${'b'.repeat(300)}`,
      '$(id)',
    ],
  ]) {
    assert.ok(lax(line(path)).has(path), path);
    refuses(line(path), /line 1 is not a digest, two spaces and a path of evidence/);
  }
});

test('a line twice: sha256sum checks both, and a reader that keeps the last is told what it likes', async (context) => {
  const text = line('evidence/a.log', 'what was there') + line('evidence/a.log', 'what is there');
  const { parseIndex: lax } = await importWithout<Reader>(
    context,
    'manifest/evidence-index',
    inOrder,
    oneCase,
  );
  assert.equal(lax(text).get('evidence/a.log'), sha256('what is there'));
  refuses(text, /line 2 is out of order or twice there: evidence\/a\.log/);
});

test('lines out of order: the same set would have two digests', async (context) => {
  const text = line('evidence/b.log') + line('evidence/a.log');
  const { parseIndex: lax } = await importWithout<Reader>(context, 'manifest/evidence-index', inOrder);
  assert.equal(lax(text).size, 2);
  refuses(text, /line 2 is out of order/);
});

test('two paths that differ in case: where case does not count, one file is the other', async (context) => {
  const text = line('Plan.json') + line('plan.json');
  const { parseIndex: lax } = await importWithout<Reader>(context, 'manifest/evidence-index', oneCase);
  assert.equal(lax(text).size, 2);
  refuses(text, /line 2 differs from another only in case: plan\.json/);
});

test('ends of lines of Windows, which sha256sum takes for a part of the name', async (context) => {
  const text = line('evidence/a.log').replace('\n', '\r\n');
  const guards = [placesOnly, anyCharacter];
  const { parseIndex: lax } = await importWithout<Reader>(context, 'manifest/evidence-index', ...guards);
  assert.ok(lax(text).has('evidence/a.log\r'));
  refuses(text, /line 1 is not a digest/);
});

test('other spellings of a line: its digest in capitals, one space, text mode, the escape of sha256sum', async (context) => {
  const lines = guard('/^([0-9a-f]{64}) {2}(.+)$/', '/^\\\\?([0-9A-Fa-f]{64}) [ *]?(.+)$/');
  const { parseIndex: lax } = await importWithout<Reader>(context, 'manifest/evidence-index', lines);
  const good = line('a.log', 'a file');
  for (const text of [
    good.replace(/^\w+/, (digest) => digest.toUpperCase()),
    good.replace('  ', ' '),
    good.replace('  ', ' *'),
    `\\${good}`,
  ]) {
    assert.equal(lax(text).size, 1, text);
    refuses(text, /line 1 is not a digest, two spaces and a path/);
  }
});

test('a last line that is cut off', async (context) => {
  const ending = guard("if (lines.pop() !== '')", 'if (false)');
  const { parseIndex: lax } = await importWithout<Reader>(context, 'manifest/evidence-index', ending);
  const text = `${line('evidence/a.log')}${line('evidence/b.log').trimEnd()}`;
  assert.equal(lax(text).size, 2);
  refuses(text, /does not end in a newline/);
});

test('a file that is another one when it is read than when it was checked (TOCTOU)', async (context) => {
  const folder = await scratchFolder(context);
  const index = new Map([['plan.json', sha256('checked')]]);
  writeFileSync(join(folder, 'plan.json'), 'put there later');
  const hashed = guard('if (sha256(bytes) !== expected)', 'if (false)');
  const lax = await importWithout<Reader>(context, 'manifest/evidence-index', hashed);
  assert.equal((await lax.readListed(folder, index, 'plan.json')).toString(), 'put there later');
  await assert.rejects(readListed(folder, index, 'plan.json'), {
    exit: 'invalid',
    where: 'plan.json',
    message: /changed while it was checked/,
  });
});
