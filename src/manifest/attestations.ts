/** Reads the summaries of verifiers: envelopes, one a line, each checked with a key of the trust policy. */
import { z } from 'zod';
import { QualifyError } from '../errors.js';
import { conform } from '../faults.js';
import { readBounded } from '../machine/read-bounded.js';
import { openEnvelope, readEnvelope, type SealedPayload } from './envelope.js';
import { invalid } from './invalid.js';
import type { PublicKey } from './public-key.js';
import { parseStrictJson } from './strict-json.js';
import type { Attestation } from './trust-judgement.js';
import { SUMMARY_TYPE, summarySchema } from './verification-summary.js';

const MAXIMUM_BYTES = 1024 * 1024;
const MAXIMUM_DEPTH = 16;
const NEWLINE = 0x0a;

/**
 * The summaries in files, by the keys of a policy. Lines by other keys, and statements of other kinds, count for nothing and are passed
 * over; a line that names a key of the policy and is not signed by it is an error.
 * @throws ERR_QUALIFY_ATTESTATIONS (exit 64) for a file that cannot be read or has a line that is no envelope, ERR_QUALIFY_INVALID (exit 16)
 *   for one whose signature or statement does not hold; both name file and line
 */
export async function readAttestations(
  paths: readonly string[],
  keys: readonly PublicKey[],
): Promise<Attestation[]> {
  return paths.flatMap((path) => parseAttestations(readBytes(path), path, keys));
}

/** The summaries in the bytes of one file, which `file` names in errors. */
export function parseAttestations(bytes: Buffer, file: string, keys: readonly PublicKey[]): Attestation[] {
  try {
    return readLines(bytes, file, keys);
  } catch (cause) {
    if (!(cause instanceof QualifyError) || cause.exit === 'usage') throw cause;
    // The file is whoever verifies', and says nothing against the run.
    throw new QualifyError(cause.code, cause.message, {
      exit: cause.exit,
      where: file,
      hint: 'The run is not at fault: leave this file out, or fetch it again from the verifier that signed it.',
      cause,
    });
  }
}

function readLines(bytes: Buffer, file: string, keys: readonly PublicKey[]): Attestation[] {
  if (bytes.length === 0 || bytes.at(-1) !== NEWLINE) throw unusable(file, `${file} has no line that ends`);
  const found: Attestation[] = [];
  for (let start = 0, line = 1; start < bytes.length; line += 1) {
    const end = bytes.indexOf(NEWLINE, start) + 1;
    const attestation = readLine(bytes.subarray(start, end), { file, line }, keys);
    if (attestation) found.push(attestation);
    start = end;
  }
  return found;
}

function readLine(
  bytes: Buffer,
  place: { file: string; line: number },
  keys: readonly PublicKey[],
): Attestation | null {
  const { file, line } = place;
  const sealed = readLineEnvelope(bytes, place);
  const key = keys.find(({ keyId }) => keyId === sealed.claimedKeyId);
  if (!key) return null;
  const payload = openEnvelope(sealed, key, () => invalid(file, `line ${line} is by another key`));
  const value = parseStrictJson(payload, { file, maximumBytes: MAXIMUM_BYTES, maximumDepth: MAXIMUM_DEPTH });
  const type = z.object({ predicateType: z.string() }).safeParse(value).data?.predicateType;
  if (type !== SUMMARY_TYPE) return null;
  const { predicate } = conform(summarySchema, value, (faults) =>
    invalid(file, `line ${line} is no summary of a verification:${faults}`),
  );
  const { inputAttestations, policy, timeVerified } = predicate;
  const [manifest] = inputAttestations;
  if (manifest === undefined) throw new Error('The schema let a summary of nothing pass.');
  return { key, manifestSha256: manifest.digest.sha256, policySha256: policy.digest.sha256, timeVerified };
}

/** What is no envelope was never signed: another file was given than was meant. */
function readLineEnvelope(bytes: Buffer, place: { file: string; line: number }): SealedPayload {
  try {
    return readEnvelope(bytes, place);
  } catch (cause) {
    if (!(cause instanceof QualifyError)) throw cause;
    throw unusable(place.file, cause.message, cause);
  }
}

const readBytes = (path: string): Buffer =>
  readBounded(path, MAXIMUM_BYTES, (why, cause) =>
    unusable(path, `the attestations ${path} cannot be used: the file ${why}`, cause),
  );

const unusable = (file: string, message: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_ATTESTATIONS', message, {
    exit: 'usage',
    where: file,
    hint: 'The run is not at fault: give a file that `qualify verify RUN --attest FILE` has written, or leave this one out.',
    cause,
  });
