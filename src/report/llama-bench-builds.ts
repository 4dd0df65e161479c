/**
 * What llama-bench calls a build: eight hex digits of a commit. Its compare script cuts all of them to the length of the shortest and joins rows by
 * them, of several runs too, so that each arm has eight that tell what it is.
 */
import { canonicalDigest, sha256 } from '../digest.js';
import type { EntryOf } from '../journal/entries.js';
import type { ReportContext } from './context.js';

const DIGITS = 8;

/** Whether an arm adds nothing to its commit: what its digits name is then the whole truth. */
const isEmpty = (own: object): boolean =>
  Object.values(own).every((value) => typeof value === 'object' && Object.keys(value).length === 0);

/**
 * The digits by arm: those of its commit for an arm that is this clean commit without switches, arguments or anything else of its own; for any
 * other those of SHA-256 over the RFC 8785 JSON of its sources and of the arm without its name, so that they do not depend on the other arms.
 * Of arms that are the same, the first in the order of the plan has these; for each other they are hashed once more.
 */
export function llamaBenchBuilds({ entries, plan }: ReportContext): Map<string, string> {
  const builds = entries.filter((entry): entry is EntryOf<'build'> => entry.kind === 'build');
  const digits = new Map<string, string>();
  const isTaken = (one: string): boolean => [...digits.values()].includes(one);
  for (const { name, revision: requested, engine, control, telemetry, ...rest } of plan.arms) {
    const own = { ...rest, ...(telemetry === false && { telemetry }) };
    const build = builds.find(({ arms }) => arms.includes(name));
    const { commit = null, tree = requested, dirty = false } = build?.revision ?? {};
    const folder = build?.folderSha256 ?? null;
    const isCommit = commit !== null && !dirty && isEmpty(own);
    let digest = canonicalDigest({ commit, tree, dirty, folder, engine, ...own });
    if (isCommit && !isTaken(commit.slice(0, DIGITS))) digest = commit;
    while (isTaken(digest.slice(0, DIGITS))) digest = sha256(digest);
    digits.set(name, digest.slice(0, DIGITS));
  }
  return digits;
}
