/** A key as a command's argument: a name in the user's folder, a fingerprint of one of those, or a file. */
import { existsSync } from 'node:fs';
import { QualifyError } from '../errors.js';
import { listKeys, type StoredKey } from '../manifest/key-store.js';
import type { PublicKey } from '../manifest/public-key.js';
import { readPublicKey } from '../manifest/public-key-file.js';

export const KEY_ARGUMENT = 'a .pub or .pub.pem file, or a key of `qualify keys list` by name or fingerprint';

/** @throws ERR_QUALIFY_KEY_FILE (exit 64) when it is neither */
export async function findKey(text: string): Promise<PublicKey> {
  const stored = await listKeys();
  const known = stored.find(({ name, publicKey }) => name === text || publicKey.keyId === text);
  if (known === undefined && !existsSync(text)) throw noneCalled(text, stored);
  return known?.publicKey ?? readPublicKey(text);
}

function noneCalled(text: string, stored: readonly StoredKey[]): QualifyError {
  const names = stored.map(({ name }) => name).join(', ');
  return new QualifyError('ERR_QUALIFY_KEY_FILE', `there is no key "${text}", and no such file`, {
    exit: 'usage',
    where: text,
    hint:
      names === ''
        ? 'Give a .pub or .pub.pem file; you have no keys yet (qualify keys generate makes one).'
        : `Give a .pub or .pub.pem file, or one of your keys: ${names}`,
  });
}
