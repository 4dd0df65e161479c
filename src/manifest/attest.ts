/** Writes the summary of a verification: one line, the envelope of a SLSA VSA. */
import { basename } from 'node:path';
import { sha256 } from '../digest.js';
import { QualifyError } from '../errors.js';
import { requireOutside, writeNew } from '../machine/write-new.js';
import { signEnvelope } from './envelope.js';
import type { SigningKey } from './key-store.js';
import { buildSummary, type Summary, serializeSummary } from './verification-summary.js';
import type { Verification } from './verify.js';

export interface AttestOptions {
  /** Where the summary goes; outside of the run, and not there yet. */
  path: string;
  /** Nothing is read from it: what is attested is what was verified. */
  runFolder: string;
  /** Of a run that holds, by a signer that the policy trusts. */
  verification: Pick<Verification, 'statement' | 'signer' | 'manifestSha256'>;
  policy: { path: string; bytes: Uint8Array };
  key: SigningKey;
  at: Date;
}

/**
 * @throws ERR_QUALIFY_SELF_ATTESTED (exit 64) for the key that signed the run itself, ERR_QUALIFY_EXISTS and ERR_QUALIFY_USAGE (exit 64)
 * for a place where nothing may be written, and else what `writeNew` throws
 */
export async function attest({
  path,
  runFolder,
  verification,
  policy,
  key,
  at,
}: AttestOptions): Promise<Summary> {
  refuseOwnRun(key, verification);
  requireOutside(path, runFolder);
  const summary = buildSummary({
    statement: verification.statement,
    manifestSha256: verification.manifestSha256,
    policy: { name: basename(policy.path), sha256: sha256(policy.bytes) },
    at,
  });
  const line = await signEnvelope(serializeSummary(summary), key);
  await writeNew(path, line);
  return summary;
}

/** A signer who vouches for itself adds nothing to what it signed. */
function refuseOwnRun(key: SigningKey, { signer }: AttestOptions['verification']): void {
  if (key.publicKey.pem !== signer.key.pem) return;
  throw new QualifyError('ERR_QUALIFY_SELF_ATTESTED', `${signer.key.keyId} signed the run itself`, {
    exit: 'usage',
    hint: 'A summary is the word of somebody else: sign it with another key, --as NAME.',
  });
}
