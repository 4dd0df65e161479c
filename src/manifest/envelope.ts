/**
 * The DSSE envelope: what a statement travels in. One payload type, one signature, one spelling, which is one line:
 * `qualify` takes exactly the bytes that it would write, so that no byte of a run folder can change unnoticed.
 */
import { z } from 'zod';
import type { QualifyError } from '../errors.js';
import { conform } from '../faults.js';
import { decodeBase64 } from './base64.js';
import { invalid } from './invalid.js';
import type { SigningKey } from './key-store.js';
import { preAuthenticationEncoding } from './pae.js';
import type { PublicKey } from './public-key.js';
import { isSignedBy, signatureProblem } from './signature.js';
import { parseStrictJson } from './strict-json.js';

/** The only payload type that is signed or accepted; compared before anything is decoded (type confusion, CVE-2022-35929). */
export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
/** Of an envelope, and of the payload in it. */
export const STATEMENT_LIMITS = { maximumBytes: 32 * 1024 * 1024, maximumDepth: 32 };

const envelopeSchema = z.strictObject({
  payload: z.string(),
  payloadType: z.string(),
  signatures: z.array(z.strictObject({ keyid: z.string(), sig: z.string() })).length(1),
});
type Envelope = z.infer<typeof envelopeSchema>;

/** Where an envelope lies, for messages; `line` counts from 1 and is left out where nobody would ask. */
interface EnvelopePlace {
  readonly file: string;
  readonly line?: number;
}

/** An envelope that has been read, not yet believed. */
export interface SealedPayload {
  readonly place: EnvelopePlace;
  readonly payload: Buffer;
  readonly signature: Buffer;
  /** Unauthenticated until `openEnvelope` has compared it with the key's own name. */
  readonly claimedKeyId: string;
}

/** The line of the envelope over `payload`, signed by `key`, with its newline. */
export async function signEnvelope(payload: Uint8Array, key: SigningKey): Promise<string> {
  const signature = await key.sign(preAuthenticationEncoding(PAYLOAD_TYPE, payload));
  return serialize({
    payload: Buffer.from(payload).toString('base64'),
    payloadType: PAYLOAD_TYPE,
    signatures: [{ keyid: key.publicKey.keyId, sig: signature.toString('base64') }],
  });
}

/** Reads the line of an envelope, with its newline, strictly. Throws a `QualifyError` (exit `invalid`). */
export function readEnvelope(bytes: Uint8Array, place: EnvelopePlace): SealedPayload {
  const value = parseStrictJson(bytes, { file: place.file, ...STATEMENT_LIMITS });
  const envelope = conform(envelopeSchema, value, (faults) =>
    refusal(place, `is no DSSE envelope:${faults}`),
  );
  if (envelope.payloadType !== PAYLOAD_TYPE) {
    throw refusal(place, `has the payload type ${JSON.stringify(envelope.payloadType)}, not ${PAYLOAD_TYPE}`);
  }
  const payload = decodeBase64(envelope.payload);
  if (!payload) throw refusal(place, 'has a payload that is not standard padded base64');
  const entry = envelope.signatures[0];
  const signature = entry && decodeBase64(entry.sig);
  if (!entry || !signature) throw refusal(place, 'has a signature that is not standard padded base64');
  if (!Buffer.from(serialize(envelope)).equals(bytes)) {
    throw refusal(place, 'is not spelt as qualify writes it (whitespace or order of keys differs)');
  }
  return { place, payload, signature, claimedKeyId: entry.keyid };
}

/**
 * The payload, once `key` is shown to have signed it. `wrongKey` is the error when the signature does not match and the
 * envelope names another key. Throws a `QualifyError` (exit `invalid`).
 */
export function openEnvelope(
  sealed: SealedPayload,
  key: PublicKey,
  wrongKey: (claimedKeyId: string) => QualifyError,
): Buffer {
  if (!isSignedBy(key, preAuthenticationEncoding(PAYLOAD_TYPE, sealed.payload), sealed.signature)) {
    if (sealed.claimedKeyId !== key.keyId) throw wrongKey(sealed.claimedKeyId);
    const problem = signatureProblem(key, sealed.signature);
    if (problem !== null) throw refusal(sealed.place, `has a signature that ${problem}`);
    throw refusal(
      sealed.place,
      `does not match its signature by ${key.keyId}: the content was changed after signing, or the signature was`,
    );
  }
  if (sealed.claimedKeyId !== key.keyId) {
    throw refusal(
      sealed.place,
      `names the key ${JSON.stringify(sealed.claimedKeyId)} but is signed by ${key.keyId}`,
    );
  }
  return sealed.payload;
}

function serialize({ payload, payloadType, signatures }: Envelope): string {
  const [signature] = signatures;
  return `${JSON.stringify({ payload, payloadType, signatures: [{ keyid: signature?.keyid, sig: signature?.sig }] })}\n`;
}

function refusal({ file, line }: EnvelopePlace, why: string): QualifyError {
  return invalid(file, line === undefined ? why : `line ${line} ${why}`);
}
