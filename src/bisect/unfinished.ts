/** Finds a bisection of the same question that did not come to its end, so that the same command line goes on with it. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Bisection, isUnfinished, readBisection } from './result.js';

/** What two bisections have in common when one can go on with the other's sessions. */
export type Question = Pick<
  Bisection,
  'good' | 'bad' | 'firstParent' | 'cell' | 'marginPercent' | 'rounds' | 'harness'
> & { matrix: { digest: string } };

const isSame = (one: Question, other: Question): boolean =>
  one.good === other.good &&
  one.bad === other.bad &&
  one.firstParent === other.firstParent &&
  one.cell === other.cell &&
  one.marginPercent === other.marginPercent &&
  one.rounds === other.rounds &&
  one.harness === other.harness &&
  one.matrix.digest === other.matrix.digest;

/**
 * The latest bisection of this question below `folder`, when it is unfinished; null otherwise. One of another version of qualify is
 * another question: its rule may be another.
 */
export function unfinishedBisection(folder: string, question: Question): Bisection | null {
  // Names begin with the time, so that they sort by it.
  const names = existsSync(folder) ? readdirSync(folder).toSorted().reverse() : [];
  for (const name of names) {
    const found = readBisection(join(folder, name));
    if (found === null || found.id !== name || !isSame(found, question)) continue;
    return isUnfinished(found) ? found : null;
  }
  return null;
}
