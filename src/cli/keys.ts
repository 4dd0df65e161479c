/** `qualify keys`: makes and lists the keys that runs are signed and checked with. */
import type { Command } from 'commander';
import { generateKey, keyFolder, listKeys, type StoredKey } from '../manifest/key-store.js';
import { answer, answerJson } from './output.js';

export function register(program: Command): void {
  const keys = program.command('keys').description('make and list the keys that sign runs');
  keys
    .command('generate')
    .description('make an Ed25519 key in the config folder; the first run makes one by itself')
    .argument('[name]', 'name of the key; runs are signed with "default"', 'default')
    .option('--json', 'print JSON')
    .action(async (name: string, options: { json?: true }) => {
      const { publicKey, path } = await generateKey(name);
      const made = { name, keyId: publicKey.keyId, path };
      if (options.json) answerJson({ schemaVersion: 1, ...made });
      else answer(`${publicKey.keyId}  ${name}  ${path}`);
    });
  keys
    .command('list')
    .description('list your own keys, and those of others that you trust')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nTo trust the key of somebody else, copy its .pub or .pub.pem file into the folder of the keys.',
    )
    .action(async (options: { json?: true }) => {
      const found = await listKeys();
      if (options.json) answerJson({ schemaVersion: 1, folder: keyFolder(), keys: found.map(describe) });
      else answer(table(found));
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
