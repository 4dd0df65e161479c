/**
 * Takes a stranger's archive apart, into a new folder. Only the one form that `pack` writes is taken, block by block, so that nothing is
 * left to how a reader of archives understands links, long names, holes or entries that come twice; and so that what was
 * unpacked gives the same archive again.
 */
import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Header } from 'tar';
import { QualifyError } from '../errors.js';
import { SESSION } from '../plan/schema.js';
import { masked } from '../report/escape.js';
import { explainSystemError } from '../system-error.js';
import {
  ARCHIVE_LIMITS,
  type ArchiveLimits,
  BLOCK_BYTES,
  encodeHeader,
  paddingOf,
} from './archive-format.js';
import { isRunPath } from './evidence-index.js';

const CHUNK_BYTES = 1024 * 1024;
/** The longest plan makes some 12 000; an archive of empty files could otherwise make far more than it has bytes for. */
const MOST_FOLDERS = 20_000;
const NOTHING = Buffer.alloc(BLOCK_BYTES);

export interface ExtractOptions {
  limits?: ArchiveLimits;
}

/** What an archive held. Nothing of it is verified yet. */
export interface Extracted {
  /** The one folder in `into`; verified runs have to be of this session. */
  session: string;
  files: number;
  /** Of the archive. */
  sha256: string;
}

/**
 * Extracts the archive `path` into the empty folder `into`, which the caller removes when this throws.
 * @throws QualifyError `ERR_QUALIFY_ARCHIVE` (exit 16), naming the entry, for anything that `pack` does not write; (64) when there is no such
 * file.
 */
export async function extractArchive(
  path: string,
  into: string,
  { limits = ARCHIVE_LIMITS }: ExtractOptions = {},
): Promise<Extracted> {
  const file = await openArchive(path);
  try {
    const blocks = new Blocks(path, file, (await file.stat()).size);
    const entries = new Entries(path, limits);
    for (;;) {
      const block = await blocks.take(BLOCK_BYTES);
      if (block.equals(NOTHING)) break;
      const { name, sizeBytes } = entries.next(block, blocks.left);
      await extractFile(blocks, join(into, name), sizeBytes);
      const padding = await blocks.take(paddingOf(sizeBytes));
      if (padding.some((byte) => byte !== 0))
        throw refusedArchive(path, `has bytes behind the end of ${name}`);
    }
    const last = await blocks.take(BLOCK_BYTES);
    if (!last.equals(NOTHING) || blocks.left > 0) throw refusedArchive(path, 'goes on after its end');
    return { ...entries.done(), sha256: blocks.hash.digest('hex') };
  } finally {
    await file.close();
  }
}

async function openArchive(path: string): Promise<FileHandle> {
  let file: FileHandle;
  try {
    // Non-blocking, so that a pipe in the archive's place cannot hang us.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw unreadable(path, cause);
  }
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw noArchive(`${path} is not a regular file`, path);
}

const noArchive = (message: string, path: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_ARCHIVE', message, {
    exit: 'usage',
    where: path,
    hint: 'Give a file that `qualify pack` wrote.',
    cause,
  });

const unreadable = (path: string, cause: unknown): QualifyError =>
  noArchive(`${path} cannot be read (${(cause as NodeJS.ErrnoException).code})`, path, cause);

/** The bytes of the archive in order, none twice, hashed as they come. */
class Blocks {
  readonly hash: Hash = createHash('sha256');
  readonly #path: string;
  readonly #file: FileHandle;
  /** Bytes that were not taken yet. */
  left: number;

  constructor(path: string, file: FileHandle, sizeBytes: number) {
    this.#path = path;
    this.#file = file;
    this.left = sizeBytes;
  }

  /** Exactly so many bytes. */
  async take(count: number): Promise<Buffer> {
    const bytes = Buffer.alloc(count);
    for (let at = 0; at < count; ) {
      const { bytesRead } = await this.#file.read(bytes, at, count - at).catch((cause: unknown) => {
        throw unreadable(this.#path, cause);
      });
      if (bytesRead === 0) throw refusedArchive(this.#path, 'was cut off');
      at += bytesRead;
    }
    this.left -= count;
    this.hash.update(bytes);
    return bytes;
  }
}

/** The entries so far, and what follows from them for the next. */
class Entries {
  readonly #path: string;
  readonly #limits: ArchiveLimits;
  readonly #folded = new Set<string>();
  readonly #folders = new Set<string>();
  #session: string | undefined;
  #previous = '';
  #files = 0;
  #bytes = 0;

