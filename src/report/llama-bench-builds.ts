/**
 * What llama-bench calls a build: eight hex digits of a commit. Its compare script cuts all of them to the length of the shortest and joins rows by
 * them, so that each arm has eight of its own.
 */
import { sha256 } from '../digest.js';
import type { EntryOf } from '../journal/entries.js';
import type { ReportContext } from './context.js';

const DIGITS = 8;

/**
 * The digits by arm, in the order of the plan: those of its commit for the first arm that is this commit and nothing else; for any other
 * those of SHA-256 over the JSON `[commit, arm, dirty]`, with the digest of the tree where there is no commit.
 */
export function llamaBenchBuilds({ entries, plan }: ReportContext): Map<string, string> {
  const builds = entries.filter((entry): entry is EntryOf<'build'> => entry.kind === 'build');
  const digits = new Map<string, string>();
  const isTaken = (one: string): boolean => [...digits.values()].includes(one);
  for (const { name } of plan.arms) {
    const {
      commit = null,
      tree = '',
      dirty = false,
    } = builds.find(({ arms }) => arms.includes(name))?.revision ?? {};
    let own = commit === null || dirty ? null : commit.slice(0, DIGITS);
    for (let digest = sha256(JSON.stringify([commit ?? tree, name, dirty])); own === null || isTaken(own); ) {
      own = digest.slice(0, DIGITS);
      digest = sha256(digest);
    }
    digits.set(name, own);
  }
  return digits;
}
