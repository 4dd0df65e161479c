/** The key that commands sign with: an external signer where the environment names one, else the user's key `default`. */
import { externalSigner, probeSigner } from './external-signer.js';
import { DEFAULT_KEY, loadKey, loadOrCreateKey, type SigningKey } from './key-store.js';

/**
 * Makes sure, before a session, that it can be signed at its end: the external signer signs something, or the key is loaded, or made
 * (`created`).
 */
export async function prepareSigningKey(): Promise<{ created: boolean }> {
  const external = await externalSigner();
  if (external === null) return loadOrCreateKey();
  await probeSigner(external);
  return { created: false };
}

/** Loads the key to sign with; `name` asks for one of the user's own. */
export async function loadSigningKey(name?: string): Promise<SigningKey> {
  if (name !== undefined) return loadKey(name);
  return (await externalSigner()) ?? loadKey(DEFAULT_KEY);
}
