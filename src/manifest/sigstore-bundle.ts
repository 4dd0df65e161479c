/**
 * The first line of a manifest as a sigstore bundle, for cosign and the other tools of sigstore, which take no bare envelope. It adds nothing
 * that is signed: key name and envelope are those of the line, so `verify` makes the file again and compares bytes.
 */

export const BUNDLE_FILE = 'qualification.sigstore.json';
const MEDIA_TYPE = 'application/vnd.dev.sigstore.bundle.v0.3+json';

/** Text of the bundle around an envelope line, as `signEnvelope` writes it, that names the key `keyId`. */
export function bundleOf(line: string, keyId: string): string {
  const material = JSON.stringify({ publicKey: { hint: keyId }, tlogEntries: [] });
  return `{"mediaType":"${MEDIA_TYPE}","verificationMaterial":${material},"dsseEnvelope":${line.trimEnd()}}\n`;
}
