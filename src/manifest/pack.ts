/** Packs a run that holds into one file, the same bytes on any machine. */
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { QualifyError } from '../errors.js';
import { requireOutside, writeNewBy } from '../machine/write-new.js';
import { ARCHIVE_LIMITS, type ArchiveLimits, END, encodeHeader, paddingOf } from './archive-format.js';
import { readListed } from './evidence-index.js';
import { type Verification, verifyRun } from './verify.js';

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
  const { index, unlisted, record } = verification;
  const { session } = record.plan;
  const path = resolve(out ?? `${session}.tar`);
  requireOutside(path, runFolder);
  // All of it is what was verified: what somebody has added or changed since is left out, or refused.
  const paths = [...index.keys(), ...unlisted.keys()].sort();
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
      const bytes = unlisted.get(name) ?? (await readListed(runFolder, index, name));
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

const notPackable = (why: string, { files, bytes }: ArchiveLimits): QualifyError =>
  new QualifyError('ERR_QUALIFY_NOT_PACKABLE', `The run ${why}.`, {
    exit: 'usage',
    hint: `An archive holds at most ${files} files and ${bytes} bytes; hand on the folder as it is.`,
  });
