/** `qualify keys add` and `revoke`: whom a trust policy trusts, for what, and no longer. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { fingerprint } from '../machine/fingerprint.js';
import { isFingerprint } from '../manifest/public-key-file.js';
import { addKey, EMPTY_POLICY, requireEntry, revokeKey } from '../manifest/trust-edit.js';
import { editTrustPolicy } from '../manifest/trust-file.js';
import { type Role, roleSchema, TRUST_FILE, type TrustPolicy } from '../manifest/trust-policy.js';
import { findKey, KEY_ARGUMENT } from './find-key.js';
import { answer, answerJson } from './output.js';

export function registerTrust(keys: Command): void {
  registerAdd(keys);
  registerRevoke(keys);
}

interface AddOptions {
  role: Role[];
  machine?: string[];
  notBefore?: string;
  notAfter?: string;
  trust: string;
  json?: true;
}

function registerAdd(keys: Command): void {
  keys
    .command('add')
    .description('trust a key: write it into a trust policy, which is made when it is not there')
    .argument('<key>', KEY_ARGUMENT)
    .addOption(
      new Option('--role <role...>', 'observer signs runs, verifier summaries, maintainer waivers')
        .choices(roleSchema.options)
        .makeOptionMandatory(),
    )
    .addOption(machineOption())
    .addOption(timeOption('--not-before <time>', 'what was signed before does not count'))
    .addOption(timeOption('--not-after <time>', 'what is signed later does not count'))
    .addOption(trustOption())
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nA key that is there already gets the roles and machines in addition. Times are\n' +
        'days (2026-11-30, from midnight UTC) or instants (2026-11-30T12:00:00Z).\n' +
        'The policy belongs into the repository whose changes are gated; have changes of\n' +
        'it reviewed as you would those of the gate itself. See docs/trust.md.',
    )
    .action(async (text: string, options: AddOptions) => {
      const key = await findKey(text);
      const { role: roles, machine: machines, notBefore, notAfter } = options;
      const grant = { roles, machines, notBefore, notAfter };
      const policy = await editTrustPolicy(
        options.trust,
        (before) => addKey(before, key, grant),
        EMPTY_POLICY,
      );
      answerEntry(policy, key.keyId, options);
    });
}

interface RevokeOptions {
  reason: 'superseded' | 'compromised';
  since?: string;
  trust: string;
  json?: true;
}

function registerRevoke(keys: Command): void {
  keys
    .command('revoke')
    .description('trust a key no longer: write so into a trust policy')
    .argument('<key>', `${KEY_ARGUMENT}; or any fingerprint of the policy`)
    .addOption(
      new Option('--reason <reason>', 'superseded: replaced in good order; compromised: others may have it')
        .choices(['superseded', 'compromised'])
        .makeOptionMandatory(),
    )
    .addOption(timeOption('--since <time>', 'from when (default: now)'))
    .addOption(trustOption())
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nsuperseded: what was signed before --since stays good.\n' +
        'compromised: nothing counts that the key signed, whatever date it states, since\n' +
        'whoever has the key writes the date. What a verifier of the policy attested\n' +
        'before --since still counts: qualify verify RUN --attest FILE.\n' +
        'A revocation can be made stricter and is never taken back.',
    )
    .action(async (text: string, options: RevokeOptions) => {
      const keyId = isFingerprint(text) ? text : (await findKey(text)).keyId;
      const since = options.since ?? new Date().toISOString();
      const { reason } = options;
      const policy = await editTrustPolicy(options.trust, (before) =>
        revokeKey(before, keyId, { since, reason }),
      );
      answerEntry(policy, keyId, options);
    });
}

function answerEntry(
  policy: TrustPolicy,
  keyId: string,
  { trust, json }: { trust: string; json?: true },
): void {
  const entry = requireEntry(policy, keyId);
  if (json) answerJson({ schemaVersion: 1, trust, entry });
  else answer(`Written to ${trust}:\n${JSON.stringify(entry, null, 2)}`);
}

const trustOption = (): Option =>
  new Option('--trust <file>', `the trust policy; in a repository ${TRUST_FILE}`).makeOptionMandatory();

const machineOption = (): Option =>
  new Option(
    '--machine <id...>',
    'the runs of these machines only: ids, or "this" (default: any machine)',
  ).argParser((text: string, before: string[] | undefined) => {
    const id = text === 'this' ? fingerprint().id : text;
    if (!/^[0-9a-f]{64}$/.test(id))
      throw new InvalidArgumentError(
        'It must be the id of a machine (64 hex digits; `qualify verify RUN --json` has it), or "this".',
      );
    return [...(before ?? []), id];
  });

/** A day, from its midnight UTC, or an instant. */
const timeOption = (flags: string, description: string): Option =>
  new Option(flags, description).argParser((text: string) => {
    const instant = z.iso.date().safeParse(text).success ? `${text}T00:00:00Z` : text;
    if (!z.iso.datetime().safeParse(instant).success)
      throw new InvalidArgumentError('It must be a day (2026-11-30) or an instant (2026-11-30T12:00:00Z).');
    return instant;
  });
