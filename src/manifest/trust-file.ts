/** The file of a trust policy: read strictly, checked as a whole, and written whole or not at all. */

import { access, constants, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { QualifyError } from '../errors.js';
import { type Fault, faultsOf, listFaults } from '../faults.js';
import { jsonPlaces } from '../json-place.js';
import { readBounded } from '../machine/read-bounded.js';
import { replaceFile } from '../machine/replace-file.js';
import { withCacheLock } from '../revision/cache-lock.js';
import { byPlace, placed } from '../yaml-text.js';
import { type PublicKey, parsePublicKey } from './public-key.js';
import { parseStrictJson } from './strict-json.js';
import { type TrustedKey, type TrustPolicy, trustPolicySchema } from './trust-policy.js';

const MAXIMUM_BYTES = 1024 * 1024;
const MAXIMUM_DEPTH = 8;

/**
 * The policy that `bytes` hold; `file` names their source in errors. A key must have the name that follows from it, and be there once.
 * @throws ERR_QUALIFY_TRUST_POLICY (exit 64) with the first problems and their places
 */
export function parseTrustPolicy(bytes: Uint8Array, file: string): TrustPolicy {
  const parsed = trustPolicySchema.safeParse(readJson(bytes, file), { reportInput: true });
  const refuse = (faults: readonly Fault[], cause?: unknown): QualifyError =>
    misplaced(bytes, file, faults, cause);
  if (!parsed.success) throw refuse(faultsOf(trustPolicySchema, parsed.error));
  const seen = new Map<string, number>();
  for (const [at, entry] of parsed.data.keys.entries()) {
    const fault = (message: string, ...field: string[]): Fault => ({ path: ['keys', at, ...field], message });
    const { keyId } = keyOf(entry, (why, cause) => refuse([fault(why, 'publicKey')], cause));
    if (keyId !== entry.keyId)
      throw refuse([fault(`is ${entry.keyId}, but its publicKey has the name ${keyId}`, 'keyId')]);
    const before = seen.get(keyId);
    if (before !== undefined) throw refuse([fault(`is the key of keys.${before} once more, ${keyId}`)]);
    seen.set(keyId, at);
    checkRoles(entry, (field, why) => refuse([fault(why, field)]));
  }
  return parsed.data;
}

const readJson = (bytes: Uint8Array, file: string): unknown =>
  parseStrictJson(bytes, {
    file,
    maximumBytes: MAXIMUM_BYTES,
    maximumDepth: MAXIMUM_DEPTH,
    refuse: (why, cause) => noPolicy(file, ` it ${why}`, file, cause),
  });

/** Reads a policy. @throws ERR_QUALIFY_TRUST_FILE (exit 64) when it cannot be read, and as `parseTrustPolicy` does */
export async function readTrustPolicy(path: string): Promise<TrustPolicy> {
  return parseTrustPolicy(await readTrustBytes(path), path);
}

/** The bytes of a policy's file, to be digested and parsed. @throws ERR_QUALIFY_TRUST_FILE (exit 64) */
export async function readTrustBytes(path: string): Promise<Buffer> {
  return readBounded(
    path,
    MAXIMUM_BYTES,
    (why, cause) =>
      new QualifyError('ERR_QUALIFY_TRUST_FILE', `the trust policy ${path} ${why}`, {
        exit: 'usage',
        where: path,
        hint: 'Give the file of a trust policy, or make one: qualify keys add KEY.pub --trust FILE',
        cause,
      }),
  );
}

/**
 * Reads a policy, changes it, and writes it; answers what was written. Two that do so at once wait for each other. `edit` is called twice:
 * what it or the file refuses is found out before a lock lies beside the file. `begin` stands for a file that is not there.
 * @throws as `readTrustPolicy`, `edit` and `writeTrustPolicy` do
 */
export async function editTrustPolicy(
  path: string,
  edit: (policy: TrustPolicy) => TrustPolicy,
  begin?: TrustPolicy,
): Promise<TrustPolicy> {
  const edited = async (): Promise<TrustPolicy> => edit(await readOr(path, begin));
  await edited();
  const target = await realpath(path).catch(() => path);
  try {
    // The lock would make a folder that is not there.
    await access(dirname(target), constants.W_OK);
    return await withCacheLock(`${target}.lock`, async () => {
      const policy = await edited();
      await writeTrustPolicy(path, policy);
      return policy;
    });
  } catch (error) {
    throw error instanceof QualifyError ? error : unwritable(path, error);
  }
}

async function readOr(path: string, begin: TrustPolicy | undefined): Promise<TrustPolicy> {
  try {
    return await readTrustPolicy(path);
  } catch (error) {
    const cause = error instanceof QualifyError ? error.cause : null;
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    if (begin !== undefined && isMissing) return begin;
    throw error;
  }
}

/** Writes a policy in the place of another, or anew. A link stays one: what it leads to is replaced. */
export async function writeTrustPolicy(path: string, policy: TrustPolicy): Promise<void> {
  const text = formatTrustPolicy(policy);
  // What would not be read again is not written.
  parseTrustPolicy(Buffer.from(text), path);
  const target = await realpath(path).catch(() => path);
  try {
    await replaceFile(target, text);
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

const unwritable = (path: string, cause: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_TRUST_WRITE', `the trust policy ${path} cannot be written`, {
    exit: 'infrastructure',
    where: path,
    hint: 'Look at its folder, its mode and the free space of its disk.',
    cause,
  });

/** As files and answers show it: two spaces, the fields in the order of the schema. */
export const formatTrustPolicy = (policy: TrustPolicy): string => `${JSON.stringify(policy, null, 2)}\n`;

/** The key of an entry, from its own bytes. @throws what `refuse` makes */
function keyOf({ publicKey }: TrustedKey, refuse: (why: string, cause: unknown) => QualifyError): PublicKey {
  try {
    return parsePublicKey(publicKey, 'it');
  } catch (cause) {
    if (!(cause instanceof QualifyError)) throw cause;
    throw refuse(cause.message, cause);
  }
}

function checkRoles(
  { roles, machines, notBefore, notAfter }: TrustedKey,
  refuse: (field: string, why: string) => QualifyError,
): void {
  if (new Set(roles).size !== roles.length) throw refuse('roles', 'names a role twice');
  if (machines && !roles.includes('observer'))
    throw refuse('machines', 'says which runs an observer may sign, and the key is none');
  if (notBefore && notAfter && Date.parse(notBefore) > Date.parse(notAfter))
    throw refuse('notAfter', `is ${notAfter}, before notBefore (${notBefore}), so that it never counts`);
}

/** `bytes` are JSON that was read. */
function misplaced(bytes: Uint8Array, file: string, faults: readonly Fault[], cause?: unknown): QualifyError {
  const placeOf = jsonPlaces(new TextDecoder().decode(bytes));
  const told = byPlace(faults.map((fault) => placed(fault, { placeOf })));
  const [first] = told;
  const where = first === undefined ? file : `${file}:${first.line}:${first.col}`;
  const lines = told.map(({ line, text }) => `line ${line}: ${text}`);
  return noPolicy(file, listFaults(lines), where, cause);
}

const noPolicy = (file: string, faults: string, where = file, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_TRUST_POLICY', `${file} is no trust policy:${faults}`, {
    exit: 'usage',
    where,
    hint: 'docs/trust.md has the format; `qualify keys add`, `rotate` and `revoke` write it.',
    cause,
  });
