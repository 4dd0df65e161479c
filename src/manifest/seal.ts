/** Seals a finished run folder: index, statement, envelope, public key. */
import { lstat, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../digest.js';
import { QualifyError } from '../errors.js';
import { replaceFile } from '../machine/replace-file.js';
import { planDigest } from '../plan/build.js';
import { buildStatement } from './build-statement.js';
import {
  type EvidenceIndex,
  formatIndex,
  KEY_FILE,
  MANIFEST_FILE,
  readRegular,
  writeEvidenceIndex,
} from './evidence-index.js';
import type { SigningKey } from './key-store.js';
import { signedFiles } from './manifest.js';
import { readRecord } from './run-folder.js';
import type { Statement } from './statement.js';

/** What sealing made. */
export interface SealedRun {
  path: string;
  keyId: string;
  statement: Statement;
}

/**
 * Writes `evidence.sha256`, `key.pub.pem` and the signed files into a run folder whose every other file is written.
 * The statement is made from the files on disk, not from what the session remembers. A sealed folder is not sealed again. The manifest
 * comes last and whole: a folder that has it is sealed, and one whose session was killed before has none.
 */
export async function seal(runFolder: string, key: SigningKey): Promise<SealedRun> {
  const path = join(runFolder, MANIFEST_FILE);
  if ((await lstat(path).catch(() => null)) !== null) throw notSealed(path, new Error(`${path} exists`));
  const index = await writeEvidenceIndex(runFolder);
  const record = await readRecord((path) => readRegular(runFolder, path));
  const statement = buildStatement({
    ...record,
    planDigest: planDigest(record.plan),
    evidence: await describeEvidence(runFolder, index),
    signer: key.publicKey.keyId,
  });
  const { [MANIFEST_FILE]: manifest, ...beside } = await signedFiles(statement, key);
  try {
    for (const [file, text] of Object.entries({ [KEY_FILE]: key.publicKey.pem, ...beside }))
      await replaceFile(join(runFolder, file), text);
    await replaceFile(path, manifest);
  } catch (cause) {
    throw cause instanceof QualifyError ? cause : notSealed(path, cause);
  }
  return { path, keyId: key.publicKey.keyId, statement };
}

const notSealed = (path: string, cause: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_SEAL', `${path} cannot be written`, {
    exit: 'infrastructure',
    where: path,
    hint: 'A run folder is sealed once; look at its owner, its mode and the free space of its disk.',
    cause,
  });

async function describeEvidence(
  runFolder: string,
  index: EvidenceIndex,
): Promise<{ sha256: string; files: number; bytes: number }> {
  let bytes = 0;
  for (const path of index.keys()) bytes += (await stat(join(runFolder, path))).size;
  return { sha256: sha256(formatIndex(index)), files: index.size, bytes };
}
