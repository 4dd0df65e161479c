/** A matrix put onto git revisions: its cells, model, protocol and budgets with one arm a revision. Pure. */
import type { RevisionArm } from './lever-off.js';
import type { Arm, Matrix } from './schema.js';

/** Keys whose value is the same in every record. */
function common(records: readonly Record<string, string>[]): Record<string, string> {
  const [first = {}, ...others] = records;
  return Object.fromEntries(
    Object.entries(first).filter(([key, value]) => others.every((other) => other[key] === value)),
  );
}

const same = (lists: readonly (readonly string[])[]): boolean =>
  new Set(lists.map((list) => JSON.stringify(list))).size <= 1;

/**
 * Replaces the arms. What the arms of the matrix have in common stays; what differs between them is dropped and named in
 * `dropped`, because two differences at once (a revision and a switch) could not be told apart.
 */
export function withRevisions(
  matrix: Matrix,
  revisions: readonly RevisionArm[],
): { matrix: Matrix; dropped: string[] } {
  const old = Object.values(matrix.arms);
  const peers = old.some((arm) => arm.engine !== 'embedded') ? ['engine'] : [];
  const switches = common(old.map((arm) => arm.switches));
  const isShared = same(old.map((arm) => arm.arguments));
  const names = new Set(old.flatMap((arm) => Object.keys(arm.switches)));
  const dropped = [...names].filter((name) => !(name in switches));
  const list = isShared ? (old[0]?.arguments ?? []) : [];
  const arms = revisions.map(({ name, revision, switches: own, control }): [string, Arm] => [
    name,
    {
      engine: 'embedded',
      revision,
      switches: { ...switches, ...own },
      arguments: list,
      ...(control !== undefined && { control }),
    },
  ]);
  const { design, ...rest } = matrix;
  const designs = design === undefined ? [] : ['design'];
  return {
    matrix: { ...rest, arms: Object.fromEntries(arms) },
    dropped: [...dropped, ...(isShared ? [] : ['arguments']), ...peers, ...designs],
  };
}

/** Names for arms made of what users call revisions: `HEAD~1` becomes `HEAD-1`, a prebuilt folder its last part. No two are alike. */
export function armNames(revisions: readonly string[]): string[] {
  const names: string[] = [];
  for (const revision of revisions) {
    const shown = revision.startsWith('prebuilt:')
      ? (revision.split('/').findLast((part) => part !== '') ?? '')
      : revision;
    const plain = shown
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 56);
    // Keys that are whole numbers would lose their place in the order of the arms.
    const name = plain === '' || /^\d+$/.test(plain) ? `rev-${plain}` : plain;
    names.push(names.includes(name) ? `${name}-${names.length + 1}` : name);
  }
  return names;
}
