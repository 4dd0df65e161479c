/**
 * SSHSIG (PROTOCOL.sshsig of OpenSSH) over the bytes of a manifest, for people who have `ssh-keygen` and a list of keys. The namespace
 * keeps it from being taken for the signature of anything else.
 */
import { createHash } from 'node:crypto';
import { invalid } from './invalid.js';
import type { SigningKey } from './key-store.js';
import { type PublicKey, sshLine, sshString } from './public-key.js';
import { isSignedBy } from './signature.js';

export const SSH_SIGNATURE_FILE = 'qualification.intoto.jsonl.sig';
export const SSH_NAMESPACE = 'qualification@qualify-dev.github.io';

const MAGIC = Buffer.from('SSHSIG');
const HASH = 'sha512';
const SIGNATURE_BYTES = 64;
/** As ssh-keygen breaks its lines. */
const LINE_LENGTH = 70;

/** Text of the signature file over `message`, or null for a key of another kind than Ed25519. */
export async function signSsh(message: Uint8Array, key: SigningKey): Promise<string | null> {
  if (key.publicKey.algorithm !== 'Ed25519') return null;
  return armour(key.publicKey, await key.sign(signedBytes(message)));
}

/** Checks a signature file over `message`, which must be spelt as `signSsh` writes it. Throws a `QualifyError` (exit `invalid`). */
export function checkSsh(text: Buffer, message: Uint8Array, key: PublicKey): void {
  const body = /^-----BEGIN SSH SIGNATURE-----\n([\s\S]*)\n-----END SSH SIGNATURE-----\n$/.exec(
    text.toString('latin1'),
  )?.[1];
  const signature = Buffer.from(body ?? '', 'base64').subarray(-SIGNATURE_BYTES);
  if (!Buffer.from(armour(key, signature)).equals(text))
    throw invalid(SSH_SIGNATURE_FILE, `is no SSH signature by ${key.keyId} as qualify writes it`);
  if (!isSignedBy(key, signedBytes(message), signature))
    throw invalid(SSH_SIGNATURE_FILE, 'does not sign the manifest beside it: one of the two was changed');
}

/** What is signed: everything that says what the signature is for, and the digest of the message. */
function signedBytes(message: Uint8Array): Buffer {
  return Buffer.concat([MAGIC, ...purpose(), sshString(createHash(HASH).update(message).digest())]);
}

function armour(key: PublicKey, signature: Uint8Array): string {
  const blob = Buffer.concat([
    ...[MAGIC, Buffer.from([0, 0, 0, 1]), sshString(wireForm(key))],
    ...purpose(),
    sshString(Buffer.concat([sshString('ssh-ed25519'), sshString(signature)])),
  ]).toString('base64');
  const lines = blob.match(new RegExp(`.{1,${LINE_LENGTH}}`, 'g')) ?? [];
  return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----', ''].join('\n');
}

/** Namespace, a reserved field, and the digest algorithm. */
const purpose = (): Buffer[] => [sshString(SSH_NAMESPACE), sshString(''), sshString(HASH)];

const wireForm = (key: PublicKey): Buffer => Buffer.from(sshLine(key, '').split(' ')[1] ?? '', 'base64');
