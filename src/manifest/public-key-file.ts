/** Public keys as people name them: a file, or a fingerprint. */
import { readFile } from 'node:fs/promises';
import { QualifyError } from '../errors.js';
import { type PublicKey, parsePublicKey } from './public-key.js';

/** Reads a `.pub.pem` or `.pub` file. @throws ERR_QUALIFY_KEY_FILE (exit 64), ERR_QUALIFY_PUBLIC_KEY (exit 16) */
export async function readPublicKey(path: string): Promise<PublicKey> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    throw new QualifyError('ERR_QUALIFY_KEY_FILE', `the key ${path} cannot be read`, {
      exit: 'usage',
      where: path,
      hint: 'Give a .pub.pem file, a .pub file, or a fingerprint such as SHA256:…',
      cause,
    });
  }
  return parsePublicKey(text, path);
}

/** Whether a text is the name of a key, as `ssh-keygen -lf` prints it. */
export const isFingerprint = (text: string): boolean => /^SHA256:[A-Za-z0-9+/]{43}$/.test(text);
