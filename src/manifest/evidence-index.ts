/**
 * The closed set of a run folder. `evidence.sha256` has a line of `sha256sum` for every file except itself and those
 * that are made after it; its own digest is the first subject of the statement. The file equals what
 * `find . -type f | cut -c3- | LC_ALL=C sort | xargs sha256sum` prints, so `sha256sum -c` checks it.
 */
import { createHash } from 'node:crypto';
import { constants, fstatSync, readSync } from 'node:fs';
import { type FileHandle, open, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { invalid } from './invalid.js';
import { BUNDLE_FILE } from './sigstore-bundle.js';
import { SSH_SIGNATURE_FILE } from './ssh-signature.js';

export const INDEX_FILE = 'evidence.sha256';
/** The signer's public key, for convenience. It travels with what it is to check, so it proves nothing by itself. */
export const KEY_FILE = 'key.pub.pem';
/** Two statements, signed: `manifest.ts`. */
export const MANIFEST_FILE = 'qualification.intoto.jsonl';
const UNLISTED = new Set([INDEX_FILE, KEY_FILE, MANIFEST_FILE, BUNDLE_FILE, SSH_SIGNATURE_FILE]);

/** No `..`, no hidden files, nothing that a shell, xargs or sha256sum would quote. */
const PATH = /^(?!.{256})[A-Za-z0-9][A-Za-z0-9._+@=,-]*(\/[A-Za-z0-9_][A-Za-z0-9._+@=,-]*)*$/;
/** What is read as a whole; a sparse file of any length costs its author nothing. */
const MOST_BYTES = 256 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
const LINE = /^([0-9a-f]{64}) {2}(.+)$/;

/** Whether a run may hold a file of this path, relative to its folder. */
export const isRunPath = (path: string): boolean => PATH.test(path);

/** Digest of each file by its path relative to the run folder, sorted by bytes of the path. */
export type EvidenceIndex = ReadonlyMap<string, string>;

/** Hashes the run folder and writes its index. Call it when every other file is written. */
export async function writeEvidenceIndex(runFolder: string): Promise<EvidenceIndex> {
  const entries: [string, string][] = [];
  for (const path of await listFiles(runFolder)) {
    if (!UNLISTED.has(path)) entries.push([path, (await hashFile(runFolder, path)).sha256]);
  }
  const index = new Map(entries);
  await writeFile(join(runFolder, INDEX_FILE), formatIndex(index));
  return index;
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
  for (const [at, line] of lines.entries()) {
    const [, sha256, path] = LINE.exec(line) ?? [];
    if (sha256 === undefined || path === undefined || !PATH.test(path) || UNLISTED.has(path)) {
      throw invalid(INDEX_FILE, `line ${at + 1} is not a digest, two spaces and a path of evidence`);
    }
    if (path <= previous) throw invalid(INDEX_FILE, `line ${at + 1} is out of order or twice there: ${path}`);
    // Where case does not count, the second of two such files takes the place of the first.
    if (folded.has(path.toLowerCase()))
      throw invalid(INDEX_FILE, `line ${at + 1} differs from another only in case: ${path}`);
    folded.add(path.toLowerCase());
    index.set(path, sha256);
    previous = path;
  }
  return index;
}

/** Compares a run folder with its index: the same files, no more, no fewer, each with its digest. Returns their bytes' sum. */
export async function checkClosedSet(runFolder: string, index: EvidenceIndex): Promise<number> {
  const found = new Set(await listFiles(runFolder));
  for (const path of found) {
    if (!index.has(path) && !UNLISTED.has(path))
      throw invalid(path, `is not listed in ${INDEX_FILE}: it was added later`);
  }
  let bytes = 0;
  for (const [path, expected] of index) {
    if (!found.has(path)) throw invalid(path, `is missing; ${INDEX_FILE} lists it`);
    const { sha256, sizeBytes } = await hashFile(runFolder, path);
    if (sha256 !== expected)
      throw invalid(path, `has changed: its SHA-256 is ${sha256}, ${INDEX_FILE} says ${expected}`);
    bytes += sizeBytes;
  }
  return bytes;
}

/** Bytes of one listed file, which must still have the digest of the index: what is parsed is what was checked. */
export async function readListed(runFolder: string, index: EvidenceIndex, path: string): Promise<Buffer> {
  const expected = index.get(path);
  if (expected === undefined)
    throw invalid(path, `is not listed in ${INDEX_FILE}, but this run cannot do without it`);
  const bytes = await readRegular(runFolder, path);
  if (createHash('sha256').update(bytes).digest('hex') !== expected)
    throw invalid(path, 'changed while it was checked');
  return bytes;
}

/** Bytes of a file that must be a plain file, not a link to elsewhere, and no longer than any that a run writes. */
export async function readRegular(runFolder: string, path: string): Promise<Buffer> {
  const file = await openRegular(runFolder, path);
  try {
    const { size } = fstatSync(file.fd);
    if (size > MOST_BYTES) throw invalid(path, `is ${size} bytes long; at most ${MOST_BYTES} are read`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Every file below the folder, sorted by bytes of the path. Links, devices and odd names are refused. */
export async function listFiles(runFolder: string, below = ''): Promise<string[]> {
  const paths: string[] = [];
  for (const entry of await readdir(join(runFolder, below), { withFileTypes: true })) {
    const path = below + entry.name;
    if (!PATH.test(path)) throw invalid(JSON.stringify(path), 'has a name that no run writes');
    if (entry.isDirectory()) paths.push(...(await listFiles(runFolder, `${path}/`)));
    else if (entry.isFile()) paths.push(path);
    else throw invalid(path, 'is not a plain file: links and devices are refused');
  }
  return paths.sort();
}

async function hashFile(runFolder: string, path: string): Promise<{ sha256: string; sizeBytes: number }> {
  const file = await openRegular(runFolder, path);
  const hash = createHash('sha256');
  let sizeBytes = 0;
  try {
    // Most files of a run are short: each turn through the event loop would cost more than the hashing.
    const { size } = fstatSync(file.fd);
    const chunk = Buffer.allocUnsafe(Math.min(size, CHUNK_BYTES) + 1);
    for (let read = -1; read !== 0; sizeBytes += read) {
      read = readSync(file.fd, chunk);
      hash.update(chunk.subarray(0, read));
    }
  } finally {
    await file.close();
  }
  return { sha256: hash.digest('hex'), sizeBytes };
}

async function openRegular(runFolder: string, path: string): Promise<FileHandle> {
  // Non-blocking, so that a pipe put in a file's place cannot hang the verifier.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  let file: FileHandle;
  try {
    file = await open(join(runFolder, path), flags);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : cause;
    throw invalid(
      path,
      code === 'ENOENT' ? 'is missing' : `cannot be read as a plain file (${String(code)})`,
      cause,
    );
  }
  if (fstatSync(file.fd).isFile()) return file;
  await file.close();
  throw invalid(path, 'is not a plain file');
}
