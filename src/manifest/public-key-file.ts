/** Public keys as people name them: a file, or a fingerprint. */
import { QualifyError } from '../errors.js';
import { readBounded } from '../machine/read-bounded.js';
import { type PublicKey, parsePublicKey } from './public-key.js';

/** No key comes near it, whatever its comment. */
const MOST_BYTES = 64 * 1024;

/** Reads a `.pub.pem` or `.pub` file. @throws ERR_QUALIFY_KEY_FILE (exit 64) when it cannot be read, or holds no key that is used */
export async function readPublicKey(path: string): Promise<PublicKey> {
  const bytes = readBounded(path, MOST_BYTES, (why, cause) =>
    unusable(
      path,
      path.startsWith('SHA256:')
        ? `${path} is neither a fingerprint (SHA256: and 43 characters) nor a file`
        : `the key ${path} ${why}`,
      cause,
    ),
  );
  const text = bytes.toString('utf8');
  try {
    return parsePublicKey(text, path);
  } catch (cause) {
    if (!(cause instanceof QualifyError)) throw cause;
    const isPrivate = PRIVATE.test(text);
    // The file is the caller's, and says nothing against a run.
    throw unusable(path, isPrivate ? `${path} holds a private key, not a public one` : cause.message, cause);
  }
}

const PRIVATE = /^-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/;

const unusable = (path: string, message: string, cause: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_KEY_FILE', message, {
    exit: 'usage',
    where: path,
    hint: 'Give a .pub.pem file, a .pub file, or a fingerprint such as SHA256:…; `qualify keys list` has those that you keep.',
    cause,
  });

/** Whether a text is the name of a key, as `ssh-keygen -lf` prints it. */
export const isFingerprint = (text: string): boolean => /^SHA256:[A-Za-z0-9+/]{43}$/.test(text);
