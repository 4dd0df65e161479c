/** Archives that want to be more than the files of one run. Each gets its way where the guards against it are taken out. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { extract } from 'tar';
import { END } from '../../src/manifest/archive-format.js';
import { extractArchive } from '../../src/manifest/extract-archive.js';
import { type ArchiveEntry, archiveOf } from '../fixtures/archive.js';
import { scratchFolder } from '../support/folder.js';
import { refusal } from '../support/refusal.js';
import { type Guard, importWithout } from './without-guard.js';

type Extractor = typeof import('../../src/manifest/extract-archive.js');

const TOP = 'session-1';
const plain = (name: string, body = 'x'): ArchiveEntry => ({ name: `${TOP}/${name}`, body });

/** A guard of the extraction. */
const guard = (text: string, instead = 'if (false)'): Guard => ({
  module: 'manifest/extract-archive',
  guard: text,
  instead,
});
const NAME = guard('if (!SESSION.test(session) || !isRunPath(file))');
const ONE_FOLDER = guard('if (session !== this.#session)');
const TYPE = guard("if (header.typeKey !== '0')");
const SUM = guard('if (header === null || !header.cksumValid)');
const CANONICAL = guard('if (canonical === null || !canonical.equals(block))');
const ORDER = guard('if (name <= this.#previous)');
const CAPITALS = guard('if (this.#folded.has(folded))');
const BELOW = guard('if (this.#folded.has(folded.slice(0, at)))');
const FOLDER = guard('if (this.#folders.has(folded))');
const EXCLUSIVE = guard("'wx'", "'w'");
const FILES = guard('if (this.#files > this.#limits.files)');
const FOLDERS = guard('if (this.#folders.size > MOST_FOLDERS)');
const BYTES = guard('if (this.#bytes > this.#limits.bytes)');
const CLAIMED = guard('if (sizeBytes > left)');
const CUT = guard(
  "if (bytesRead === 0)\n                throw refusedArchive(this.#path, 'was cut off');",
  'if (bytesRead === 0) break;',
);
const EMPTY = guard('if (this.#session === undefined)');
const PADDING = guard('if (padding.some((byte) => byte !== 0))');
const AFTER = guard('if (!last.equals(NOTHING) || blocks.left > 0)');

interface Attack {
  what: string;
  archive: Buffer;
  reason: RegExp;
  guards: Guard[];
  limits?: { files: number; bytes: number };
  /** What the attacker wants; that the archive is taken, when absent. Asked with the folder that was extracted into. */
  succeeds?: (into: string) => boolean;
}

const links: [string, string, RegExp][] = [
  ['a hard link', '1', /a Link: only plain files/],
  ['a symbolic link', '2', /a SymbolicLink: only plain files/],
];
const others: [string, string, RegExp][] = [
  ['a character device', '3', /a CharacterDevice: only/],
  ['a block device', '4', /a BlockDevice: only/],
  ['a folder', '5', /a Directory: only/],
  ['a FIFO', '6', /a FIFO: only/],
  ['a contiguous file', '7', /a ContiguousFile: only/],
  ['a sparse file', 'S', /only plain files/],
  ['a long name of GNU', 'L', /only plain files/],
  ['a long link of GNU', 'K', /only plain files/],
  ['a pax header that gives the next another name and size', 'x', /a ExtendedHeader: only/],
  ['a pax header for all that follow', 'g', /a GlobalExtendedHeader: only/],
  ['a type that nobody knows', 'Q', /only plain files/],
];
const PAX = '24 path=session-1/evil\n13 size=1000\n';

