/**
 * Public keys: the formats they come in, and the name they go by. Ed25519 is what `qualify` makes; ECDSA on P-256 is taken because
 * services and devices that keep keys (KMS, HSM, smart cards) often have nothing else.
 */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { QualifyError } from '../errors.js';
import { decodeBase64 } from './base64.js';
import { isLowOrderPoint } from './low-order-points.js';

type KeyAlgorithm = 'Ed25519' | 'ECDSA P-256';

/** A key that may be asked whether it made a signature. */
export interface PublicKey {
  readonly algorithm: KeyAlgorithm;
  readonly object: KeyObject;
  /** `SHA256:` and unpadded base64: what `ssh-keygen -lf` prints, and what DSSE verifiers compare. */
  readonly keyId: string;
  /** SubjectPublicKeyInfo PEM, ending in a newline. The same for every spelling of one key. */
  readonly pem: string;
}

/** How one kind of key is written: as SubjectPublicKeyInfo, and as OpenSSH writes it. */
interface KeyForm {
  /** DER of SubjectPublicKeyInfo before the bytes of the key. */
  readonly spkiPrefix: Buffer;
  readonly sshType: string;
  /** What OpenSSH writes between type and key. */
  readonly sshParts: readonly string[];
  readonly rawBytes: number;
}

const FORMS: Readonly<Record<KeyAlgorithm, KeyForm>> = {
  // RFC 8410, RFC 8709.
  Ed25519: {
    spkiPrefix: Buffer.from('302a300506032b6570032100', 'hex'),
    sshType: 'ssh-ed25519',
    sshParts: [],
    rawBytes: 32,
  },
  // RFC 5480, RFC 5656: the named curve and the uncompressed point, 4 and two coordinates.
  'ECDSA P-256': {
    spkiPrefix: Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex'),
    sshType: 'ecdsa-sha2-nistp256',
    sshParts: ['nistp256'],
    rawBytes: 65,
  },
};
const ALGORITHMS: readonly KeyAlgorithm[] = ['Ed25519', 'ECDSA P-256'];

/** From raw bytes: 32 of Ed25519, or the 65 of an uncompressed point of P-256. `where` names the source in errors. */
export function publicKeyFromRaw(
  raw: Uint8Array,
  where: string,
  algorithm: KeyAlgorithm = 'Ed25519',
): PublicKey {
  const form = FORMS[algorithm];
  if (raw.length !== form.rawBytes) throw unusable(where, `holds ${raw.length} bytes, not ${form.rawBytes}`);
  if (algorithm === 'Ed25519' && isLowOrderPoint(raw))
    throw unusable(where, 'is a point of small order, under which anybody can sign');
  let object: KeyObject;
  try {
    object = createPublicKey({ key: Buffer.concat([form.spkiPrefix, raw]), format: 'der', type: 'spki' });
  } catch (cause) {
    throw unusable(where, 'is no point of the curve', cause);
  }
  return {
    algorithm,
    object,
    keyId: `SHA256:${createHash('sha256').update(sshBlob(algorithm, raw)).digest('base64').replace(/=+$/, '')}`,
    pem: object.export({ format: 'pem', type: 'spki' }).toString(),
  };
}

/** From a key object of node, public or private. */
export function publicKeyFromObject(key: KeyObject, where: string): PublicKey {
  const algorithm = algorithmOf(key);
  if (algorithm === null) {
    const kind = [key.asymmetricKeyType ?? key.type, key.asymmetricKeyDetails?.namedCurve].filter(Boolean);
    throw unusable(where, `is a ${kind.join(' ')} key; only Ed25519 and ECDSA on P-256 are used`);
  }
  const object = key.type === 'private' ? createPublicKey(key) : key;
  return publicKeyFromRaw(rawBytes(object, algorithm), where, algorithm);
}

function algorithmOf(key: KeyObject): KeyAlgorithm | null {
  if (key.asymmetricKeyType === 'ed25519') return 'Ed25519';
  const isP256 = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  return isP256 ? 'ECDSA P-256' : null;
}

/** The coordinates, and nothing else of what a file may say of a curve: generator and form of the point are always ours. */
function rawBytes(object: KeyObject, algorithm: KeyAlgorithm): Buffer {
  const { x = '', y = '' } = object.export({ format: 'jwk' });
  const bytes = (text: string): Buffer => Buffer.from(text, 'base64url');
  return algorithm === 'Ed25519' ? bytes(x) : Buffer.concat([Buffer.from([4]), bytes(x), bytes(y)]);
}

/** From SPKI PEM text or from a line of OpenSSH (`ssh-ed25519 AAAA… comment`, `ecdsa-sha2-nistp256 AAAA… comment`). */
export function parsePublicKey(text: string, where: string): PublicKey {
  const algorithm = ALGORITHMS.find((name) => text.startsWith(`${FORMS[name].sshType} `));
  if (algorithm) return parseSshLine(text, where, algorithm);
  if (!text.startsWith('-----BEGIN PUBLIC KEY-----')) {
    throw unusable(where, 'is neither an SPKI PEM public key nor an ssh-ed25519 or ecdsa-sha2-nistp256 line');
  }
  let object: KeyObject;
  try {
    object = createPublicKey(text);
  } catch (cause) {
    throw unusable(where, 'does not parse as a public key', cause);
  }
  return publicKeyFromObject(object, where);
}

/** The line of OpenSSH for a key, without a newline; without a comment where none is given. */
export function sshLine({ object, algorithm }: PublicKey, comment = ''): string {
  const blob = sshBlob(algorithm, rawBytes(object, algorithm)).toString('base64');
  return `${FORMS[algorithm].sshType} ${blob} ${comment}`.trimEnd();
}

function parseSshLine(text: string, where: string, algorithm: KeyAlgorithm): PublicKey {
  const blob = decodeBase64(text.trim().split(' ')[1] ?? '');
  const prefix = sshBlob(algorithm, new Uint8Array()).subarray(0, -4);
  const raw = blob?.subarray(prefix.length + 4);
  if (!blob || !raw || !blob.equals(sshBlob(algorithm, raw)))
    throw unusable(where, `is not a well-formed ${FORMS[algorithm].sshType} line`);
  return publicKeyFromRaw(raw, where, algorithm);
}

/** Wire format of OpenSSH: type, what belongs to it, and key, each with its length before it. */
function sshBlob(algorithm: KeyAlgorithm, raw: Uint8Array): Buffer {
  const { sshType, sshParts } = FORMS[algorithm];
  return Buffer.concat([sshType, ...sshParts, raw].map(sshString));
}

/** A string as OpenSSH writes it: its length in four bytes before it. */
export function sshString(content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(content);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function unusable(where: string, why: string, cause?: unknown): QualifyError {
  return new QualifyError('ERR_QUALIFY_PUBLIC_KEY', `${where} ${why}`, {
    exit: 'invalid',
    where,
    hint: 'Use the .pub or .pub.pem file that `qualify keys list` names on the machine that signed.',
    ...(cause === undefined ? {} : { cause }),
  });
}
