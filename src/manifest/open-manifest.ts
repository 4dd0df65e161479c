/** Opens the manifest of a run folder: who signed, and the statement that they signed. Nothing of the run itself is read yet. */
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../digest.js';
import { conform } from '../faults.js';
import { harnessVersion } from '../harness.js';
import { openEnvelope, type SealedPayload, STATEMENT_LIMITS } from './envelope.js';
import { KEY_FILE, MANIFEST_FILE, readRegular } from './evidence-index.js';
import { invalid } from './invalid.js';
import { readManifest } from './manifest.js';
import { checkTravellingKey, chooseSigner, type KeysOfPolicy, type Signer, wrongKey } from './signer.js';
import { BUNDLE_FILE, bundleOf } from './sigstore-bundle.js';
import { checkSsh, SSH_SIGNATURE_FILE } from './ssh-signature.js';
import { PREDICATE_TYPE, type Statement, statementSchema } from './statement.js';
import { parseStrictJson } from './strict-json.js';
import { serializeTestResult, testResultOf } from './test-result.js';
import { withVersions } from './versions.js';

/** Which keys may have signed. */
export interface KeyChoice {
  /** A key file or a fingerprint; only this key will do. */
  key?: string;
  /** The keys of the trust policy `file`; only one of these will do. Not together with `key`. */
  among?: KeysOfPolicy;
  /** The user's keys; the default folder unless a test gives another. */
  keyFolder?: string;
}

/** A manifest whose signatures hold. */
export interface OpenManifest {
  signer: Signer;
  statement: Statement;
  /** The bytes of the statement that were signed. */
  payload: Buffer;
  /** SHA-256 of the whole manifest. */
  manifestSha256: string;
  /** Manifest, bundle, key and SSH signature by name, as they were read and checked; the last two where they are there. */
  files: ReadonlyMap<string, Buffer>;
}

/** Envelopes, key, signatures, and only then the payloads: the bytes that were signed are the bytes that are parsed. */
export async function openManifest(runFolder: string, options: KeyChoice): Promise<OpenManifest> {
  const bytes = await readRegular(runFolder, MANIFEST_FILE);
  const { observation, testResult, firstLine } = readManifest(bytes);
  const travelling = await readIfThere(runFolder, KEY_FILE);
  const signer = await chooseSigner({
    asked: options.key,
    among: options.among,
    travelling,
    claimedKeyId: observation.claimedKeyId,
    ...(options.keyFolder === undefined ? {} : { folder: options.keyFolder }),
  });
  const payload = openEnvelope(observation, signer.key, (claimed) => wrongKey(signer, claimed));
  checkTravellingKey(travelling, signer.key);
  const statement = readStatement(payload, signer);
  checkTestResult(testResult, statement, signer);
  const copies = await readCopies(runFolder, { bytes, firstLine }, signer);
  const files = new Map([
    [MANIFEST_FILE, bytes],
    ...copies,
    ...(travelling ? [[KEY_FILE, travelling] as const] : []),
  ]);
  return { signer, statement, payload, manifestSha256: sha256(bytes), files };
}

/** Line 2 says what follows from line 1, in the one spelling that it has. */
function checkTestResult(sealed: SealedPayload, statement: Statement, signer: Signer): void {
  const payload = openEnvelope(sealed, signer.key, (claimed) => wrongKey(signer, claimed));
  if (!serializeTestResult(testResultOf(statement)).equals(payload))
    throw withVersions(
      invalid(MANIFEST_FILE, 'line 2 has a test result that does not follow from line 1'),
      statement.predicate.harness.version,
    );
}

/** What other tools read instead of the manifest must not say anything else. */
async function readCopies(
  runFolder: string,
  manifest: { bytes: Buffer; firstLine: string },
  { key }: Signer,
): Promise<[string, Buffer][]> {
  const bundle = await readRegular(runFolder, BUNDLE_FILE);
  if (!Buffer.from(bundleOf(manifest.firstLine, key.keyId)).equals(bundle))
    throw invalid(BUNDLE_FILE, `is not the bundle of the first line of ${MANIFEST_FILE}`);
  const sshSignature = await readIfThere(runFolder, SSH_SIGNATURE_FILE);
  if (sshSignature === null) return [[BUNDLE_FILE, bundle]];
  checkSsh(sshSignature, manifest.bytes, key);
  return [
    [BUNDLE_FILE, bundle],
    [SSH_SIGNATURE_FILE, sshSignature],
  ];
}

/** Where every version of the statement names the harness. */
const versionSchema = z.object({ predicate: z.object({ harness: z.object({ version: z.string() }) }) });

function readStatement(payload: Buffer, signer: Signer): Statement {
  const value = parseStrictJson(payload, { file: MANIFEST_FILE, ...STATEMENT_LIMITS });
  const type = z.object({ predicateType: z.string() }).safeParse(value).data?.predicateType;
  if (type !== PREDICATE_TYPE) {
    throw invalid(MANIFEST_FILE, `has the predicate type ${JSON.stringify(type)}, not ${PREDICATE_TYPE}`);
  }
  const statement = conform(statementSchema, value, (faults) =>
    withVersions(
      invalid(MANIFEST_FILE, `holds no statement of a run:${faults}`),
      versionSchema.safeParse(value).data?.predicate.harness.version ?? harnessVersion,
    ),
  );
  const { signer: named } = statement.predicate;
  if (named !== signer.key.keyId)
    throw invalid(MANIFEST_FILE, `was made by ${named} and signed again by ${signer.key.keyId}`);
  return statement;
}

async function readIfThere(runFolder: string, path: string): Promise<Buffer | null> {
  const there = await lstat(join(runFolder, path)).catch(() => null);
  return there && readRegular(runFolder, path);
}