const attacks: Attack[] = [
  {
    what: 'a name that leaves the folder',
    archive: archiveOf({ name: `${TOP}/../../evil`, body: 'evil' }),
    reason: /holds "session-1\/\.\.\/\.\.\/evil", a name that no run has/,
    guards: [NAME],
    succeeds: (into) => existsSync(join(into, '..', 'evil')),
  },
  {
    what: 'a top folder that leaves the folder',
    archive: archiveOf({ name: '../evil', body: 'evil' }),
    reason: /a name that no run has/,
    guards: [NAME],
    succeeds: (into) => existsSync(join(into, '..', 'evil')),
  },
  {
    what: 'an absolute name',
    archive: archiveOf({ name: '/etc/evil', body: 'evil' }),
    reason: /holds "\/etc\/evil", a name/,
    guards: [NAME],
  },
  {
    what: 'a hidden file',
    archive: archiveOf(plain('.bashrc')),
    reason: /a name that no run has/,
    guards: [NAME],
  },
  {
    what: 'a name that drives a terminal',
    archive: archiveOf(plain('a\u001b[2Jb')),
    reason: /holds "session-1\/a\\u001b\[2Jb", a name that no run has/,
    guards: [NAME],
  },
  {
    what: 'a file without a folder',
    archive: archiveOf({ name: 'plan.json', body: '{}' }),
    reason: /a name that no run has/,
    guards: [NAME],
  },
  ...links.map(([what, type, reason]) => ({
    what,
    archive: archiveOf(plain('a'), { ...plain('b', ''), type, linkpath: '/etc/passwd' }),
    reason,
    guards: [TYPE, CANONICAL],
  })),
  ...others.map(([what, type, reason]) => ({
    what,
    // Of a folder no reader takes a body.
    archive: archiveOf({ ...plain('a', type === '5' ? '' : PAX), type }, plain('b')),
    reason,
    guards: [TYPE, CANONICAL],
  })),
  {
    what: 'a link that says that it is a file',
    archive: archiveOf({ ...plain('a'), linkpath: '/etc/passwd' }),
    reason: /with a header that `qualify pack` does not write/,
    guards: [CANONICAL],
  },
  {
    what: 'a file that anybody may run as its owner',
    archive: archiveOf({ ...plain('a'), mode: 0o4755 }),
    reason: /with a header that/,
    guards: [CANONICAL],
  },
  {
    what: 'another time, another spelling of the same run',
    archive: archiveOf({ ...plain('a'), mtime: new Date('2026-01-01T00:00:00Z') }),
    reason: /with a header that/,
    guards: [CANONICAL],
  },
  {
    what: 'a name of an owner',
    archive: archiveOf({ ...plain('a'), uname: 'root' }),
    reason: /with a header that/,
    guards: [CANONICAL],
  },
  {
    what: 'a header whose sum is wrong',
    archive: ((bytes) => {
      bytes.write('7', 150, 'ascii');
      return bytes;
    })(archiveOf(plain('a'))),
    reason: /is no archive of a run/,
    guards: [SUM, CANONICAL],
  },
  {
    what: 'an entry that comes twice',
    archive: archiveOf(plain('a', 'first'), plain('a', 'second')),
    reason: /holds "session-1\/a" out of order or twice/,
    guards: [ORDER, CAPITALS, EXCLUSIVE],
    succeeds: (into) => readFileSync(join(into, TOP, 'a'), 'utf8') === 'second',
  },
  {
    what: 'entries in another order',
    archive: archiveOf(plain('b'), plain('a')),
    reason: /out of order or twice/,
    guards: [ORDER],
  },
  {
    what: 'a name that comes twice but for capitals',
    archive: archiveOf(plain('Plan.json'), plain('plan.json')),
    reason: /twice, but for capitals/,
    guards: [CAPITALS],
  },
  {
    what: 'two top folders',
    archive: archiveOf(plain('a'), { name: 'session-2/a', body: 'x' }),
    reason: /holds two folders: session-1 and session-2/,
    guards: [ONE_FOLDER],
  },
  {
    what: 'too many files',
    archive: archiveOf(...['a', 'b', 'c', 'd'].map((name) => plain(name))),
    reason: /holds more than 3 files/,
    guards: [FILES],
    limits: { files: 3, bytes: 1000 },
  },
  {
    what: 'too many bytes',
    archive: archiveOf(plain('a', 'x'.repeat(600)), plain('b', 'x'.repeat(600))),
    reason: /holds more than 1000 bytes/,
    guards: [BYTES],
    limits: { files: 3, bytes: 1000 },
  },
  {
    what: 'empty files in folders upon folders',
    archive: archiveOf(...['a', 'b'].map((name) => plain(`${name}${'/a'.repeat(100)}`, ''))),
    reason: /a name that no run has/,
    guards: [{ module: 'manifest/evidence-index', guard: '){0,7}$/', instead: ')*$/' }],
    succeeds: (into) => readdirSync(into, { recursive: true }).length > 200,
  },
  {
    what: 'more folders than any plan makes',
    archive: archiveOf(
      ...Array.from({ length: 3000 }, (_, at) => plain(`${at}/b/c/d/e/f/g/h`, '')).sort((one, other) =>
        one.name < other.name ? -1 : 1,
      ),
    ),
    reason: /holds more than 20000 folders/,
    guards: [FOLDERS],
  },
  {
    what: 'a file in the place of a folder, but for capitals',
    archive: archiveOf(plain('A/b'), plain('a')),
    reason: /holds "session-1\/a" in the place of a folder/,
    guards: [FOLDER],
  },
  {
    what: 'bytes behind the end of a file',
    archive: archiveOf({ ...plain('a'), padding: 1 }),
    reason: /has bytes behind the end of session-1\/a/,
    guards: [PADDING],
  },
  {
    what: 'bytes behind the end of the archive',
    archive: Buffer.concat([archiveOf(plain('a')), Buffer.from('x')]),
    reason: /goes on after its end/,
    guards: [AFTER],
  },
  {
    what: 'another archive behind the end of the archive',
    archive: Buffer.concat([archiveOf(plain('a')), archiveOf(plain('b'))]),
    reason: /goes on after its end/,
    guards: [AFTER],
  },
  {
    what: 'more zeros at the end than are needed',
    archive: Buffer.concat([archiveOf(plain('a')), END]),
    reason: /goes on after its end/,
    guards: [AFTER],
  },
];

