/** Archives of a run that was changed, and places that an archive must not be unpacked into. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { END } from '../../src/manifest/archive-format.js';
import { generateKey } from '../../src/manifest/key-store.js';
import { packRun } from '../../src/manifest/pack.js';
import { seal } from '../../src/manifest/seal.js';
import { unpackRun, withRunFolder } from '../../src/manifest/unpack.js';
import { archiveEntry } from '../fixtures/archive.js';
import { writeRun } from '../fixtures/run-folder.js';
import { removeFolder, scratchFolder } from '../support/folder.js';
import { refusal } from '../support/refusal.js';
import { scratchRoot } from '../support/scratch-root.js';
import { type Guard, importWithout } from './without-guard.js';

type Unpacker = typeof import('../../src/manifest/unpack.js');

describe('unpacking', () => {
  let folder: string;
  let archive: string;
  let bytes: Buffer;
  before(async () => {
    folder = await mkdtemp(join(scratchRoot, 'qualify-test-'));
    const run = join(folder, 'run');
    await writeRun(run);
    await seal(run, await generateKey('signer', join(folder, 'keys')));
    archive = join(folder, 'run.tar');
    await packRun(run, { out: archive });
    bytes = readFileSync(archive);
  });
  after(() => removeFolder(folder));

  /** The archive with something else in it, in a folder of its own. */
  async function altered(
    t: TestContext,
    change: (bytes: Buffer) => Buffer,
  ): Promise<{ path: string; out: string }> {
    const place = await scratchFolder(t);
    const path = join(place, 'altered.tar');
    await writeFile(path, change(Buffer.from(bytes)));
    return { path, out: join(place, 'out') };
  }

  /** Gives a folder its name before anybody asked whether it holds. */
  const BEFORE_VERIFYING: Guard = {
    module: 'manifest/unpack',
    guard: 'await toldOf(archive, folder, () => verifyRun(folder, verify))',
    instead: 'null',
  };
  let lax: Promise<Unpacker> | undefined;
  /** The same copy for every test of this file. */
  const withoutVerifying = (t: TestContext): Promise<Unpacker> => {
    lax ??= importWithout<Unpacker>(t, 'manifest/unpack', BEFORE_VERIFYING);
    return lax;
  };

  test('leaves nothing of a run that does not hold', async (t) => {
    const { path, out } = await altered(t, (copy) => {
      const at = copy.indexOf('"cacheN":0');
      assert.ok(at > 0);
      copy.write('"cacheN":1', at);
      return copy;
    });
    const error = await refusal(unpackRun(path, { out }));
    assert.equal(error.exit, 'invalid');
    assert.match(error.message, /journal\.jsonl has changed/);
    assert.deepEqual(readdirSync(join(out, '..')), ['altered.tar']);
    await (await withoutVerifying(t)).unpackRun(path, { out });
    assert.match(readFileSync(join(out, 'journal.jsonl'), 'utf8'), /"cacheN":1/);
  });

  test('refuses a file that was added to the run', async (t) => {
    const { path, out } = await altered(t, (copy) =>
      Buffer.concat([
        copy.subarray(0, copy.length - END.length),
        archiveEntry({ name: 'fixture-1/zzz.txt', body: 'added' }),
        END,
      ]),
    );
    assert.match((await refusal(unpackRun(path, { out }))).message, /zzz\.txt is not listed/);
    assert.ok(!existsSync(out));
    await (await withoutVerifying(t)).unpackRun(path, { out });
    assert.equal(readFileSync(join(out, 'zzz.txt'), 'utf8'), 'added');
  });

  test('refuses a run in a folder that is not called after its session', async (t) => {
    const entries: Buffer[] = [];
    for (let at = 0; at < bytes.length - END.length; ) {
      const name = bytes
        .subarray(at, at + 100)
        .toString()
        .replace(/\0.*$/s, '');
      const size = Number.parseInt(bytes.subarray(at + 124, at + 136).toString(), 8);
      const body = bytes.subarray(at + 512, at + 512 + size);
      entries.push(archiveEntry({ name: name.replace('fixture-1', 'fixture-2'), body }));
      at += 512 + Math.ceil(size / 512) * 512;
    }
    const { path, out } = await altered(t, () => Buffer.concat([...entries, END]));
    const reason = /calls fixture-2 what is of the session fixture-1/;
    assert.match((await refusal(unpackRun(path, { out }))).message, reason);
    assert.match((await refusal(withRunFolder(path, async () => undefined))).message, reason);
    const without = await importWithout<Unpacker>(t, 'manifest/unpack', {
      module: 'manifest/unpack',
      guard: 'if (named.session === session)',
      instead: 'if (true)',
    });
    assert.equal((await without.unpackRun(path, { out })).session, 'fixture-2');
  });

  test('writes over nothing: no file, no folder, not through a link', async (t) => {
    const place = await scratchFolder(t);
    await writeFile(join(place, 'file'), 'mine');
    await mkdir(join(place, 'empty'));
    await symlink('elsewhere', join(place, 'dangling'));
    for (const name of ['file', 'empty', 'dangling']) {
      const error = await refusal(unpackRun(archive, { out: join(place, name) }));
      assert.equal(error.code, 'ERR_QUALIFY_EXISTS', name);
    }
    assert.equal(readFileSync(join(place, 'file'), 'utf8'), 'mine');
    assert.deepEqual(readdirSync(place).sort(), ['dangling', 'empty', 'file']);
    const without = await importWithout<Unpacker>(t, 'manifest/unpack', {
      module: 'manifest/unpack',
      guard: '!== null)\n        throw exists(path)',
      instead: '=== undefined)\n        throw exists(path)',
    });
    // The system would put it in the place of an empty folder.
    await without.unpackRun(archive, { out: join(place, 'empty') });
    assert.ok(existsSync(join(place, 'empty', 'plan.json')));
  });
});
