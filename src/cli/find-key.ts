/** A key as a command's argument: a name in the user's folder, a fingerprint of one of those, or a file. */
import { listKeys } from '../manifest/key-store.js';
import type { PublicKey } from '../manifest/public-key.js';
import { readPublicKey } from '../manifest/public-key-file.js';

export const KEY_ARGUMENT = 'a .pub or .pub.pem file, or a key of `qualify keys list` by name or fingerprint';

/** @throws ERR_QUALIFY_KEY_FILE (exit 64) when it is neither */
export async function findKey(text: string): Promise<PublicKey> {
  const stored = await listKeys();
  const known = stored.find(({ name, publicKey }) => name === text || publicKey.keyId === text);
  return known?.publicKey ?? readPublicKey(text);
}
