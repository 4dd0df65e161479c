/**
 * Checks a run folder that may come from anybody: who signed, that the set of files is closed and unchanged, and that
 * every number follows again from the journal. Needs no network, no engine and no path of the machine that measured.
 * Each step reads only what the steps before it have authenticated.
 */
import { sha256 } from '../digest.js';
import type { Plan } from '../plan/schema.js';
import { buildStatement } from './build-statement.js';
import { type ClosedSet, closedSet } from './closed-set.js';
import { confirmChallenge, type IssuedChallenge } from './confirm-challenge.js';
import {
  type EvidenceIndex,
  INDEX_FILE,
  MANIFEST_FILE,
  parseIndex,
  readListed,
  readRegular,
} from './evidence-index.js';
import { invalid } from './invalid.js';
import { firstJsonDifference } from './json-difference.js';
import { type KeyChoice, type OpenManifest, openManifest } from './open-manifest.js';
import { replayConclusion } from './replay-conclusion.js';
import { replayExchanges } from './replay-exchanges.js';
import { replayPlan } from './replay-plan.js';
import { replaySimulation } from './replay-simulation.js';
import { replayTelemetry } from './replay-telemetry.js';
import { type RunRecord, readRecord } from './run-folder.js';
import { requireFinishedRun } from './run-state.js';
import type { Signer } from './signer.js';
import { type Statement, serializeStatement } from './statement.js';
import { withVersions } from './versions.js';

export interface VerifyOptions extends KeyChoice {
  /** The run must answer this challenge and no other. */
  challenge?: IssuedChallenge;
  /** Called after each check that the run stood up to, so that those before one that fails can be told. */
  onCheck?: (check: Check) => void;
}

/** A check that was made, and what it found. */
export interface Check {
  readonly name: string;
  readonly found: string;
}

/** A run that stood up to every check. */
export interface Verification {
  signer: Signer;
  statement: Statement;
  /** SHA-256 of the manifest that was read. */
  manifestSha256: string;
  /** What the index lists: the digest of each file. */
  index: EvidenceIndex;
  /** What it does not, by name: itself, and what is made after it. The bytes that were checked. */
  unlisted: ReadonlyMap<string, Buffer>;
  /** Plan, journal, verdict and machine, as they were read from files that the signature covers. */
  record: RunRecord;
  /** What was checked, in order, each with what was found. */
  checks: readonly Check[];
}

/**
 * Verifies a run folder. Throws a `QualifyError` with exit `invalid` that names the file and why; exit `usage` when it is
 * no run folder.
 */
export async function verifyRun(runFolder: string, options: VerifyOptions = {}): Promise<Verification> {
  await requireFinishedRun(runFolder);
  const checks: Check[] = [];
  const report = (name: string, found: string): void => {
    checks.push({ name, found });
    options.onCheck?.({ name, found });
  };
  const { signer, statement, payload, manifestSha256, files } = await openManifest(runFolder, options);
  report(
    'signature',
    `${signer.key.algorithm} over the statement and the test result that follows from it, by ${signer.key.keyId}`,
  );

  const indexBytes = await readRegular(runFolder, INDEX_FILE);
  const indexDigest = statement.subject.find((subject) => subject.name === INDEX_FILE)?.digest;
  const indexSha256 = sha256(indexBytes);
  if (!indexDigest || !('sha256' in indexDigest) || indexDigest.sha256 !== indexSha256) {
    throw invalid(
      INDEX_FILE,
      `has changed: its SHA-256 is ${indexSha256}, which the statement does not have`,
    );
  }
  const index = parseIndex(indexBytes.toString('utf8'));
  const closing = closedSet(runFolder, indexBytes, index);
  // It is awaited, and what is wrong told, in its turn.
  closing.catch(() => {});
  try {
    const run = { runFolder, index, closing, sha256: indexSha256 };
    const record = await replay({ signer, statement, payload }, run, report);
    checkChallenge(record.plan, options.challenge, report);
    const unlisted = new Map([...files, [INDEX_FILE, indexBytes]]);
    return { signer, statement, manifestSha256, index, unlisted, record, checks };
  } catch (error) {
    // That a file has changed is told before what would follow from it.
    await closing;
    throw withVersions(error, statement.predicate.harness.version);
  }
}

/** The evidence of a run: its folder, what is listed there, the SHA-256 of the list, and the check of all files, which may go on. */
interface EvidenceOfRun {
  runFolder: string;
  index: EvidenceIndex;
  sha256: string;
  closing: Promise<ClosedSet>;
}

/**
 * Draws everything again from what has been authenticated. Until every file is known to be as listed, only such are read whose
 * own digest is compared as they are read.
 */
async function replay(
  { signer, statement, payload }: Omit<OpenManifest, 'manifestSha256' | 'files'>,
  { runFolder, index, sha256: indexSha256, closing }: EvidenceOfRun,
  report: (name: string, found: string) => void,
): Promise<RunRecord> {
  const readNow = (path: string): Promise<Buffer> => readListed(runFolder, index, path);
  const record = await readRecord(readNow);
  const { plan, entries } = record;
  const planDigest = replayPlan(plan, entries);
  // Told in its turn, too.
  const conclusion = replayConclusion(record, readNow);
  conclusion.catch(() => {});

  const { files, bytes, kept } = await closing;
  report('evidence', `${files} files, ${bytes} bytes: none changed, none missing, none added`);
  report(
    'plan',
    `${planDigest} is the first line of the journal; ${plan.prompts.length} prompts and the order regenerate`,
  );
  const read = (path: string): Promise<Buffer> => readListed(runFolder, index, path, kept);
  const exchanges = await replayExchanges(plan, entries, index, read);
  await replayTelemetry(entries, read);
  report(
    'exchanges',
    `${exchanges} requests carry those prompts, and their answers have the numbers of the journal`,
  );
  replaySimulation(plan, entries);
  report('verdict', `${(await conclusion).join(', ')}: recomputed from the journal, the same bytes`);

  const evidence = { sha256: indexSha256, files, bytes };
  const expected = buildStatement({ ...record, planDigest, evidence, signer: signer.key.keyId });
  const difference = firstJsonDifference(statement, expected);
  if (difference !== null)
    throw invalid(MANIFEST_FILE, `states what does not follow from the run: ${difference}`);
  if (!serializeStatement(expected).equals(payload)) {
    throw invalid(MANIFEST_FILE, 'has a payload that is not spelt as RFC 8785 says');
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
