/**
 * The trust policy (`qualify.trust.json`): whose keys count, for what, on which machines and when. It lies in the repository whose
 * changes are gated and is read from the base revision, so that no change can bring its own trust along.
 */
import { z } from 'zod';
import { sha256Schema } from '../plan/schema.js';

/** `observer` signs runs, `verifier` signs summaries of verification, `maintainer` signs waivers. */
export const roleSchema = z.enum(['observer', 'verifier', 'maintainer']);
export type Role = z.infer<typeof roleSchema>;

export const trustedKeySchema = z.strictObject({
  /** `SHA256:…` as `ssh-keygen -lf` prints it. Must be what follows from `publicKey`. */
  keyId: z.string().regex(/^SHA256:[A-Za-z0-9+/]{43}$/),
  /** One line as OpenSSH writes it: `ssh-ed25519 AAAA…` or `ecdsa-sha2-nistp256 AAAA…`, with or without a comment. */
  publicKey: z.string(),
  roles: z.array(roleSchema).min(1),
  /** Ids of the machines (`machineId` of the journal) whose runs an observer may sign; absent for any. */
  machines: z.array(sha256Schema).min(1).optional(),
  notBefore: z.iso.datetime().optional(),
  notAfter: z.iso.datetime().optional(),
  /**
   * `superseded`: what was signed before `since` stays good. `compromised`: nothing that the key signed counts, whatever date it states,
   * unless a verifier of this policy attested it before `since`.
   */
  revoked: z
    .strictObject({ since: z.iso.datetime(), reason: z.enum(['superseded', 'compromised']) })
    .optional(),
});
export type TrustedKey = z.infer<typeof trustedKeySchema>;

export const trustPolicySchema = z.strictObject({
  schemaVersion: z.literal(1),
  /** After this the policy itself no longer counts: a forgotten list of keys is not trusted for ever. */
  expires: z.iso.datetime().optional(),
  keys: z.array(trustedKeySchema).max(1000),
});
export type TrustPolicy = z.infer<typeof trustPolicySchema>;

/** The file's name in a repository, unless a gate's policy names another. */
export const TRUST_FILE = 'qualify.trust.json';
