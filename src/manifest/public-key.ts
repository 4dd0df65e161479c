/** Ed25519 public keys: the formats they come in, and the name they go by. */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { QualifyError } from '../errors.js';
import { decodeBase64 } from './base64.js';
import { isLowOrderPoint } from './low-order-points.js';

/** DER of SubjectPublicKeyInfo with the Ed25519 algorithm (RFC 8410), before the 32 bytes of the key. */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const SSH_TYPE = 'ssh-ed25519';
const RAW_BYTES = 32;

/** A key that may be asked whether it made a signature. */
export interface PublicKey {
  readonly object: KeyObject;
  /** `SHA256:` and unpadded base64: what `ssh-keygen -lf` prints, and what DSSE verifiers compare. */
  readonly keyId: string;
  /** SubjectPublicKeyInfo PEM, ending in a newline. */
  readonly pem: string;
}

/** From 32 raw bytes. `where` names the source in errors. */
export function publicKeyFromRaw(raw: Uint8Array, where: string): PublicKey {
  if (raw.length !== RAW_BYTES) throw unusable(where, `holds ${raw.length} bytes, not ${RAW_BYTES}`);
  if (isLowOrderPoint(raw)) throw unusable(where, 'is a point of small order, under which anybody can sign');
  const der = Buffer.concat([SPKI_PREFIX, raw]);
  const object = createPublicKey({ key: der, format: 'der', type: 'spki' });
  return {
    object,
    keyId: `SHA256:${createHash('sha256').update(sshBlob(raw)).digest('base64').replace(/=+$/, '')}`,
    pem: object.export({ format: 'pem', type: 'spki' }).toString(),
  };
}

/** From a key object of node, public or private. */
export function publicKeyFromObject(key: KeyObject, where: string): PublicKey {
  if (key.asymmetricKeyType !== 'ed25519') {
    throw unusable(where, `is a ${key.asymmetricKeyType ?? key.type} key; only Ed25519 is used`);
  }
  const object = key.type === 'private' ? createPublicKey(key) : key;
  return publicKeyFromRaw(object.export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX.length), where);
}

/** From SPKI PEM text or from a line of OpenSSH (`ssh-ed25519 AAAA… comment`). */
export function parsePublicKey(text: string, where: string): PublicKey {
  if (text.startsWith(`${SSH_TYPE} `)) return parseSshLine(text, where);
  if (!text.startsWith('-----BEGIN PUBLIC KEY-----')) {
    throw unusable(where, 'is neither an SPKI PEM public key nor an ssh-ed25519 line');
  }
  let object: KeyObject;
  try {
    object = createPublicKey(text);
  } catch (cause) {
    throw unusable(where, 'does not parse as a public key', cause);
  }
  return publicKeyFromObject(object, where);
}

/** The line of OpenSSH for a key, without a newline. */
export function sshLine(key: PublicKey, comment: string): string {
  const raw = key.object.export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX.length);
  return `${SSH_TYPE} ${sshBlob(raw).toString('base64')} ${comment}`;
}

function parseSshLine(text: string, where: string): PublicKey {
  const blob = decodeBase64(text.trim().split(' ')[1] ?? '');
  const prefix = sshBlob(new Uint8Array()).subarray(0, -4);
  const raw = blob?.subarray(prefix.length + 4);
  if (!blob || !raw || !blob.equals(sshBlob(raw)))
    throw unusable(where, 'is not a well-formed ssh-ed25519 line');
  return publicKeyFromRaw(raw, where);
}

/** Wire format of OpenSSH: length-prefixed type, length-prefixed key (RFC 8709). */
function sshBlob(raw: Uint8Array): Buffer {
  return Buffer.concat([sshString(Buffer.from(SSH_TYPE)), sshString(raw)]);
}

function sshString(bytes: Uint8Array): Buffer {
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
