/**
 * The closed set of a run folder. `evidence.sha256` has a line of `sha256sum` for every file except itself and those
 * that are made after it; its own digest is the first subject of the statement. The file equals what
 * `find . -type f | cut -c3- | LC_ALL=C sort | xargs sha256sum` prints, so `sha256sum -c` checks it.
 */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../digest.js';
import { replaceFile } from '../machine/replace-file.js';
import { invalid } from './invalid.js';
import { BUNDLE_FILE } from './sigstore-bundle.js';
import { SSH_SIGNATURE_FILE } from './ssh-signature.js';

export const INDEX_FILE = 'evidence.sha256';
/** The signer's public key, for convenience. It travels with what it is to check, so it proves nothing by itself. */
export const KEY_FILE = 'key.pub.pem';
/** Two statements, signed: `manifest.ts`. */
export const MANIFEST_FILE = 'qualification.intoto.jsonl';
const UNLISTED = new Set([INDEX_FILE, KEY_FILE, MANIFEST_FILE, BUNDLE_FILE, SSH_SIGNATURE_FILE]);

/** No `..`, no hidden files, nothing that a shell, xargs or sha256sum would quote; of at most eight names, where a run uses four. */
const PATH = /^(?!.{256})[A-Za-z0-9][A-Za-z0-9._+@=,-]*(\/[A-Za-z0-9_][A-Za-z0-9._+@=,-]*){0,7}$/;
/** What is read as a whole; a sparse file of any length costs its author nothing. */
const MOST_BYTES = 256 * 1024 * 1024;
/** Of the files that come first in the index; nobody's memory is filled by the length of a run. */
const MOST_KEPT_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
/** Many short files are read into one piece of memory: a piece for each would cost more than its bytes do. The first is for small runs. */
const SLAB_BYTES = 16 * CHUNK_BYTES;
const FIRST_SLAB_BYTES = 2 * CHUNK_BYTES;
const LINE = /^([0-9a-f]{64}) {2}(.+)$/;

/** Whether a run may hold a file of this path, relative to its folder. */
export const isRunPath = (path: string): boolean => PATH.test(path);

/** Digest of each file by its path relative to the run folder, sorted by bytes of the path. */
export type EvidenceIndex = ReadonlyMap<string, string>;

/** Hashes the run folder and writes its index. Call it when every other file is written. Folders with nothing in them go. */
export async function writeEvidenceIndex(runFolder: string): Promise<EvidenceIndex> {
  await removeEmptyFolders(runFolder);
  const entries: [string, string][] = [];
  const slabs = new Slabs();
  for (const path of await listFiles(runFolder)) {
    if (!UNLISTED.has(path)) entries.push([path, hashFile(runFolder, path, slabs).sha256]);
  }
  const index = new Map(entries);
  await replaceFile(join(runFolder, INDEX_FILE), formatIndex(index));
  return index;
}

/** A session that was killed may have made a folder for a file that never came. */
async function removeEmptyFolders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const path = join(folder, entry.name);
    await removeEmptyFolders(path);
    if ((await readdir(path)).length === 0) await rmdir(path);
  }
}

/** The text of an index. */
export function formatIndex(index: EvidenceIndex): string {
  return [...index].map(([path, sha256]) => `${sha256}  ${path}\n`).join('');
}

/** Reads an index strictly: sorted, no path twice, not even in other case, no path that leaves the folder. */
export function parseIndex(text: string): EvidenceIndex {
  const index = new Map<string, string>();
  const folded = new Set<string>();
  let previous = '';
  const lines = text.split('\n');
  if (lines.pop() !== '') throw invalid(INDEX_FILE, 'does not end in a newline');
  let at = 0;
  for (const line of lines) {
    at += 1;
    const found = LINE.exec(line);
    const sha256 = found?.[1];
    const path = found?.[2];
    const lower = path?.toLowerCase() ?? '';
    if (sha256 === undefined || path === undefined || !PATH.test(path) || UNLISTED.has(lower)) {
      throw invalid(INDEX_FILE, `line ${at} is not a digest, two spaces and a path of evidence`);
    }
    if (path <= previous) throw invalid(INDEX_FILE, `line ${at} is out of order or twice there: ${path}`);
    // Where case does not count, the second of two such files takes the place of the first.
    if (folded.has(lower)) throw invalid(INDEX_FILE, `line ${at} differs from another only in case: ${path}`);
    folded.add(lower);
    index.set(path, sha256);
    previous = path;
  }
  return index;
}

/** Where requests lie. Nobody reads them again: each is known by its digest, which the plan gives. */
const REQUESTS = 'evidence/requests/';

/**
 * Compares a run folder with its index: the same files, no more, no fewer, each with its digest. Returns their bytes' sum. Of short files
 * but requests the bytes that were hashed are put into `kept`, to be parsed without reading them again.
 */
