/** Reads the gate's policy and the trust policy out of their bytes, strictly: a rule that is misspelt must not become no rule. */
import { QualifyError } from '../errors.js';
import { faultsOf, listFaults } from '../faults.js';
import { parseTrustPolicy } from '../manifest/trust-file.js';
import type { TrustPolicy } from '../manifest/trust-policy.js';
import { suggest } from '../suggest.js';
import { decodeUtf8 } from '../utf8.js';
import { type Placed, placed, placedLines, readYaml } from '../yaml-text.js';
import { type GatePolicy, gatePolicySchema } from './policy.js';

const MOST_BYTES = 2 ** 20;

/** `at` is the place in the file, where there is a nearer one than `where`. */
export const policyFailed = (where: string, message: string, hint?: string, at = where): QualifyError =>
  new QualifyError('ERR_QUALIFY_POLICY', `${where}: ${message}`, {
    exit: 'usage',
    where: at,
    hint: hint ?? 'docs/gate.md has every field; docs/examples/policies has policies that work.',
  });

/** A policy, and where each of its fields stands. */
export interface ReadPolicy {
  policy: GatePolicy;
  /** `file:line:column` of a field, or of what it would lie in. */
  placeOf: (...path: (string | number)[]) => string;
}

/**
 * Parses `qualify.policy.yaml`. `where` names the file in errors.
 * @throws QualifyError `ERR_QUALIFY_POLICY` (exit 64) with the first problems and their places
 */
export function readPolicy(bytes: Buffer, where: string): ReadPolicy {
  if (bytes.length > MOST_BYTES)
    throw policyFailed(where, `has ${bytes.length} bytes; at most ${MOST_BYTES}`);
  const refuse = (faults: readonly Placed[]): QualifyError => {
    const lines = placedLines(faults, where);
    const [first = where] = lines.map((line) => /^:\d+:\d+/.exec(line.slice(where.length))?.[0] ?? '');
    return policyFailed(where, `is no policy:${listFaults(lines)}`, undefined, where + first);
  };
  const text = decodeUtf8(bytes);
  if (text === null) throw policyFailed(where, 'is not UTF-8', 'Save the file as UTF-8.');
  const yaml = readYaml(text, { what: 'policy', merge: false, refuse });
  const parsed = gatePolicySchema.safeParse(yaml.value, { reportInput: true });
  if (!parsed.success || yaml.faults.length > 0) {
    const faults = parsed.success ? [] : faultsOf(gatePolicySchema, parsed.error);
    throw refuse([...yaml.faults, ...faults.map((fault) => placed(fault, yaml))]);
  }
  const policy = parsed.data;
  const placeOf = (...path: (string | number)[]): string => {
    const { line, col } = yaml.placeOf({ path });
    return `${where}:${line}:${col}`;
  };
  const classes = Object.keys(policy.machines);
  for (const [index, { machine }] of policy.require.entries()) {
    if (classes.includes(machine)) continue;
    const near = suggest(machine, classes);
    const hint =
      near === undefined ? `There are: ${classes.join(', ') || 'none'}` : `Did you mean "${near}"?`;
    const message = `require.${index}.machine: there is no class "${machine}" below machines`;
    throw policyFailed(placeOf('require', index, 'machine'), message, hint);
  }
  return { policy, placeOf };
}

/** The policy alone. @throws as `readPolicy` */
export const parsePolicy = (bytes: Buffer, where: string): GatePolicy => readPolicy(bytes, where).policy;

/**
 * Parses `qualify.trust.json`.
 * @throws QualifyError `ERR_QUALIFY_POLICY` (exit 64): rules that cannot be read are no evidence that is wrong
 */
export function parseTrust(bytes: Buffer, where: string): TrustPolicy {
  try {
    return parseTrustPolicy(bytes, where);
  } catch (cause) {
    if (!(cause instanceof QualifyError)) throw cause;
    // It names the file itself.
    const { message, hint, where: at = where } = cause;
    throw new QualifyError('ERR_QUALIFY_POLICY', message, {
      exit: 'usage',
      where: at,
      ...(hint !== undefined && { hint }),
      cause,
    });
  }
}
