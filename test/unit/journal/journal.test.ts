import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { QualifyError } from '../../../src/errors.js';
import { Journal } from '../../../src/journal/journal.js';
import { parseCutJournal, parseJournal, readJournal } from '../../../src/journal/read.js';
import { scratchFolder } from '../../support/folder.js';

const sha = 'a'.repeat(64);

const begin = {
  kind: 'session',
  planDigest: sha,
  session: '20260101-000000-abcdef',
  startedAt: '2026-01-01T00:00:00.000Z',
  harness: { version: '0.1.0', node: 'v20.0.0' },
  machine: { path: 'evidence/machine.json', sha256: sha },
  machineId: sha,
} as const;
const look = { kind: 'look', rounds: 6, undecided: [] } as const;
const end = { kind: 'end', finishedAt: '2026-01-01T00:00:01.000Z', complete: true } as const;

function written(path: string): string {
  const journal = new Journal(path);
  journal.append(begin);
  journal.append({ ...look, undecided: [...look.undecided] });
  journal.append(end);
  journal.close();
  return readFileSync(path, 'utf8');
}

const rejects = (text: string, where: string, message: RegExp): void => {
  assert.throws(
    () => parseJournal(text, 'j'),
    (error: unknown) =>
      error instanceof QualifyError &&
      error.exitCode === 16 &&
      error.where === where &&
      message.test(error.message),
  );
};

describe('journal', () => {
  test('reads back what was appended, numbered and dated', async (t) => {
    const path = join(await scratchFolder(t), 'journal.jsonl');
    written(path);
    const entries = readJournal(path);
    assert.deepEqual(
      entries.map((entry) => [entry.seq, entry.kind]),
      [
        [0, 'session'],
        [1, 'look'],
        [2, 'end'],
      ],
    );
    assert.ok(entries.every((entry) => /^\d+$/.test(entry.atNs)));
  });

  test('is on disk line by line, before the session ends', async (t) => {
    const path = join(await scratchFolder(t), 'journal.jsonl');
    const journal = new Journal(path);
    journal.append(begin);
    assert.equal(readJournal(path).length, 1);
    journal.append({ ...look, undecided: [] });
    assert.equal(readJournal(path).length, 2);
    journal.close();
  });

  test('never writes over another journal', async (t) => {
    const path = join(await scratchFolder(t), 'journal.jsonl');
    writeFileSync(path, 'something');
    assert.throws(() => new Journal(path), /EEXIST/);
    assert.equal(readFileSync(path, 'utf8'), 'something');
  });

  test('refuses a malformed entry and one after its end', async (t) => {
    const journal = new Journal(join(await scratchFolder(t), 'journal.jsonl'));
    assert.throws(() => journal.append({ ...begin, planDigest: 'short' }), /planDigest/);
    journal.close();
    assert.throws(() => journal.append(end), /closed/);
  });
});

const resume = {
  kind: 'resume',
  resumedAt: '2026-01-01T00:00:02.000Z',
  harness: begin.harness,
  machineId: sha,
  lost: null,
  droppedBytes: 0,
  droppedSha256: null,
} as const;

describe('a journal that is opened again', () => {
  test('goes on with number and time, behind its last whole line', async (t) => {
    const path = join(await scratchFolder(t), 'journal.jsonl');
    const first = new Journal(path, () => 5_000n);
    first.append(begin);
    first.close();
    const whole = readFileSync(path, 'utf8');
    writeFileSync(path, '{"seq":1,"at', { flag: 'a' });
    const found = parseCutJournal(readFileSync(path), path);
    assert.equal(found.tail.toString(), '{"seq":1,"at');
    let now = 0n;
    const again = new Journal(
      path,
      () => {
        now += 7n;
        return now;
      },
      { ...found, entries: found.entries.map((entry) => ({ ...entry, atNs: '900' })) },
    );
    assert.equal(readFileSync(path, 'utf8'), whole, 'half a line is cut off');
    again.append(resume);
    again.close();
    assert.deepEqual(
      readJournal(path).map(({ seq, atNs, kind }) => [seq, atNs, kind]),
      [
        [0, '0', 'session'],
        [1, '907', 'resume'],
      ],
    );
  });

  test('has no entries when it has no whole line', async (t) => {
    const path = join(await scratchFolder(t), 'journal.jsonl');
    writeFileSync(path, '{"seq":0');
    assert.deepEqual(parseCutJournal(readFileSync(path), path).entries, []);
  });

  test('goes on after an end that was not complete, and after no other', async (t) => {
    const folder = await scratchFolder(t);
    const text = (name: string, ...drafts: Parameters<Journal['append']>[0][]): string => {
      const journal = new Journal(join(folder, name));
      for (const draft of drafts) journal.append(draft);
      journal.close();
      return readFileSync(join(folder, name), 'utf8');
    };
    const cut = { ...end, complete: false };
    assert.equal(parseJournal(text('a', begin, cut, resume, cut, resume, end), 'j').length, 6);
    rejects(text('b', begin, end, resume, end), 'j:3', /follows/);
    rejects(text('c', begin, cut, { ...look, undecided: [] }), 'j:3', /follows/);
    rejects(text('d', begin, cut, cut), 'j:3', /follows/);
  });
});

describe('journal reader', () => {
  test('names line and field of what is wrong', async (t) => {
    const text = written(join(await scratchFolder(t), 'journal.jsonl'));
    const [first = '', second = '', third = ''] = text.split('\n');
    rejects('', 'j', /empty/);
    rejects(text.slice(0, -1), 'j:3', /cut off/);
    rejects(`${first}\n${second.replace('"rounds":6', '"rounds":-6')}\n`, 'j:2', /rounds/);
    rejects(`${first}\n${second.replace('"rounds":6', '"rounds":6,"extra":1')}\n`, 'j:2', /extra/);
    rejects(`${first}\n${third}\n`, 'j:2', /seq/);
    rejects(`${first}\nnot json\n`, 'j:2', /not JSON/);
    rejects(`${first}\n${second.replace(':', ': ')}\n`, 'j:2', /form/);
    rejects(`${second.replace('"seq":1', '"seq":0')}\n`, 'j:1', /session/);
    rejects(
      `${first}\n${third.replace('"seq":2', '"seq":1')}\n${second.replace('"seq":1', '"seq":2')}\n`,
      'j:3',
      /follows/,
    );
    rejects(
      `${first}\n${second.replace(/"atNs":"\d+"/, '"atNs":"99999999999999"')}\n${third}\n`,
      'j:3',
      /backwards/,
    );
  });
});
