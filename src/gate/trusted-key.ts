/** Whether a key may say what it says, by the trust policy of the base. Pure. */
import { parsePublicKey } from '../manifest/public-key.js';
import { judgeTrust, type TrustQuestion } from '../manifest/trust-judgement.js';
import type { Reason } from './decision.js';
import type { GateInput } from './input.js';

/** What is asked of the policy. The name of a key is a digest of it, so that the policy's key of that name is the one that signed. */
type Signed = Omit<TrustQuestion, 'key' | 'attestations'> & { keyId: string };

/** Why the signature does not count, by the codes of `qualify verify --trust`, or null when it does. */
export function judgeSigner(
  { trust, attestations, decidedAt }: Pick<GateInput, 'trust' | 'attestations' | 'decidedAt'>,
  signed: Signed,
): Reason | null {
  const { keyId, ...question } = signed;
  const entry = trust.keys.find((candidate) => candidate.keyId === keyId);
  if (entry === undefined)
    return { code: 'unknown-key', message: `the trust policy does not have the key ${keyId}` };
  const key = parsePublicKey(entry.publicKey, 'the trust policy');
  const judgement = judgeTrust(trust, { ...question, key, attestations }, new Date(decidedAt));
  return judgement.trusted ? null : { code: judgement.code, message: judgement.message };
}
