/** What the system refuses, as a line with a code; what is a bug of ours stays one. */
import assert from 'node:assert/strict';
import { closeSync, readFileSync, readSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { diskFull } from '../../src/disk-full.js';
import { QualifyError } from '../../src/errors.js';
import { explainSystemError } from '../../src/system-error.js';

const thrownBy = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return assert.fail('nothing was thrown');
};

const refused = (code: string, errno: number): Error =>
  Object.assign(new Error(`${code}: it is so, write`), { code, errno, syscall: 'write' });

describe('what the system refuses', () => {
  test('names file, meaning and remedy, with the exit code of the infrastructure', () => {
    const explained = explainSystemError(thrownBy(() => readFileSync('/nowhere/at/all')));
    assert.ok(explained instanceof QualifyError);
    assert.equal(explained.code, 'ERR_QUALIFY_SYSTEM');
    assert.equal(explained.exitCode, 15);
    assert.equal(explained.message, '/nowhere/at/all: no such file or directory (ENOENT at open).');
    assert.equal(explained.where, '/nowhere/at/all');
  });

  test('names the file that its caller knows, and the limit that may be it', () => {
    const explained = explainSystemError(refused('EFBIG', -27), '/a/file');
    assert.ok(explained instanceof QualifyError);
    assert.equal(explained.message, '/a/file: file too large (EFBIG at write).');
    assert.match(explained.hint ?? '', /ulimit -f/);
  });

  test('is a full disk where it is one', () => {
    const explained = explainSystemError(refused('ENOSPC', -28), '/a/file');
    assert.ok(explained instanceof QualifyError);
    assert.equal(explained.code, 'ERR_QUALIFY_DISK_FULL');
  });

  test('is a bug of ours where we read what we have closed, and where it is no refusal', () => {
    const closed = thrownBy(() => {
      closeSync(999_999);
    });
    const bugs = [
      closed,
      new TypeError('x is not a function'),
      thrownBy(() => readSync(-1, Buffer.alloc(1))),
      'x',
    ];
    for (const bug of bugs) assert.equal(explainSystemError(bug), bug);
    const known = new QualifyError('ERR_QUALIFY_X', 'known', { exit: 'usage' });
    assert.equal(explainSystemError(known), known);
  });
});

test('a disk that is full below TMPDIR is left by TMPDIR, another by what names its place', () => {
  const below = diskFull(join(tmpdir(), 'qualify-unpack-1', 'a', 'file'));
  assert.match(below.hint ?? '', /TMPDIR/);
  assert.doesNotMatch(below.hint ?? '', /--out|XDG_CACHE_HOME/);
  for (const path of ['/a/run', join(tmpdir(), 'run')]) {
    assert.match(diskFull(path).hint ?? '', /--out or XDG_CACHE_HOME/);
    assert.doesNotMatch(diskFull(path).hint ?? '', /TMPDIR/);
  }
  assert.match(diskFull(undefined).hint ?? '', /--out, XDG_CACHE_HOME or TMPDIR/);
});
