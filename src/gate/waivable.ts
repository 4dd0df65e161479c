/** Whether a waiver could ever be used by the rules of the base, before somebody signs it. Pure. */
import { QualifyError } from '../errors.js';
import { cellId } from '../matrix/cell-id.js';
import { shellPath } from '../shell-word.js';
import { suggest } from '../suggest.js';
import type { BaseRules } from './base-rules.js';
import type { GateInput } from './input.js';
import { judgeWaiver } from './judge-waiver.js';
import type { WaiverStatement } from './waiver.js';

/**
 * Refuses a waiver that a gate with these rules would not use for its own head, were it asked at once.
 * @throws QualifyError `ERR_QUALIFY_WAIVER` (exit 64) that says why, and what would be used
 */
export function requireWaivable(
  waiver: WaiverStatement,
  head: GateInput['head'],
  { rules: { policy, source, trust, matrices }, base }: BaseRules,
  decidedAt: string,
): void {
  const { matrix: name, cell, signer } = waiver.predicate;
  const refused = (message: string, hint: string): QualifyError =>
    new QualifyError('ERR_QUALIFY_WAIVER', `No gate would use this waiver: ${message}.`, {
      exit: 'usage',
      where: `${source.path} of ${base.branch}`,
      hint,
    });
  const choice = (given: string, known: readonly string[], what: string): string => {
    const near = suggest(given, known);
    return near === undefined ? `${what}: ${known.join(', ')}` : `Did you mean "${near}"?`;
  };
  const required = policy.require.flatMap(({ matrix, cells }, index) => {
    const all = matrices[index]?.cells.filter(({ required: isRequired }) => isRequired).map(cellId);
    return { matrix, cells: cells ?? all ?? [] };
  });
  const names = [...new Set(required.map(({ matrix }) => matrix))];
  if (!names.includes(name))
    throw refused(`the policy requires no matrix "${name}"`, choice(name, names, 'It requires'));
  const cells = [...new Set(required.flatMap((one) => (one.matrix === name ? one.cells : [])))];
  if (!cells.includes(cell))
    throw refused(`the policy protects no cell "${cell}" of ${name}`, choice(cell, cells, `It protects`));
  const judged = { policy, head, decidedAt, trust, attestations: [], merged: new Map<string, string>() };
  const [against] = judgeWaiver(judged, waiver);
  if (against === undefined) return;
  const otherKey = `Sign with a key that ${source.trust} of ${base.branch} calls a maintainer (--key NAME)`;
  const orAdded = `${otherKey}, or have it merged there that ${signer} is one: qualify keys add KEY.pub --role maintainer --trust ${shellPath(source.trust)}`;
  const remedies: Readonly<Record<string, string>> = {
    'waiver-term': `Sign it for a shorter time: --expires ${policy.maxWaiverDays}d`,
    'policy-expired': `Have a ${source.trust} merged into ${base.branch} with a later "expires".`,
    'unknown-key': orAdded,
    'wrong-role': orAdded,
  };
  throw refused(`${against.message} (${against.code})`, remedies[against.code] ?? `${otherKey}.`);
}
