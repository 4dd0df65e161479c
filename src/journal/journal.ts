/**
 * The writing side of `journal.jsonl`: one JSON line an observation, in order, on disk before the next thing happens.
 * Invariants: `seq` counts from 0 without gaps, `atNs` never falls, every line passed the schema, nothing is rewritten. A journal that
 * is opened again goes on with both; half a line that a killed writer left is cut off first.
 */
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync } from 'node:fs';
import { explainDiskFull } from '../disk-full.js';
import { QualifyError } from '../errors.js';
import { type Entry, entrySchema } from './entries.js';
import type { CutJournal } from './read.js';
import { writeWhole } from './write-whole.js';

/** An entry before the journal numbers and dates it. */
export type Draft = Entry extends infer E ? (E extends Entry ? Omit<E, 'seq' | 'atNs'> : never) : never;

/** Appends to one journal file, and keeps what it appended for the looks of the session. */
export class Journal {
  readonly path: string;
  readonly #file: number;
  readonly #now: () => bigint;
  readonly #beganAt: bigint;
  readonly #entries: Entry[];
  #closed = false;
  #bytes = 0;

  /** Creates the file; it must not exist. `now` is a monotonic clock in nanoseconds. With `found`, goes on with a file that does. */
  constructor(path: string, now: () => bigint = process.hrtime.bigint, found?: CutJournal) {
    this.path = path;
    this.#now = now;
    this.#entries = [...(found?.entries ?? [])];
    this.#file = openSync(path, found === undefined ? 'wx' : 'a', 0o644);
    if (found !== undefined) this.#cut(found.tail.length);
    // Time goes on where it stopped: the clock of another boot has another zero.
    this.#beganAt = now() - BigInt(this.#entries.at(-1)?.atNs ?? 0);
  }

  #cut(tailBytes: number): void {
    this.#bytes = fstatSync(this.#file).size - tailBytes;
    ftruncateSync(this.#file, this.#bytes);
    fsyncSync(this.#file);
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** Validates, writes and flushes one line. Throws a plain `Error` on a malformed draft: that is a bug of ours. */
  append(draft: Draft): Entry {
    if (this.#closed) throw new Error(`The journal ${this.path} is closed: "${draft.kind}" came too late.`);
    const atNs = (this.#now() - this.#beganAt).toString();
    const entry = entrySchema.parse({ seq: this.#entries.length, atNs, ...draft });
    this.#write(`${JSON.stringify(entry)}\n`);
    this.#entries.push(entry);
    return entry;
  }

  #write(line: string): void {
    const bytes = Buffer.from(line);
    try {
      writeWhole(this.#file, bytes);
      fsyncSync(this.#file);
      this.#bytes += bytes.length;
    } catch (cause) {
      // Half a line would make the lines before it unreadable.
      ftruncateSync(this.#file, this.#bytes);
      const known = explainDiskFull(cause, this.path);
      if (known instanceof QualifyError) throw known;
      throw new QualifyError('ERR_QUALIFY_DISK', `The journal ${this.path} cannot be written.`, {
        exit: 'infrastructure',
        hint: 'Look at the free space of its disk; qualify doctor does.',
        cause,
      });
    }
  }

  /** Safe to call twice. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    closeSync(this.#file);
  }
}
