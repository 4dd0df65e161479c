/** What a run is about: which of its arms is the change, and what it was compared against. */
import type { Statement } from '../manifest/statement.js';

type Arm = Statement['predicate']['arms'][number];

/** The arm that the others are compared against. */
export const referenceOf = ({ predicate }: Statement): Arm | undefined => predicate.arms[0];

/** Every arm but the reference and the controls. */
export const changesOf = ({ predicate }: Statement): Arm[] =>
  predicate.arms.slice(1).filter(({ control }) => control === undefined);

export const commitOf = (arm: Arm | undefined): string | null => arm?.build?.revision.commit ?? null;

/** Arms whose commit is a subject of the statement, so that it is not the reference's, too, and passes `isHead`. */
export function armsOf(statement: Statement, isHead: (commit: string) => boolean): Arm[] {
  const base = commitOf(referenceOf(statement));
  return changesOf(statement).filter((arm) => {
    const commit = commitOf(arm);
    return commit !== null && commit !== base && isHead(commit);
  });
}

/** Every commit that a run names. */
export const commitsOf = ({ predicate }: Statement): string[] =>
  predicate.arms.map(commitOf).filter((commit) => commit !== null);