/** Where an archive is extracted, two folders down, so that there is something to leave. */
async function places(t: TestContext, archive: Buffer): Promise<{ path: string; into: string }> {
  const folder = await scratchFolder(t);
  const into = join(folder, 'outer', 'into');
  await mkdir(into, { recursive: true });
  const path = join(folder, 'archive.tar');
  await writeFile(path, archive);
  return { path, into };
}

describe('an archive with', () => {
  for (const { what, archive, reason, guards, limits, succeeds = () => true } of attacks) {
    test(what, async (t) => {
      const options = limits === undefined ? {} : { limits };
      const { path, into } = await places(t, archive);
      const error = await refusal(extractArchive(path, into, options));
      assert.equal(error.exit, 'invalid');
      assert.match(error.message, reason);
      const again = await places(t, archive);
      const without = await importWithout<Extractor>(t, 'manifest/extract-archive', ...guards);
      await without.extractArchive(again.path, again.into, options);
      assert.ok(succeeds(again.into), 'without its guards the attack has its way');
    });
  }

  test('a file that claims more than there is: nothing of it is written', async (t) => {
    const archive = archiveOf({ ...plain('a', 'x'.repeat(1000)), size: 2 ** 32 });
    const { path, into } = await places(t, archive);
    const error = await refusal(extractArchive(path, into));
    assert.match(error.message, /was cut off: session-1\/a has 4294967296 bytes/);
    assert.deepEqual(readdirSync(into), []);
    const without = await importWithout<Extractor>(t, 'manifest/extract-archive', CLAIMED);
    await assert.rejects(without.extractArchive(path, into), /was cut off/);
    assert.deepEqual(readdirSync(into), [TOP]);
  });

  test('a file where a folder is needed: it is named, where else the system would stumble', async (t) => {
    const archive = archiveOf(plain('a'), plain('a/b'));
    const { path, into } = await places(t, archive);
    assert.match((await refusal(extractArchive(path, into))).message, /"session-1\/a\/b" below a file/);
    const again = await places(t, archive);
    const without = await importWithout<Extractor>(t, 'manifest/extract-archive', BELOW);
    const stumbled = { code: 'ERR_QUALIFY_SYSTEM', message: /\(EEXIST at mkdir\)/ };
    await assert.rejects(without.extractArchive(again.path, again.into), stumbled);
  });

  test('an end that is cut off, at any block', async (t) => {
    const whole = archiveOf(plain('a', 'x'.repeat(1500)), plain('b'));
    const { path, into } = await places(t, whole);
    await extractArchive(path, into);
    for (let bytes = 0; bytes < whole.length; bytes += 256) {
      const cut = await places(t, whole.subarray(0, bytes));
      assert.match((await refusal(extractArchive(cut.path, cut.into))).message, /was cut off/);
    }
    // In the first file: what is missing of it would be zeros, and the second file would never have been.
    const cut = await places(t, whole.subarray(0, 512 + 500));
    const without = await importWithout<Extractor>(t, 'manifest/extract-archive', CLAIMED, CUT);
    assert.equal((await without.extractArchive(cut.path, cut.into)).files, 1);
    assert.equal(readFileSync(join(cut.into, TOP, 'a'), 'utf8'), 'x'.repeat(500).padEnd(1500, '\0'));
  });

  test('any byte changed that is no byte of a file', async (t) => {
    const whole = archiveOf(plain('a', 'x'.repeat(100)));
    const { path, into } = await places(t, whole);
    // Those of a file are for the index of the run to tell.
    const isBody = (at: number): boolean => at >= 512 && at < 612;
    const changed = (at: number): Buffer => {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ (1 + ((at * 7) % 255));
      return bytes;
    };
    for (let at = 0; at < whole.length; at += 1) {
      if (isBody(at)) continue;
      await writeFile(path, changed(at));
      const below = join(into, String(at));
      await mkdir(below);
      assert.equal((await refusal(extractArchive(path, below))).exit, 'invalid', `byte ${at}`);
    }
    const guards = [SUM, CANONICAL, PADDING, AFTER];
    const without = await importWithout<Extractor>(t, 'manifest/extract-archive', ...guards);
    // Mode, owner, time and sum of the header; what fills the last block of the file; the end.
    for (const at of [103, 110, 140, 150, 700, 1023, 1536, 2047]) {
      const again = await places(t, changed(at));
      await without.extractArchive(again.path, again.into);
      assert.equal(readFileSync(join(again.into, TOP, 'a'), 'utf8'), 'x'.repeat(100), `byte ${at}`);
    }
  });

  test('nothing, or something compressed', async (t) => {
    const empty = await places(t, END);
    assert.match((await refusal(extractArchive(empty.path, empty.into))).message, /holds nothing/);
    const without = await importWithout<Extractor>(t, 'manifest/extract-archive', EMPTY);
    assert.equal((await without.extractArchive(empty.path, empty.into)).files, 0);
    // Of bytes that nothing holds to be random, so that there is more than a block of them.
    const body = createHash('shake256', { outputLength: 4096 }).update('body').digest('base64');
    const gzip = await places(t, gzipSync(archiveOf(plain('a', body))));
    assert.match((await refusal(extractArchive(gzip.path, gzip.into))).message, /uncompress it first/);
    // The reader of the library uncompresses unasked: there is no guard of ours to take out but that it is not used.
    await extract({ file: gzip.path, cwd: gzip.into });
    assert.equal(readFileSync(join(gzip.into, TOP, 'a'), 'utf8'), body);
  });
});
