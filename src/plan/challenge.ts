/**
 * A challenge: the question that somebody else chose. Its nonce cannot be foreseen and seeds order and prompts, so that a run that
 * answers it was made after it was issued, for this change and no other; `verify` draws every prompt from it again.
 */
import { z } from 'zod';
import { canonicalDigest } from '../digest.js';
import { nameSchema } from '../matrix/schema.js';

const digestSchema = z.string().regex(/^[0-9a-f]{64}$/);
const commitSchema = z.string().regex(/^[0-9a-f]{40}$/);

export const challengeSchema = z.strictObject({
  schemaVersion: z.literal(1),
  /** 32 random bytes, base64url without padding. */
  nonce: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  /** What the change is a change of, as its hosts name it: `https://github.com/org/engine`. Compared as a string. */
  repository: z.string().min(1).max(300),
  /** Null where there is no pull request. */
  pullRequest: z.int().min(1).nullable(),
  head: commitSchema,
  base: commitSchema,
  matrix: z.strictObject({ name: nameSchema, digest: digestSchema }),
  /** SHA-256 of the bytes of the gate's policy; null where no gate will read the answer. */
  policy: digestSchema.nullable(),
  issuedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});

export type Challenge = z.infer<typeof challengeSchema>;

/** Seed of the plan that answers: 64 hex digits over the whole challenge (RFC 8785), so that no part of it can be changed. */
export const challengeSeed = (challenge: Challenge): string => canonicalDigest(challenge);
