/** Standard base64 (RFC 4648 section 4) with padding, and nothing else. */

/**
 * Bytes of a standard padded base64 text, or null. `Buffer.from` alone also takes missing padding, URL-safe letters,
 * whitespace and non-zero trailing bits, all of which give one signature several spellings.
 */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}
