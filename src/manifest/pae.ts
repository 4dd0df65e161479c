/** The bytes that a DSSE signature covers. */

/**
 * Pre-authentication encoding of DSSE v1: `DSSEv1 SP len(type) SP type SP len(body) SP body`, lengths in bytes, decimal.
 * The type is encoded as UTF-8: encoding it as ASCII makes different types collide (CVE-2026-48758).
 */
export function preAuthenticationEncoding(payloadType: string, body: Uint8Array): Buffer {
  const type = Buffer.from(payloadType, 'utf8');
  return Buffer.concat([
    Buffer.from(`DSSEv1 ${type.length} `),
    type,
    Buffer.from(` ${body.length} `),
    Buffer.from(body.buffer, body.byteOffset, body.byteLength),
  ]);
}
