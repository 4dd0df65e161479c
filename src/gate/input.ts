/** What a decision is made of: everything read, nothing judged. Plain data, so that `decide` needs no file, no git and no clock. */
import type { Fingerprint } from '../machine/fingerprint.js';
import type { Statement } from '../manifest/statement.js';
import type { Attestation } from '../manifest/trust-judgement.js';
import type { TrustPolicy } from '../manifest/trust-policy.js';
import type { Matrix } from '../matrix/schema.js';
import type { Challenge } from '../plan/challenge.js';
import type { Plan } from '../plan/schema.js';
import type { EvidenceKind } from '../verdict/evidence-kind.js';
import type { Verdict } from '../verdict/schema.js';
import type { GateDecision, Reason } from './decision.js';
import type { GatePolicy } from './policy.js';
import type { WaiverStatement } from './waiver.js';

/** A run that stood up to `verifyRun`. */
export interface VerifiedRun {
  /** SHA-256 of `evidence.sha256`. */
  digest: string;
  /** SHA-256 of its manifest, which is what verifiers attest. */
  manifestSha256: string;
  kind: EvidenceKind;
  statement: Statement;
  plan: Plan;
  verdict: Verdict;
  machine: Fingerprint;
}

/** Something in a folder of manifests that is a run, or says that it is one. */
export interface FoundRun {
  path: string;
  run: VerifiedRun | null;
  /** Why there is no run: `not-verified`, `unfinished`, `not-looked-at`. Null when there is one. */
  failure: Reason | null;
}

export interface FoundWaiver {
  path: string;
  waiver: WaiverStatement | null;
  failure: Reason | null;
}

interface FoundChallenge {
  /** As it was given. */
  path: string;
  challenge: Challenge;
}

/** What the repository says of a commit that a run names. */
export interface CommitFacts {
  /** Git's tree; null when the repository does not have the commit. */
  tree: string | null;
  /** Commits of the base branch that it lacks; null when it is not one of the branch's. */
  behindBase: number | null;
  /** Whether head contains it. */
  isInHead: boolean;
}

export interface GateInput {
  /** RFC 3339. */
  decidedAt: string;
  harness: string;
  policy: GatePolicy;
  /** Of `policy` as it was read. */
  source: GateDecision['policy'];
  trust: TrustPolicy;
  /** What verifiers said of runs, for keys that were compromised later. */
  attestations: readonly Attestation[];
  /** Of each requirement, in order, the matrix that it means. */
  matrices: readonly Matrix[];
  head: GateDecision['head'];
  base: GateDecision['base'];
  commits: ReadonlyMap<string, CommitFacts>;
  runs: readonly FoundRun[];
  waivers: readonly FoundWaiver[];
  /** By commits that waivers are for: the tree that git makes of it and the base, where they merge without a conflict. */
  merged: ReadonlyMap<string, string>;
  /** Those that were issued. */
  challenges: readonly FoundChallenge[];
}
