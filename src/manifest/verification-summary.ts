/**
 * The summary of a verification, as SLSA VSA v1: a verifier's word that it replayed a run under a trust policy, and when. It is signed by
 * another key than the run, and outlives that key's compromise.
 */
import { z } from 'zod';
import { canonicalJson } from '../digest.js';
import { harnessVersion } from '../harness.js';
import { MANIFEST_FILE } from './evidence-index.js';
import {
  digestSchema,
  evidenceDigest,
  STATEMENT_TYPE,
  type Statement,
  statementSchema,
} from './statement.js';

export const SUMMARY_TYPE = 'https://slsa.dev/verification_summary/v1';
/** An identifier, compared as a string. Who the verifier is, its key says. */
export const VERIFIER_ID = 'https://github.com/qualify-dev/qualify/verifier';
/** What was done: every number was drawn again from the evidence. No level of SLSA's build track is claimed. */
const REPLAYED = 'QUALIFY_REPLAYED';

const referenceSchema = z.strictObject({ uri: z.string(), digest: digestSchema });

export const summarySchema = z.strictObject({
  _type: z.literal(STATEMENT_TYPE),
  subject: statementSchema.shape.subject,
  predicateType: z.literal(SUMMARY_TYPE),
  predicate: z.strictObject({
    verifier: z.strictObject({ id: z.string(), version: z.record(z.string(), z.string()) }),
    timeVerified: z.iso.datetime(),
    /** The evidence, by its digest (RFC 6920). */
    resourceUri: z.string(),
    policy: referenceSchema,
    inputAttestations: z.array(referenceSchema).length(1),
    verificationResult: z.enum(['PASSED', 'FAILED']),
    verifiedLevels: z.array(z.string()),
    slsaVersion: z.literal('1.0'),
  }),
});
export type Summary = z.infer<typeof summarySchema>;

interface SummaryInput {
  /** Of a run that was replayed, by a signer that the policy trusts. */
  statement: Statement;
  /** SHA-256 of the manifest. */
  manifestSha256: string;
  /** Name and SHA-256 of the trust policy. */
  policy: { name: string; sha256: string };
  at: Date;
}

/**
 * The summary of a run that holds. PASSED is what the run itself says: a verdict `pass` about budgets, of something that was measured. All
 * else that holds is FAILED, which still says that this evidence was there at that time.
 */
export function buildSummary({ statement, manifestSha256, policy, at }: SummaryInput): Summary {
  const { subject } = statement;
  const passed = hasPassed(statement);
  const evidence = Buffer.from(evidenceDigest(statement), 'hex').toString('base64url');
  return {
    _type: STATEMENT_TYPE,
    subject,
    predicateType: SUMMARY_TYPE,
    predicate: {
      verifier: { id: VERIFIER_ID, version: { qualify: harnessVersion } },
      timeVerified: at.toISOString(),
      resourceUri: `ni:///sha-256;${evidence}`,
      policy: { uri: policy.name, digest: { sha256: policy.sha256 } },
      inputAttestations: [{ uri: MANIFEST_FILE, digest: { sha256: manifestSha256 } }],
      verificationResult: passed ? 'PASSED' : 'FAILED',
      // SLSA has this word where the result is FAILED.
      verifiedLevels: [passed ? REPLAYED : 'FAILED'],
      slsaVersion: '1.0',
    },
  };
}

/** An ablation judges no budget, and a simulation measures nothing: their `pass` is none of a change. Nor is that of a planted slowdown. */
const hasPassed = ({ predicate: { result, complete, design, simulation, arms } }: Statement): boolean =>
  result === 'pass' &&
  complete &&
  design === undefined &&
  simulation === undefined &&
  arms.every(({ plantedSlowdownPercent }) => plantedSlowdownPercent === undefined);

/** The bytes that are signed: RFC 8785. */
export const serializeSummary = (summary: Summary): Buffer => Buffer.from(canonicalJson(summary), 'utf8');
