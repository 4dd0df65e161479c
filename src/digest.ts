/** Digests of values and bytes: SHA-256 as lower-case hex, over RFC 8785 JSON where the value is structured. */
import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** SHA-256 of bytes, or of the UTF-8 of a string. */
export const sha256 = (data: string | Uint8Array): string => hash('sha256', data);

/** RFC 8785 JSON of a value: one byte sequence for one meaning, on every machine. */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('a value without a JSON form has no digest');
  return text;
}

/** SHA-256 of the RFC 8785 JSON of a value. */
export const canonicalDigest = (value: unknown): string => sha256(canonicalJson(value));

const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** SHA-256 of token ids as unsigned 32-bit little-endian, as in prompts and answers. */
export function tokensDigest(tokens: ArrayLike<number>): string {
  if (tokens instanceof Uint32Array && isLittleEndian)
    return sha256(new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength));
  const ids = isLittleEndian ? new Uint32Array(tokens) : null;
  if (ids !== null && isSame(ids, tokens)) return tokensDigest(ids);
  const bytes = Buffer.alloc(tokens.length * 4);
  // Throws where an id does not fit.
  for (let i = 0; i < tokens.length; i++) bytes.writeUInt32LE(tokens[i] ?? 0, i * 4);
  return sha256(bytes);
}

function isSame(ids: Uint32Array, tokens: ArrayLike<number>): boolean {
  for (let i = 0; i < ids.length; i++) if (ids[i] !== tokens[i]) return false;
  return true;
}

/** The beginning of a digest or of a commit's name, for people. */
export const short = (digest: string): string => digest.slice(0, 12);
