/**
 * The one place where a signature is checked, whatever its key. A signature has one spelling: 64 bytes of pure Ed25519, or ECDSA with
 * SHA-256 in DER with the lower of the two values of s. Who signs with a device or service that does not choose the lower one has it
 * chosen by `qualify`, so that nobody else can make a second signature out of a first.
 */
import { verify } from 'node:crypto';
import type { PublicKey } from './public-key.js';

const ED25519_BYTES = 64;
/** Order of the group of P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const HALF = ORDER >> 1n;

/** `message` is what was signed (for an envelope its pre-authentication encoding). Never throws. */
export function isSignedBy(key: PublicKey, message: Uint8Array, signature: Uint8Array): boolean {
  if (signatureProblem(key, signature) !== null) return false;
  return verify(key.algorithm === 'Ed25519' ? null : 'sha256', message, key.object, signature);
}

/** Why bytes cannot be a signature by a key of this kind, to be read after "a signature that"; null when they can. */
export function signatureProblem(
  { algorithm }: Pick<PublicKey, 'algorithm'>,
  signature: Uint8Array,
): string | null {
  if (algorithm === 'Ed25519') {
    if (signature.length === ED25519_BYTES) return null;
    return `is ${signature.length} bytes long, not the ${ED25519_BYTES} of Ed25519`;
  }
  const parsed = parseDer(signature);
  if (parsed === null) {
    return signature.length === ED25519_BYTES
      ? 'is 64 bytes long, perhaps r and s one after the other (IEEE P1363); ECDSA signatures are taken in DER'
      : 'is no ECDSA signature in DER';
  }
  const { r, s } = parsed;
  if (r < 1n || r >= ORDER || s < 1n || s >= ORDER) return 'has an r or s outside of the order of P-256';
  return s > HALF ? 'has the higher of the two values of s; only the lower one is taken' : null;
}

/**
 * What a signer answered, in the one spelling: of ECDSA, s becomes the lower one. What is no signature at all is given back as it is,
 * for `isSignedBy` to refuse.
 */
export function normaliseSignature(
  { algorithm }: Pick<PublicKey, 'algorithm'>,
  signature: Uint8Array,
): Buffer {
  const parsed = algorithm === 'ECDSA P-256' ? parseDer(signature) : null;
  if (parsed === null || parsed.s <= HALF || parsed.s >= ORDER) return Buffer.from(signature);
  return formatDer(parsed.r, ORDER - parsed.s);
}

/** `SEQUENCE { INTEGER r, INTEGER s }`, or null unless the bytes are what `formatDer` makes of these two numbers. */
function parseDer(bytes: Uint8Array): { r: bigint; s: bigint } | null {
  const rLength = bytes[3] ?? 0;
  const sLength = bytes[5 + rLength] ?? 0;
  // Two numbers of at most 33 bytes: every length fits one byte. What lies around them is compared below, as a whole.
  if (rLength < 1 || rLength > 33 || sLength < 1 || sLength > 33) return null;
  const r = toNumber(bytes.subarray(4, 4 + rLength));
  const s = toNumber(bytes.subarray(6 + rLength, 6 + rLength + sLength));
  return formatDer(r, s).equals(bytes) ? { r, s } : null;
}

const toNumber = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`);

function formatDer(r: bigint, s: bigint): Buffer {
  const numbers = Buffer.concat([formatNumber(r), formatNumber(s)]);
  return Buffer.concat([Buffer.from([0x30, numbers.length]), numbers]);
}

/** Without needless zeros, and with one where the first bit would make the number negative. */
function formatNumber(value: bigint): Buffer {
  const hex = value.toString(16);
  const even = hex.length % 2 === 0 ? hex : `0${hex}`;
  const bytes = Buffer.from(Number.parseInt(even.slice(0, 2), 16) >= 0x80 ? `00${even}` : even, 'hex');
  return Buffer.concat([Buffer.from([0x02, bytes.length]), bytes]);
}
