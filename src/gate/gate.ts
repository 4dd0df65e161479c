/** Gathers what a gate decides on, and has it decided: rules from the base, facts from git, runs and waivers from folders. */
import { harnessVersion } from '../harness.js';
import { readAttestations } from '../manifest/attestations.js';
import { readChallenge } from '../manifest/challenge-file.js';
import { policyKeys } from '../manifest/trust-run.js';
import { readBaseRules } from './base-rules.js';
import { factsOf, headOf, mergedTree, repositoryAt } from './commits.js';
import { decide } from './decide.js';
import type { GateDecision } from './decision.js';
import { findRuns } from './find-runs.js';
import { findWaivers } from './find-waivers.js';
import type { FoundRun, FoundWaiver, GateInput } from './input.js';

export interface GateOptions {
  /** A folder of the repository whose change is gated. */
  repository: string;
  /** Path of the policy below the repository's root. */
  policy: string;
  head: string;
  /** Absent for the main branch. */
  base?: string;
  manifests: readonly string[];
  waivers: readonly string[];
  challenges: readonly string[];
  /** Files with summaries of verifiers. */
  attestations?: readonly string[];
  policyFromDisk: boolean;
  /** RFC 3339; the time of day unless a test gives another. */
  now?: string;
  /** Called before each folder is read. */
  onProgress?: (text: string) => void;
}

/**
 * Decides whether a change may be merged.
 * @throws QualifyError exit `usage` for rules, folders, challenges and revisions that cannot be read; evidence that is wrong is a decision
 */
export const gate = async (options: GateOptions): Promise<GateDecision> => decide(await gather(options));

/** Reads everything that the decision is made of. @throws as `gate` */
export async function gather(options: GateOptions): Promise<GateInput> {
  const { onProgress } = options;
  const repository = await repositoryAt(options.repository);
  const head = await headOf(repository, options.head);
  const { base, rules } = await readBaseRules({
    repository,
    policy: options.policy,
    ...(options.base !== undefined && { base: options.base }),
    fromDisk: options.policyFromDisk,
  });
  const waivers: FoundWaiver[] = [];
  for (const folder of options.waivers) waivers.push(...(await findWaivers(folder, rules.trust)));
  const runs: FoundRun[] = [];
  for (const folder of options.manifests) {
    onProgress?.(`verifying the runs in ${folder}`);
    runs.push(...(await findRuns(folder)));
  }
  const decidedAt = options.now ?? new Date().toISOString();
  const statements = runs.flatMap(({ run }) => (run === null ? [] : [run.statement]));
  return {
    decidedAt,
    harness: harnessVersion,
    policy: rules.policy,
    source: rules.source,
    trust: rules.trust,
    attestations: await readAttestations(
      options.attestations ?? [],
      policyKeys(rules.trust, rules.policy.trust),
    ),
    matrices: rules.matrices,
    head,
    base,
    commits: await factsOf(repository, statements, base.commit, head.commit, [
      options.policy,
      rules.policy.trust,
    ]),
    runs,
    waivers,
    merged: await mergedTrees(repository, base.commit, waivers, decidedAt),
    challenges: options.challenges.map((path) => ({ path, challenge: readChallenge(path) })),
  };
}

/** What a merge queue lands of each change that a waiver is for, were it merged onto the base by itself. Waivers that are over ask for none. */
async function mergedTrees(
  repository: string,
  base: string,
  waivers: readonly FoundWaiver[],
  decidedAt: string,
): Promise<Map<string, string>> {
  const merged = new Map<string, string>();
  for (const { waiver } of waivers) {
    if (waiver === null || Date.parse(waiver.predicate.expiresAt) <= Date.parse(decidedAt)) continue;
    const commit = waiver.subject[0].digest.gitCommit;
    const tree = merged.has(commit) ? null : await mergedTree(repository, base, commit);
    if (tree !== null) merged.set(commit, tree);
  }
  return merged;
}
