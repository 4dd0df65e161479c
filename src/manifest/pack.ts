/** Packs a run that holds into one file, the same bytes on any machine. */
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { sha256 } from '../digest.js';
import { QualifyError } from '../errors.js';
import { requireOutside, writeNewBy } from '../machine/write-new.js';
import { ARCHIVE_LIMITS, type ArchiveLimits, END, encodeHeader, paddingOf } from './archive-format.js';
import {
  type EvidenceIndex,
  INDEX_FILE,
  KEY_FILE,
  listFiles,
  MANIFEST_FILE,
  parseIndex,
  readListed,
  readRegular,
} from './evidence-index.js';
import { invalid } from './invalid.js';
import { BUNDLE_FILE } from './sigstore-bundle.js';
import { SSH_SIGNATURE_FILE } from './ssh-signature.js';
import { evidenceDigest, type Statement } from './statement.js';
import { type Verification, verifyRun } from './verify.js';

/** The files that no index lists; the last is there for some keys only. */
const MADE_AFTER_INDEX = [INDEX_FILE, KEY_FILE, MANIFEST_FILE, BUNDLE_FILE, SSH_SIGNATURE_FILE];

interface PackOptions {
  /** The new file; `<session>.tar` in the current folder when absent. */
  out?: string | undefined;
  limits?: ArchiveLimits;
}

export interface PackedRun {
  path: string;
  sizeBytes: number;
  sha256: string;
  files: number;
  verification: Verification;
}

/**
 * Verifies a run folder and packs it.
 * @throws QualifyError what `verifyRun`, `requireOutside` and `writeNewBy` throw; `ERR_QUALIFY_NOT_PACKABLE` (exit 64) for a run that is too large, or a name in
 * it that is too long, for an archive.
 */
export async function packRun(
  runFolder: string,
  { out, limits = ARCHIVE_LIMITS }: PackOptions = {},
): Promise<PackedRun> {
  const verification = await verifyRun(runFolder);
  const { session } = verification.record.plan;
  const path = resolve(out ?? `${session}.tar`);
  requireOutside(path, runFolder);
  const index = await readIndex(runFolder, verification.statement);
  const paths = await listPaths(runFolder, index);
  if (paths.length > limits.files) throw notPackable(`has ${paths.length} files`, limits);
  const hash = createHash('sha256');
  let sizeBytes = 0;
  let contentBytes = 0;
  await writeNewBy(path, async (write) => {
    const put = async (bytes: Uint8Array): Promise<void> => {
      hash.update(bytes);
      sizeBytes += bytes.length;
      await write(bytes);
    };
    for (const name of paths) {
      const bytes = await readPart(runFolder, index, name);
      contentBytes += bytes.length;
      if (contentBytes > limits.bytes) throw notPackable(`has more than ${limits.bytes} bytes`, limits);
      const header = encodeHeader(`${session}/${name}`, bytes.length);
      if (header === null) throw notPackable(`holds ${name}, whose name is too long for an archive`, limits);
      await put(Buffer.concat([header, bytes, Buffer.alloc(paddingOf(bytes.length))]));
    }
    await put(END);
  });
  return { path, sizeBytes, sha256: hash.digest('hex'), files: paths.length, verification };
}

/** The index that was verified, or nothing. */
async function readIndex(runFolder: string, statement: Statement): Promise<EvidenceIndex> {
  const bytes = await readRegular(runFolder, INDEX_FILE);
  if (sha256(bytes) !== evidenceDigest(statement)) throw invalid(INDEX_FILE, 'changed while it was checked');
  return parseIndex(bytes.toString('utf8'));
}

/** What the index lists, and what is made after it; what somebody has added since is left out. In the order of an archive. */
async function listPaths(runFolder: string, index: EvidenceIndex): Promise<string[]> {
  const later = (await listFiles(runFolder)).filter((path) => MADE_AFTER_INDEX.includes(path));
  return [...index.keys(), ...later].sort();
}

/** What the index lists is read as it was verified; the few other files are what was verified by them. */
const readPart = (runFolder: string, index: EvidenceIndex, name: string): Promise<Buffer> =>
  index.has(name) ? readListed(runFolder, index, name) : readRegular(runFolder, name);

const notPackable = (why: string, { files, bytes }: ArchiveLimits): QualifyError =>
  new QualifyError('ERR_QUALIFY_NOT_PACKABLE', `The run ${why}.`, {
    exit: 'usage',
    hint: `An archive holds at most ${files} files and ${bytes} bytes; hand on the folder as it is.`,
  });
