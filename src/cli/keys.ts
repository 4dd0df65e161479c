/** `qualify keys`: makes, lists and exports keys; `keys-rotate.ts` replaces them, `keys-trust.ts` writes trust policies. */
import { type Command, Option } from 'commander';
import { QualifyError } from '../errors.js';
import { formatAllowedSigners } from '../manifest/allowed-signers.js';
import { DEFAULT_KEY, generateKey, keyFolder, listKeys, type StoredKey } from '../manifest/key-store.js';
import { sshLine } from '../manifest/public-key.js';
import { readTrustPolicy } from '../manifest/trust-file.js';
import { findKey, KEY_ARGUMENT } from './find-key.js';
import { registerRotate } from './keys-rotate.js';
import { registerTrust } from './keys-trust.js';
import { answer, answerJson } from './output.js';

export function register(program: Command): void {
  const keys = program
    .command('keys')
    .description('make, list, replace and export the keys that sign runs, and say whom to trust');
  registerGenerate(keys);
  registerList(keys);
  registerExport(keys);
  registerRotate(keys);
  registerTrust(keys);
}

function registerGenerate(keys: Command): void {
  keys
    .command('generate')
    .description('make an Ed25519 key in the config folder; the first run makes one by itself')
    .argument('[name]', 'name of the key; runs are signed with "default"', DEFAULT_KEY)
    .option('--json', 'print JSON')
    .action(async (name: string, options: { json?: true }) => {
      const { publicKey, path } = await generateKey(name);
      const made = { name, keyId: publicKey.keyId, path };
      if (options.json) answerJson({ schemaVersion: 1, ...made });
      else answer(`${publicKey.keyId}  ${name}  ${path}`);
    });
}

function registerList(keys: Command): void {
  keys
    .command('list')
    .description('list your own keys, and those of others that you trust')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nTo trust the key of somebody else, copy its .pub or .pub.pem file into the\n' +
        'folder of the keys. Where a whole repository trusts, it has a trust policy:\n' +
        'qualify keys add KEY.pub --role observer --trust qualify.trust.json',
    )
    .action(async (options: { json?: true }) => {
      const found = await listKeys();
      if (options.json) answerJson({ schemaVersion: 1, folder: keyFolder(), keys: found.map(describe) });
      else answer(table(found));
    });
}

interface ExportOptions {
  pem?: true;
  trust?: string;
  allowedSigners?: true;
}

function registerExport(keys: Command): void {
  keys
    .command('export')
    .description('print a public key to pass around, or a trust policy for OpenSSH')
    .argument('[key]', `${KEY_ARGUMENT} (default: ${DEFAULT_KEY})`)
    .addOption(new Option('--pem', 'as SPKI PEM, for openssl and cosign (default: a line of OpenSSH)'))
    .option('--trust <file>', 'of this trust policy, with --allowed-signers')
    .addOption(
      new Option('--allowed-signers', 'print the lines that ssh-keygen -Y verify reads').conflicts('pem'),
    )
    .addHelpText(
      'after',
      '\nA principal of the allowed signers is a role, and the windows of the policy hold\n' +
        'for the time that OpenSSH is told, which is now unless you say otherwise:\n' +
        '  qualify keys export --trust qualify.trust.json --allowed-signers >signers\n' +
        '  ssh-keygen -Y verify -f signers -I observer \\\n' +
        '    -n qualification@qualify-dev.github.io \\\n' +
        '    -s RUN/qualification.intoto.jsonl.sig <RUN/qualification.intoto.jsonl',
    )
    .action(async (key: string | undefined, options: ExportOptions) => {
      if ((options.trust === undefined) !== (options.allowedSigners === undefined) || (options.trust && key))
        throw new QualifyError('ERR_QUALIFY_USAGE', '--trust and --allowed-signers belong together', {
          exit: 'usage',
          hint: 'Name a key, or give --trust FILE --allowed-signers.',
        });
      if (options.trust !== undefined)
        return answer(formatAllowedSigners(await readTrustPolicy(options.trust)));
      const found = await findKey(key ?? DEFAULT_KEY);
      answer(options.pem ? found.pem : sshLine(found, key ?? DEFAULT_KEY));
    });
}

function describe({ name, publicKey, own, path }: StoredKey): {
  name: string;
  keyId: string;
  own: boolean;
  path: string;
} {
  return { name, keyId: publicKey.keyId, own, path };
}

function table(keys: readonly StoredKey[]): string {
  if (keys.length === 0)
    return `no keys in ${keyFolder()}; the first run makes one, or: qualify keys generate\n`;
  return keys
    .map((key) => `${key.publicKey.keyId}  ${key.own ? 'own    ' : 'trusted'}  ${key.name}  ${key.path}\n`)
    .join('');
}