export async function checkClosedSet(
  runFolder: string,
  index: EvidenceIndex,
  kept = new Map<string, Buffer>(),
): Promise<number> {
  const found = new Set(await listFiles(runFolder, '', index));
  for (const path of found) {
    if (!index.has(path) && !UNLISTED.has(path))
      throw invalid(path, `is not listed in ${INDEX_FILE}: it was added later`);
  }
  let bytes = 0;
  let keptBytes = 0;
  const slabs = new Slabs();
  for (const [path, expected] of index) {
    if (!found.has(path)) throw invalid(path, `is missing; ${INDEX_FILE} lists it`);
    const { sha256, sizeBytes, whole } = hashFile(runFolder, path, slabs);
    if (sha256 !== expected)
      throw invalid(path, `has changed: its SHA-256 is ${sha256}, ${INDEX_FILE} says ${expected}`);
    bytes += sizeBytes;
    if (whole === null || path.startsWith(REQUESTS) || keptBytes + sizeBytes > MOST_KEPT_BYTES) continue;
    slabs.take(sizeBytes);
    kept.set(path, whole);
    keptBytes += sizeBytes;
  }
  return bytes;
}

/**
 * Bytes of one listed file: those in `kept`, which `checkClosedSet` hashed where they lie, or else from the disk, which must still have
 * the digest of the index. What is parsed is what was checked.
 */
export async function readListed(
  runFolder: string,
  index: EvidenceIndex,
  path: string,
  kept: ReadonlyMap<string, Buffer> = new Map(),
): Promise<Buffer> {
  const checked = kept.get(path);
  if (checked !== undefined) return checked;
  const expected = index.get(path);
  if (expected === undefined)
    throw invalid(path, `is not listed in ${INDEX_FILE}, but this run cannot do without it`);
  const bytes = await readRegular(runFolder, path);
  if (sha256(bytes) !== expected) throw invalid(path, 'changed while it was checked');
  return bytes;
}

/** Bytes of a file that must be a plain file, not a link to elsewhere, and no longer than any that a run writes. */
export async function readRegular(runFolder: string, path: string): Promise<Buffer> {
  return withRegular(runFolder, path, (file, sizeBytes) => {
    if (sizeBytes > MOST_BYTES)
      throw invalid(path, `is ${sizeBytes} bytes long; at most ${MOST_BYTES} are read`);
    return readFileSync(file);
  });
}

/**
 * Every file below the folder, sorted by bytes of the path. Links, devices, odd names and folders with nothing in them, which no index could
 * list, are refused; names in `known` are not odd.
 */
export async function listFiles(
  runFolder: string,
  below = '',
  known: EvidenceIndex = new Map(),
): Promise<string[]> {
  const paths: string[] = [];
  const entries = await readdir(join(runFolder, below), { withFileTypes: true });
  if (entries.length === 0 && below !== '')
    throw invalid(below.slice(0, -1), 'is a folder with nothing in it, which no run leaves');
  for (const entry of entries) {
    const path = below + entry.name;
    if (!known.has(path) && !PATH.test(path))
      throw invalid(JSON.stringify(path), 'has a name that no run writes');
    if (entry.isDirectory()) paths.push(...(await listFiles(runFolder, `${path}/`, known)));
    else if (entry.isFile()) paths.push(path);
    else throw invalid(path, 'is not a plain file: links and devices are refused');
  }
  return paths.sort();
}

/** Memory to read into. What was taken stays as it is: nothing is read over it. */
class Slabs {
  #slab = Buffer.allocUnsafeSlow(FIRST_SLAB_BYTES);
  #taken = 0;

  /** Where the next bytes may go, `CHUNK_BYTES` of them. */
  free(): Buffer {
    if (this.#slab.length - this.#taken < CHUNK_BYTES) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.#taken = 0;
    }
    return this.#slab.subarray(this.#taken, this.#taken + CHUNK_BYTES);
  }

  /** Keeps the first bytes of `free` as they are. */
  take(sizeBytes: number): void {
    this.#taken += sizeBytes;
  }
}

/** In pieces: a log may be larger than memory. `whole` is read over by the next file unless its bytes are taken. */
function hashFile(
  runFolder: string,
  path: string,
  slabs: Slabs,
): { sha256: string; sizeBytes: number; whole: Buffer | null } {
  return withRegular(runFolder, path, (file, size) => {
    const chunk = slabs.free();
    const first = readSync(file, chunk);
    if (first === size && size < CHUNK_BYTES) {
      const whole = chunk.subarray(0, first);
      return { sha256: sha256(whole), sizeBytes: first, whole };
    }
    const hash = createHash('sha256');
    let sizeBytes = 0;
    for (let length = first; length > 0; length = readSync(file, chunk)) {
      hash.update(chunk.subarray(0, length));
      sizeBytes += length;
    }
    return { sha256: hash.digest('hex'), sizeBytes, whole: null };
  });
}

/** Opens a plain file for `use`. Synchronous: a run has tens of thousands of small files, and each turn of the event loop costs more than one. */
function withRegular<T>(runFolder: string, path: string, use: (file: number, sizeBytes: number) => T): T {
  // Non-blocking, so that a pipe put in a file's place cannot hang the verifier.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  let file: number;
  try {
    // Paths of a run are in their shortest form; `join` would look for that once more.
    file = openSync(`${runFolder}/${path}`, flags);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : cause;
    throw invalid(
      path,
      code === 'ENOENT' ? 'is missing' : `cannot be read as a plain file (${String(code)})`,
      cause,
    );
  }
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw invalid(path, 'is not a plain file');
    return use(file, found.size);
  } finally {
    closeSync(file);
  }
}
