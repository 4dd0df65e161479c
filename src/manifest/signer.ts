/**
 * Which key a run is checked with. Trust comes from the person who verifies: the key that was asked for, or a key of
 * the user's folder. The key that travels in the run folder only shows that the folder is consistent with itself.
 */
import type { QualifyError } from '../errors.js';
import { KEY_FILE, MANIFEST_FILE } from './evidence-index.js';
import { invalid } from './invalid.js';
import { keyFolder, listKeys } from './key-store.js';
import { type PublicKey, parsePublicKey } from './public-key.js';
import { isFingerprint, readPublicKey } from './public-key-file.js';
import { untrusted } from './untrusted.js';

export interface Signer {
  key: PublicKey;
  /**
   * `asked`: by --key. `policy`: one of a trust policy's keys; what it may say, and when, is for `judgeTrust`. `own` and `trusted`: in the
   * user's folder. `unknown`: only the folder itself vouches for the key.
   */
  trust: 'asked' | 'policy' | 'own' | 'trusted' | 'unknown';
  /** Name in the user's folder, if it is there. */
  name: string | null;
}

/** The keys of a trust policy, and its file, which errors name. */
export interface KeysOfPolicy {
  keys: readonly PublicKey[];
  file: string;
}

interface SignerOptions {
  /** `--key`: a PEM or OpenSSH file, or a fingerprint. */
  asked: string | undefined;
  /** Keys of a trust policy; no other will do. */
  among?: KeysOfPolicy | undefined;
  /** Bytes of `key.pub.pem` of the run folder, or null when it has none. */
  travelling: Buffer | null;
  /** The unauthenticated key name of the envelope; picks among trusted keys, and is compared after verification. */
  claimedKeyId: string;
  folder?: string;
}

/** The key to check with. Throws when the key that was asked for is not there, or when there is none at all. */
export async function chooseSigner(options: SignerOptions): Promise<Signer> {
  const travelling = options.travelling && parseTravelling(options.travelling);
  if (options.among !== undefined) return chooseAmong(options.among, options.claimedKeyId);
  if (options.asked !== undefined && !isFingerprint(options.asked)) {
    return { key: await readPublicKey(options.asked), trust: 'asked', name: null };
  }
  const stored = await listKeys(options.folder ?? keyFolder());
  const wanted = options.asked ?? travelling?.keyId ?? options.claimedKeyId;
  const known = stored.find(({ publicKey }) => publicKey.keyId === wanted);
  if (known) {
    const trust = options.asked !== undefined ? 'asked' : known.own ? 'own' : 'trusted';
    return { key: known.publicKey, trust, name: known.name };
  }
  // A fingerprint is a digest of the key, so a travelling key that has the one asked for is the one asked for.
  if (travelling && (options.asked === undefined || travelling.keyId === options.asked)) {
    return { key: travelling, trust: options.asked === undefined ? 'unknown' : 'asked', name: null };
  }
  if (options.asked === undefined) {
    throw invalid(KEY_FILE, 'is missing, and none of your keys signed this run: name one with --key');
  }
  throw wrongSigner(options.asked, travelling?.keyId ?? options.claimedKeyId);
}

/** The name in the envelope only picks: the signature is then checked with the key of the policy. */
function chooseAmong({ keys, file }: KeysOfPolicy, claimedKeyId: string): Signer {
  const key = keys.find(({ keyId }) => keyId === claimedKeyId);
  if (key) return { key, trust: 'policy', name: null };
  const why = `the trust policy does not have the key ${JSON.stringify(claimedKeyId)}`;
  throw untrusted('unknown-key', why, file);
}

/** The travelling key must be the one that signed: a folder that carries another one was tampered with. */
export function checkTravellingKey(travelling: Buffer | null, key: PublicKey): void {
  if (travelling && parseTravelling(travelling).keyId !== key.keyId) {
    throw invalid(KEY_FILE, `is not the signer's key, ${key.keyId}`);
  }
}

function parseTravelling(bytes: Buffer): PublicKey {
  const key = parsePublicKey(bytes.toString('utf8'), KEY_FILE);
  if (!Buffer.from(key.pem).equals(bytes)) throw invalid(KEY_FILE, 'is not spelt as qualify writes it');
  return key;
}

const wrongSigner = (asked: string, found: string): QualifyError =>
  invalid(
    MANIFEST_FILE,
    `is not signed by the key you asked for, ${asked}: it names ${JSON.stringify(found)}`,
    undefined,
    'Nothing else of the run was looked at. Give the key of its signer, if you trust them: --key KEY.pub; or ask for a run that your signer signed.',
  );

/** Why nothing that names `claimedKeyId` was signed by `signer`. */
export function wrongKey({ key, trust }: Signer, claimedKeyId: string): QualifyError {
  if (trust === 'asked') return wrongSigner(key.keyId, claimedKeyId);
  return invalid(KEY_FILE, `is not the signer's key: ${MANIFEST_FILE} names ${JSON.stringify(claimedKeyId)}`);
}
