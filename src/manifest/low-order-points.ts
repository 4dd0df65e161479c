/**
 * Public keys that are no keys. OpenSSL imports every small-order Ed25519 point, and under some of them a forged
 * signature verifies for any message (the identity does so always), so they are refused when a key is loaded.
 */

/**
 * y coordinates, little-endian with the sign bit cleared, of the eight points of small order in all their encodings:
 * 0 and 1, p - 1, the two of order eight, and the non-canonical p and p + 1. With either sign bit these are 14 keys.
 */
const LOW_ORDER_Y = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
]);

/** True when the 32 bytes of an Ed25519 public key encode a point of small order, whatever its sign bit. */
export function isLowOrderPoint(publicKey: Uint8Array): boolean {
  const y = Buffer.from(publicKey);
  const last = y.length - 1;
  y[last] = (y[last] ?? 0) & 0x7f;
  return LOW_ORDER_Y.has(y.toString('hex'));
}
