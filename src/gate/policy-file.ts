/** Reads the gate's policy and the trust policy out of their bytes, strictly: a rule that is misspelt must not become no rule. */
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { QualifyError } from '../errors.js';
import { parseTrustPolicy } from '../manifest/trust-file.js';
import type { TrustPolicy } from '../manifest/trust-policy.js';
import { suggest } from '../suggest.js';
import { type GatePolicy, gatePolicySchema } from './policy.js';

const MOST_BYTES = 2 ** 20;

export const policyFailed = (where: string, message: string, hint?: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_POLICY', `${where}: ${message}`, {
    exit: 'usage',
    where,
    hint: hint ?? 'docs/gate.md has every field; docs/examples/policies has policies that work.',
    cause,
  });

/**
 * Parses `qualify.policy.yaml`. `where` names the file in errors.
 * @throws QualifyError `ERR_QUALIFY_POLICY` (exit 64) with every problem
 */
export function parsePolicy(bytes: Buffer, where: string): GatePolicy {
  if (bytes.length > MOST_BYTES)
    throw policyFailed(where, `has ${bytes.length} bytes; at most ${MOST_BYTES}`);
  const parsed = gatePolicySchema.safeParse(plainValue(bytes, where));
  if (!parsed.success) throw policyFailed(where, `is no policy:\n${z.prettifyError(parsed.error)}`);
  const policy = parsed.data;
  const classes = Object.keys(policy.machines);
  for (const [index, { machine }] of policy.require.entries()) {
    if (!classes.includes(machine)) {
      const near = suggest(machine, classes);
      const hint =
        near === undefined ? `There are: ${classes.join(', ') || 'none'}` : `Did you mean "${near}"?`;
      throw policyFailed(
        where,
        `require.${index}.machine: there is no class "${machine}" below machines`,
        hint,
      );
    }
  }
  return policy;
}

function plainValue(bytes: Buffer, where: string): unknown {
  try {
    const document = parseDocument(bytes.toString('utf8'), { uniqueKeys: true });
    const [error] = document.errors;
    if (error !== undefined) throw policyFailed(where, error.message);
    return document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    if (cause instanceof QualifyError || !(cause instanceof Error)) throw cause;
    throw policyFailed(where, `is no YAML that can be read: ${cause.message}`, undefined, cause);
  }
}

/**
 * Parses `qualify.trust.json`.
 * @throws QualifyError `ERR_QUALIFY_POLICY` (exit 64): rules that cannot be read are no evidence that is wrong
 */
export function parseTrust(bytes: Buffer, where: string): TrustPolicy {
  try {
    return parseTrustPolicy(bytes, where);
  } catch (cause) {
    if (!(cause instanceof QualifyError)) throw cause;
    throw policyFailed(where, cause.message, cause.hint, cause);
  }
}
