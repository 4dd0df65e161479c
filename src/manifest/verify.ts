/**
 * Checks a run folder that may come from anybody: who signed, that the set of files is closed and unchanged, and that
 * every number follows again from the journal. Needs no network, no engine and no path of the machine that measured.
 * Each step reads only what the steps before it have authenticated.
 */
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../digest.js';
import { QualifyError } from '../errors.js';
import { harnessVersion } from '../harness.js';
import type { Plan } from '../plan/schema.js';
import { buildStatement } from './build-statement.js';
import { confirmChallenge, type IssuedChallenge } from './confirm-challenge.js';
import { ENVELOPE_FILE, openEnvelope, readEnvelope } from './envelope.js';
import {
  checkClosedSet,
  type EvidenceIndex,
  INDEX_FILE,
  KEY_FILE,
  parseIndex,
  readListed,
  readRegular,
} from './evidence-index.js';
import { invalid } from './invalid.js';
import { firstJsonDifference } from './json-difference.js';
import { replayConclusion } from './replay-conclusion.js';
import { replayExchanges } from './replay-exchanges.js';
import { replayPlan } from './replay-plan.js';
import { replaySimulation } from './replay-simulation.js';
import { replayTelemetry } from './replay-telemetry.js';
import { type RunRecord, readRecord } from './run-folder.js';
import { requireFinishedRun } from './run-state.js';
import { checkTravellingKey, chooseSigner, type Signer, wrongKey } from './signer.js';
import { PREDICATE_TYPE, type Statement, serializeStatement, statementSchema } from './statement.js';
import { parseStrictJson } from './strict-json.js';

export interface VerifyOptions {
  /** A key file or a fingerprint; only this key will do. */
  key?: string;
  /** The user's keys; the default folder unless a test gives another. */
  keyFolder?: string;
  /** The run must answer this challenge and no other. */
  challenge?: IssuedChallenge;
}

/** A run that stood up to every check. */
export interface Verification {
  signer: Signer;
  statement: Statement;
  /** Plan, journal, verdict and machine, as they were read from files that the signature covers. */
  record: RunRecord;
  /** What was checked, in order, each with what was found. */
  checks: readonly { name: string; found: string }[];
}

/** What the signature covers, once it has been checked. */
interface Signed {
  signer: Signer;
  statement: Statement;
  payload: Buffer;
}

const PAYLOAD_LIMITS = { file: ENVELOPE_FILE, maximumBytes: 32 * 1024 * 1024, maximumDepth: 32 };

/**
 * Verifies a run folder. Throws a `QualifyError` with exit `invalid` that names the file and why; exit `usage` when it is
 * no run folder.
 */
export async function verifyRun(runFolder: string, options: VerifyOptions = {}): Promise<Verification> {
  await requireFinishedRun(runFolder);
  const checks: { name: string; found: string }[] = [];
  const report = (name: string, found: string): void => {
    checks.push({ name, found });
  };
  const { signer, statement, payload } = await checkSignature(runFolder, options);
  report('signature', `Ed25519 over the statement, by ${signer.key.keyId}`);

  const indexBytes = await readRegular(runFolder, INDEX_FILE);
  const indexDigest = statement.subject.find((subject) => subject.name === INDEX_FILE)?.digest;
  if (!indexDigest || !('sha256' in indexDigest) || indexDigest.sha256 !== sha256(indexBytes)) {
    throw invalid(
      INDEX_FILE,
      `has changed: its SHA-256 is ${sha256(indexBytes)}, which the statement does not have`,
    );
  }
  const index = parseIndex(indexBytes.toString('utf8'));
  const bytes = await checkClosedSet(runFolder, index);
  report('evidence', `${index.size} files, ${bytes} bytes: none changed, none missing, none added`);

  const read = (path: string): Promise<Buffer> => readListed(runFolder, index, path);
  const evidence = { sha256: sha256(indexBytes), files: index.size, bytes };
  try {
    const record = await replay({ signer, statement, payload }, evidence, index, read, report);
    checkChallenge(record.plan, options.challenge, report);
    return { signer, statement, record, checks };
  } catch (error) {
    throw withVersions(error, statement.predicate.harness.version);
  }
}

