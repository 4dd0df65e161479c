/**
 * The manifest: `qualification.intoto.jsonl`, two lines by one key, and what is made of it for the tools of others. Line 1 is what was
 * observed, line 2 the same as a test result. Nothing here reads or writes files.
 */
import { readEnvelope, type SealedPayload, signEnvelope } from './envelope.js';
import { MANIFEST_FILE } from './evidence-index.js';
import { invalid } from './invalid.js';
import type { SigningKey } from './key-store.js';
import { BUNDLE_FILE, bundleOf } from './sigstore-bundle.js';
import { SSH_SIGNATURE_FILE, signSsh } from './ssh-signature.js';
import { type Statement, serializeStatement } from './statement.js';
import { serializeTestResult, testResultOf } from './test-result.js';

const NEWLINE = 0x0a;

/** What a key makes of a statement: text of each file by its name. */
interface SignedFiles {
  [MANIFEST_FILE]: string;
  [BUNDLE_FILE]: string;
  /** Not there for a key of another kind than Ed25519. */
  [SSH_SIGNATURE_FILE]?: string;
}

/** The files that carry the signatures of `key`. */
export async function signedFiles(statement: Statement, key: SigningKey): Promise<SignedFiles> {
  const observation = await signEnvelope(serializeStatement(statement), key);
  const manifest = observation + (await signEnvelope(serializeTestResult(testResultOf(statement)), key));
  const sshSignature = await signSsh(Buffer.from(manifest), key);
  return {
    [MANIFEST_FILE]: manifest,
    [BUNDLE_FILE]: bundleOf(observation, key.publicKey.keyId),
    ...(sshSignature !== null && { [SSH_SIGNATURE_FILE]: sshSignature }),
  };
}

/** The two envelopes of a manifest, read and not yet believed, and the spelling of the first. */
interface ManifestLines {
  observation: SealedPayload;
  testResult: SealedPayload;
  firstLine: string;
}

/** Splits a manifest into its two lines and reads each strictly. Throws a `QualifyError` (exit `invalid`). */
export function readManifest(bytes: Buffer): ManifestLines {
  const first = bytes.indexOf(NEWLINE) + 1;
  if (first === 0) throw invalid(MANIFEST_FILE, 'has no line that ends');
  const observation = readEnvelope(bytes.subarray(0, first), { file: MANIFEST_FILE });
  if (bytes.indexOf(NEWLINE, first) + 1 !== bytes.length)
    throw invalid(
      MANIFEST_FILE,
      'does not have exactly two lines: a run has an observation and a test result',
    );
  const testResult = readEnvelope(bytes.subarray(first), { file: MANIFEST_FILE, line: 2 });
  return { observation, testResult, firstLine: bytes.toString('utf8', 0, first) };
}
