/** `qualify keys rotate`: a new key under the old name, and what a trust policy has to say of both. */
import type { Command } from 'commander';
import { type Rotation, rotateKey } from '../manifest/key-rotation.js';
import { DEFAULT_KEY, loadKey, type OwnKey } from '../manifest/key-store.js';
import { replaceKey, requireRotatable, trustEntry } from '../manifest/trust-edit.js';
import { editTrustPolicy, readTrustPolicy } from '../manifest/trust-file.js';
import type { TrustedKey } from '../manifest/trust-policy.js';
import { answer, answerJson, note } from './output.js';

interface Options {
  trust?: string;
  json?: true;
}

export function registerRotate(keys: Command): void {
  keys
    .command('rotate')
    .description('make a new key of that name, and keep the old one under a dated name')
    .argument('[name]', 'name of a key of your own', DEFAULT_KEY)
    .option('--trust <file>', 'also write both into this trust policy')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nNothing is lost: NAME becomes NAME-YYYYMMDD and could still sign. In a trust\n' +
        'policy the old key ends now and the new one begins, with the same roles,\n' +
        'machines and end; what the old one signed until now stays good. Without --trust\n' +
        'the two entries are printed, to be pasted into "keys" of the policy.\n' +
        'A key that others may have is also revoked: qualify keys revoke --help',
    )
    .action(async (name: string, options: Options) => {
      // A policy that does not parse, or whose key nothing may follow, is found out before anything is changed.
      if (options.trust !== undefined) {
        const { publicKey } = await loadKey(name);
        requireRotatable(await readTrustPolicy(options.trust), publicKey.keyId, new Date().toISOString());
      }
      const rotation = await rotateKey(name);
      const entries = await writeEntries(rotation, options.trust);
      if (options.json) answerJson(toJson(rotation, entries, options.trust));
      else answer(toText(rotation, entries, options.trust));
    });
}

/** The entries of the old key and of the new one, written where there is a policy. */
async function writeEntries(rotation: Rotation, trust: string | undefined): Promise<TrustedKey[]> {
  const { at, old, key } = rotation;
  const roles = ['observer'] as const;
  const fresh = [
    trustEntry(old.publicKey, { roles, notAfter: at.toISOString() }),
    trustEntry(key.publicKey, { roles, notBefore: at.toISOString() }),
  ];
  if (trust === undefined) return fresh;
  try {
    const policy = await editTrustPolicy(trust, (before) =>
      replaceKey(before, old.publicKey, key.publicKey, at.toISOString()),
    );
    return policy.keys.filter(({ keyId }) => fresh.some((entry) => entry.keyId === keyId));
  } catch (error) {
    note(`${toText(rotation, fresh, undefined)}The key is rotated, and the policy is not written:`);
    throw error;
  }
}

function toText({ key, old }: Rotation, entries: readonly TrustedKey[], trust: string | undefined): string {
  return [
    `${key.publicKey.keyId}  ${key.name}  ${key.path}\n`,
    `${old.publicKey.keyId}  ${old.name}  ${old.path}\n`,
    trust === undefined
      ? `\nFor the "keys" of a trust policy, with your roles and machines:\n`
      : `\nWritten to ${trust}:\n`,
    `${entries.map((entry) => JSON.stringify(entry, null, 2)).join(',\n')}\n`,
  ].join('');
}

function toJson(
  { key, old, at }: Rotation,
  entries: readonly TrustedKey[],
  trust: string | undefined,
): object {
  const describe = ({ name, path, publicKey }: OwnKey) => ({ name, keyId: publicKey.keyId, path });
  return {
    ...{ schemaVersion: 1, at: at.toISOString(), key: describe(key), old: describe(old) },
    ...{ entries, trust: trust ?? null },
  };
}