/** Draws everything again from what has been authenticated. */
async function replay(
  { signer, statement, payload }: Signed,
  evidence: { sha256: string; files: number; bytes: number },
  index: EvidenceIndex,
  read: (path: string) => Promise<Buffer>,
  report: (name: string, found: string) => void,
): Promise<RunRecord> {
  const record = await readRecord(read);
  const { plan, entries } = record;
  const planDigest = replayPlan(plan, entries);
  report(
    'plan',
    `${planDigest} is the first line of the journal; ${plan.prompts.length} prompts and the order regenerate`,
  );
  const exchanges = await replayExchanges(plan, entries, index, read);
  await replayTelemetry(entries, read);
  report(
    'exchanges',
    `${exchanges} requests carry those prompts, and their answers have the numbers of the journal`,
  );
  replaySimulation(plan, entries);
  const recomputed = await replayConclusion(record, read);
  report('verdict', `${recomputed.join(', ')}: recomputed from the journal, the same bytes`);

  const expected = buildStatement({ ...record, planDigest, evidence, signer: signer.key.keyId });
  const difference = firstJsonDifference(statement, expected);
  if (difference !== null)
    throw invalid(ENVELOPE_FILE, `states what does not follow from the run: ${difference}`);
  if (!serializeStatement(expected).equals(payload)) {
    throw invalid(ENVELOPE_FILE, 'has a payload that is not spelt as RFC 8785 says');
  }
  report('statement', 'every field follows from plan, journal and verdict');
  return record;
}

/** Which challenge the run answers, and whether the one who verifies has it from its issuer. */
function checkChallenge(
  plan: Plan,
  issued: IssuedChallenge | undefined,
  report: (name: string, found: string) => void,
): void {
  if (issued !== undefined) confirmChallenge(plan, issued);
  if (plan.challenge === undefined) return;
  const { nonce, issuedAt } = plan.challenge;
  report(
    'challenge',
    issued === undefined
      ? `answers ${nonce}, said to be issued at ${issuedAt}; nobody confirmed that it was issued`
      : `answers ${nonce} in every field, by the whole of its matrix`,
  );
}

/** Other rules or words than ours are no lie, but what they concluded cannot be drawn again here: still invalid. */
function withVersions(error: unknown, stated: string): unknown {
  if (!(error instanceof QualifyError) || stated === harnessVersion) return error;
  const version = stated.replace(/[^0-9A-Za-z.+-]/g, '?').slice(0, 40);
  const message = `${error.message}; the run was sealed by qualify ${version} and this is qualify ${harnessVersion}, whose rules or words may differ`;
  return new QualifyError(error.code, message, {
    exit: error.exit,
    hint: `Verify it with qualify ${version}; if that fails too, the run does not hold.`,
    ...(error.where !== undefined && { where: error.where }),
    cause: error,
  });
}

/** Envelope, key, signature, and only then the payload: the bytes that were signed are the bytes that are parsed. */
async function checkSignature(runFolder: string, options: VerifyOptions): Promise<Signed> {
  const sealed = readEnvelope(await readRegular(runFolder, ENVELOPE_FILE));
  const travelling = await readTravellingKey(runFolder);
  const signer = await chooseSigner({
    asked: options.key,
    travelling,
    claimedKeyId: sealed.claimedKeyId,
    ...(options.keyFolder === undefined ? {} : { folder: options.keyFolder }),
  });
  const payload = openEnvelope(sealed, signer.key, (claimed) => wrongKey(signer, claimed));
  checkTravellingKey(travelling, signer.key);
  return { signer, statement: readStatement(payload, signer), payload };
}

/** Where every version of the statement names the harness. */
const versionSchema = z.object({ predicate: z.object({ harness: z.object({ version: z.string() }) }) });

function readStatement(payload: Buffer, signer: Signer): Statement {
  const value = parseStrictJson(payload, PAYLOAD_LIMITS);
  const type = z.object({ predicateType: z.string() }).safeParse(value).data?.predicateType;
  if (type !== PREDICATE_TYPE) {
    throw invalid(ENVELOPE_FILE, `has the predicate type ${JSON.stringify(type)}, not ${PREDICATE_TYPE}`);
  }
  const parsed = statementSchema.safeParse(value);
  if (!parsed.success) {
    const error = invalid(ENVELOPE_FILE, `holds no statement of a run: ${z.prettifyError(parsed.error)}`);
    throw withVersions(
      error,
      versionSchema.safeParse(value).data?.predicate.harness.version ?? harnessVersion,
    );
  }
  if (parsed.data.predicate.signer !== signer.key.keyId) {
    throw invalid(
      ENVELOPE_FILE,
      `was made by ${parsed.data.predicate.signer} and signed again by ${signer.key.keyId}`,
    );
  }
  return parsed.data;
}

async function readTravellingKey(runFolder: string): Promise<Buffer | null> {
  const there = await lstat(join(runFolder, KEY_FILE)).catch(() => null);
  return there && readRegular(runFolder, KEY_FILE);
}
