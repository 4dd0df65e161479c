/** Text out of bytes that somebody else wrote: what is no UTF-8 is told, and not read with other characters in its place. */

/** Null for what is not UTF-8. A mark at the beginning stays. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
