/** Public keys as people name them: a file, or a fingerprint. */
import { QualifyError } from '../errors.js';
import { readBounded } from '../machine/read-bounded.js';
import { type PublicKey, parsePublicKey } from './public-key.js';

/** No key comes near it, whatever its comment. */
const MOST_BYTES = 64 * 1024;

/** Reads a `.pub.pem` or `.pub` file. @throws ERR_QUALIFY_KEY_FILE (exit 64), ERR_QUALIFY_PUBLIC_KEY (exit 16) */
export async function readPublicKey(path: string): Promise<PublicKey> {
  const bytes = readBounded(
    path,
    MOST_BYTES,
    (why, cause) =>
      new QualifyError('ERR_QUALIFY_KEY_FILE', `the key ${path} ${why}`, {
        exit: 'usage',
        where: path,
        hint: 'Give a .pub.pem file, a .pub file, or a fingerprint such as SHA256:…',
        cause,
      }),
  );
  return parsePublicKey(bytes.toString('utf8'), path);
}

/** Whether a text is the name of a key, as `ssh-keygen -lf` prints it. */
export const isFingerprint = (text: string): boolean => /^SHA256:[A-Za-z0-9+/]{43}$/.test(text);
