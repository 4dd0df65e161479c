/**
 * A waiver: what a maintainer signs to let one cell of one change pass in spite of its result, until a date. An in-toto statement of its
 * own, never a field of a run: who does not know it sees the run fail.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '../digest.js';
import { quoted } from '../explain-issue.js';
import { conform } from '../faults.js';
import { openEnvelope, readEnvelope, signEnvelope } from '../manifest/envelope.js';
import { invalid } from '../manifest/invalid.js';
import type { SigningKey } from '../manifest/key-store.js';
import { parsePublicKey } from '../manifest/public-key.js';
import { STATEMENT_TYPE } from '../manifest/statement.js';
import { parseStrictJson } from '../manifest/strict-json.js';
import type { TrustPolicy } from '../manifest/trust-policy.js';
import { nameSchema } from '../matrix/schema.js';

/** An identifier, compared as a string; nothing is fetched from it. */
const WAIVER_TYPE = 'https://github.com/qualify-dev/qualify/attestation/waiver/v1';

const hashSchema = z.string().regex(/^[0-9a-f]{40}$/);

export const waiverSchema = z.strictObject({
  _type: z.literal(STATEMENT_TYPE),
  /** The commit that is waived for, always first, and its tree. */
  subject: z.tuple([
    z.strictObject({ name: z.string(), digest: z.strictObject({ gitCommit: hashSchema }) }),
    z.strictObject({ name: z.string(), digest: z.strictObject({ gitTree: hashSchema }) }),
  ]),
  predicateType: z.literal(WAIVER_TYPE),
  predicate: z.strictObject({
    schemaVersion: z.literal(1),
    /** Tells two waivers of one cell apart. */
    id: z.uuid(),
    /** Name of the key that signs. */
    signer: z.string(),
    matrix: nameSchema,
    cell: z.string().min(1).max(64),
    reason: z.string().min(1).max(1000),
    issuedAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
  }),
});
export type WaiverStatement = z.infer<typeof waiverSchema>;

export type WaiverTerms = Omit<WaiverStatement['predicate'], 'schemaVersion' | 'id' | 'signer'> & {
  head: { commit: string; tree: string };
};

const LIMITS = { maximumBytes: 65_536, maximumDepth: 16 };

/** What the key of that name is to sign. */
export const waiverOf = ({ head, ...terms }: WaiverTerms, keyId: string): WaiverStatement =>
  waiverSchema.parse({
    _type: STATEMENT_TYPE,
    subject: [
      { name: `head@${head.commit}`, digest: { gitCommit: head.commit } },
      { name: `tree@${head.tree}`, digest: { gitTree: head.tree } },
    ],
    predicateType: WAIVER_TYPE,
    predicate: { schemaVersion: 1, id: randomUUID(), signer: keyId, ...terms },
  } satisfies WaiverStatement);

/** The file of a waiver: one DSSE envelope, by the key that the waiver names. */
export const signWaiver = (waiver: WaiverStatement, key: SigningKey): Promise<string> =>
  signEnvelope(Buffer.from(canonicalJson(waiver)), key);

/**
 * Reads a waiver and checks its signature by a key of the trust policy; whether that key may waive is not asked here.
 * @throws QualifyError exit `invalid` that names the file and why.
 */
export function openWaiver(bytes: Uint8Array, file: string, trust: TrustPolicy): WaiverStatement {
  if (bytes.length > LIMITS.maximumBytes)
    throw invalid(file, `is ${bytes.length} bytes long; a waiver has at most ${LIMITS.maximumBytes}`);
  const sealed = readEnvelope(bytes, { file });
  const signer = trust.keys.find(({ keyId }) => keyId === sealed.claimedKeyId);
  if (signer === undefined)
    throw invalid(file, `names the key ${quoted(sealed.claimedKeyId)}, which the trust policy lacks`);
  const key = parsePublicKey(signer.publicKey, file);
  if (key.keyId !== signer.keyId)
    throw invalid(file, `cannot be checked: the trust policy calls ${key.keyId} ${signer.keyId}`);
  const payload = openEnvelope(sealed, key, () => invalid(file, 'is not signed by the key that it names'));
  const value = parseStrictJson(payload, { file, ...LIMITS });
  const waiver = conform(waiverSchema, value, (faults) => invalid(file, `holds no waiver:${faults}`));
  if (waiver.predicate.signer !== key.keyId)
    throw invalid(file, `was made by ${waiver.predicate.signer} and signed again by ${key.keyId}`);
  return waiver;
}