  constructor(path: string, limits: ArchiveLimits) {
    this.#path = path;
    this.#limits = limits;
  }

  /** Reads a header; `left` bytes of the archive come after it. */
  next(block: Buffer, left: number): { name: string; sizeBytes: number } {
    const { name, sizeBytes } = this.#read(block);
    this.#checkName(name);
    if (sizeBytes > left) throw refusedArchive(this.#path, `was cut off: ${name} has ${sizeBytes} bytes`);
    this.#files += 1;
    this.#bytes += sizeBytes;
    if (this.#files > this.#limits.files)
      throw refusedArchive(this.#path, `holds more than ${this.#limits.files} files`);
    if (this.#bytes > this.#limits.bytes)
      throw refusedArchive(this.#path, `holds more than ${this.#limits.bytes} bytes`);
    return { name, sizeBytes };
  }

  done(): { session: string; files: number } {
    if (this.#session === undefined) throw refusedArchive(this.#path, 'holds nothing');
    return { session: this.#session, files: this.#files };
  }

  #read(block: Buffer): { name: string; sizeBytes: number } {
    const header = decode(block);
    if (header === null || !header.cksumValid)
      throw refusedArchive(this.#path, `is no archive of a run${compressedHint(block)}`);
    const { path: name = '', size: sizeBytes = -1, type } = header;
    const shown = JSON.stringify(name);
    // By what the block says itself; a reader may call a name that ends in a slash a folder.
    if (header.typeKey !== '0')
      throw refusedArchive(this.#path, `holds ${shown}, a ${type}: only plain files are taken`);
    const canonical = encodeHeader(name, sizeBytes);
    if (canonical === null || !canonical.equals(block))
      throw refusedArchive(this.#path, `holds ${shown} with a header that \`qualify pack\` does not write`);
    return { name, sizeBytes };
  }

  #checkName(name: string): void {
    const shown = JSON.stringify(name);
    const at = name.indexOf('/');
    const session = name.slice(0, Math.max(at, 0));
    const file = name.slice(at + 1);
    if (!SESSION.test(session) || !isRunPath(file))
      throw refusedArchive(this.#path, `holds ${shown}, a name that no run has`);
    this.#session ??= session;
    if (session !== this.#session)
      throw refusedArchive(this.#path, `holds two folders: ${this.#session} and ${session}`);
    if (name <= this.#previous) throw refusedArchive(this.#path, `holds ${shown} out of order or twice`);
    this.#previous = name;
    this.#checkPlace(name, shown);
  }

  /** On a disk that does not tell capitals from small letters, nothing may come to lie on or below something else either. */
  #checkPlace(name: string, shown: string): void {
    const folded = name.toLowerCase();
    if (this.#folded.has(folded)) throw refusedArchive(this.#path, `holds ${shown} twice, but for capitals`);
    if (this.#folders.has(folded))
      throw refusedArchive(this.#path, `holds ${shown} in the place of a folder, but for capitals`);
    for (let at = folded.indexOf('/'); at >= 0; at = folded.indexOf('/', at + 1)) {
      if (this.#folded.has(folded.slice(0, at)))
        throw refusedArchive(this.#path, `holds ${shown} below a file`);
      this.#folders.add(folded.slice(0, at));
    }
    this.#folded.add(folded);
    if (this.#folders.size > MOST_FOLDERS)
      throw refusedArchive(this.#path, `holds more than ${MOST_FOLDERS} folders`);
  }
}

function decode(block: Buffer): Header | null {
  try {
    return new Header(block);
  } catch {
    return null;
  }
}

const compressedHint = (block: Buffer): string =>
  (block[0] === 0x1f && block[1] === 0x8b) || block.readUInt32LE(0) === 0xfd2fb528
    ? ', but something compressed: uncompress it first'
    : '';

async function extractFile(blocks: Blocks, path: string, sizeBytes: number): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(path, 'wx', 0o644);
    try {
      for (let left = sizeBytes; left > 0; ) {
        const bytes = await blocks.take(Math.min(left, CHUNK_BYTES));
        await file.writeFile(bytes);
        left -= bytes.length;
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    throw explainSystemError(error, path);
  }
}

/** What is said of an archive that is not taken. Exit 16. */
export const refusedArchive = (path: string, why: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_ARCHIVE', masked(`${path} ${why}`), {
    exit: 'invalid',
    where: path,
    hint: 'Nothing was unpacked. Fetch the archive again, or ask for one that `qualify pack` made.',
  });
