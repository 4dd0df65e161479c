/** A run that did not come to its end: whether it can be resumed, and what it has. Changes nothing. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  failuresOfLast,
  launchUnderWay,
  lostLaunches,
  MOST_FAILURES,
  nextAttempt,
  standingEntries,
} from '../analysis/lost-launches.js';
import { counted } from '../counted.js';
import { QualifyError } from '../errors.js';
import { harnessVersion } from '../harness.js';
import type { Entry } from '../journal/entries.js';
import { type CutJournal, parseCutJournal } from '../journal/read.js';
import { fingerprint } from '../machine/fingerprint.js';
import { isThere } from '../machine/is-there.js';
import { MANIFEST_FILE, readRegular } from '../manifest/evidence-index.js';
import { invalid } from '../manifest/invalid.js';
import { FINAL_FAILURES, MOST_RESUMPTIONS } from '../manifest/replay-order.js';
import { replayPlan } from '../manifest/replay-plan.js';
import {
  EVIDENCE_FOLDER,
  JOURNAL_FILE,
  MACHINE_FILE,
  PLAN_FILE,
  parseJson,
  VERDICT_FILE,
} from '../manifest/run-folder.js';
import { noRun, requireFolder } from '../manifest/run-state.js';
import { verifyRun } from '../manifest/verify.js';
import { planDigest } from '../plan/build.js';
import { launchName, placesOf } from '../plan/launch-name.js';
import { type Plan, planSchema } from '../plan/schema.js';
import { shellPath } from '../shell-word.js';
import { verdictSchema } from '../verdict/schema.js';
import { requireKnownEvidence } from './known-evidence.js';

export interface UnfinishedRun {
  runFolder: string;
  plan: Plan;
  journal: CutJournal;
  /** What is missing: all of it, launches, or only the verdict and the seal. */
  missing: 'everything' | 'launches' | 'seal';
  /** Name of the launch that was under way and is lost with that; null when none was. */
  lost: string | null;
}

/** Lets a folder pass that has a plan. @throws QualifyError `ERR_QUALIFY_NO_RUN` (exit 64) */
export async function requirePlan(runFolder: string): Promise<void> {
  await requireFolder(runFolder, PLAN_FILE);
  if (await isThere(join(runFolder, PLAN_FILE))) return;
  throw noRun(`${runFolder} has no ${PLAN_FILE}`, runFolder, PLAN_FILE);
}

/**
 * Reads a run that is to be resumed, and that nobody writes meanwhile: whoever goes on with it holds the lock of its folder.
 * @throws QualifyError `ERR_QUALIFY_NO_RUN` and `ERR_QUALIFY_RUN_COMPLETE` (exit 64); `ERR_QUALIFY_OTHER_MACHINE` and
 * `ERR_QUALIFY_OTHER_VERSION` (14); `ERR_QUALIFY_NOT_RESUMABLE` (15); what `verifyRun` or `replayPlan` throw, for a run that does
 * not hold (16).
 */
export async function readUnfinishedRun(runFolder: string): Promise<UnfinishedRun> {
  await requirePlan(runFolder);
  const plan = parseJson(PLAN_FILE, await readRegular(runFolder, PLAN_FILE), planSchema);
  const journal = await readJournalSoFar(runFolder);
  const isSealed = await isThere(join(runFolder, MANIFEST_FILE));
  const [session] = journal.entries;
  if (session === undefined && isSealed)
    throw invalid(JOURNAL_FILE, 'is empty, and was not when the run was sealed');
  if (session === undefined) {
    await requireNothingSeen(runFolder);
    return { runFolder, plan, journal, missing: 'everything', lost: null };
  }
  if (session.kind !== 'session' || session.planDigest !== planDigest(plan))
    throw invalid(PLAN_FILE, 'is not the plan with which the journal begins');
  // Before the replay: what another version wrote may well not follow by the rules of this one.
  requireSameMachine(runFolder, session.machineId);
  requireSameVersion(runFolder, session.harness.version);
  replayPlan(plan, journal.entries);

  const end = journal.entries.at(-1);
  if (end?.kind === 'end' && isSealed) {
    if (end.complete) throw await isComplete(runFolder);
    // What somebody changed in the meantime is not to be signed again.
    await verifyRun(runFolder);
  }
  if (isSealed && !journal.entries.some(({ kind }) => kind === 'end'))
    throw invalid(JOURNAL_FILE, 'has no end, and had one when the run was sealed');
  const isOver = end?.kind === 'end' && end.complete;
  const lost = isOver ? null : lostLaunch(runFolder, plan, journal.entries);
  await requireKnownEvidence(runFolder, journal.entries, lost);
  if (isOver) return { runFolder, plan, journal, missing: 'seal', lost: null };
  const final = finalFailure(journal.entries, lost);
  if (final === null) return { runFolder, plan, journal, missing: 'launches', lost };
  if (!isSealed) return { runFolder, plan, journal, missing: 'seal', lost: null };
  throw new QualifyError('ERR_QUALIFY_NOT_RESUMABLE', `${runFolder} cannot be resumed: ${final}`, {
    exit: 'infrastructure',
    where: runFolder,
    hint: 'Its report says what failed. Repair that, and measure anew.',
  });
}

async function readJournalSoFar(runFolder: string): Promise<CutJournal> {
  if (!(await isThere(join(runFolder, JOURNAL_FILE)))) return { entries: [], tail: Buffer.alloc(0) };
  return parseCutJournal(await readRegular(runFolder, JOURNAL_FILE), join(runFolder, JOURNAL_FILE));
}

/** A session writes the description of its machine before the first line of its journal, and everything else after it. */
async function requireNothingSeen(runFolder: string): Promise<void> {
  const folder = join(runFolder, EVIDENCE_FOLDER);
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const seen = found.filter(
    (entry) => !entry.isDirectory() && join(entry.parentPath, entry.name) !== join(runFolder, MACHINE_FILE),
  );
  if (seen.length === 0) return;
  throw invalid(
    JOURNAL_FILE,
    `has no whole line, but ${EVIDENCE_FOLDER}/ has ${counted(seen.length, 'file')} that a session wrote after its first`,
    undefined,
    `Bring the journal back from a copy of the run, or measure anew with qualify run; ${EVIDENCE_FOLDER}/ stays as it is.`,
  );
}

async function isComplete(runFolder: string): Promise<QualifyError> {
  const bytes = await readRegular(runFolder, VERDICT_FILE);
  const { result, exitCode } = parseJson(VERDICT_FILE, bytes, verdictSchema);
  return new QualifyError(
    'ERR_QUALIFY_RUN_COMPLETE',
    `${runFolder} is complete: its verdict is ${result} (exit code ${exitCode}).`,
    {
      exit: 'usage',
      where: runFolder,
      hint: `qualify report ${shellPath(runFolder)} shows it; qualify run measures anew.`,
    },
  );
}

function requireSameMachine(runFolder: string, machineId: string): void {
  if (fingerprint().id === machineId) return;
  throw new QualifyError('ERR_QUALIFY_OTHER_MACHINE', `${runFolder} was begun on another machine.`, {
    exit: 'unmatched',
    where: runFolder,
    hint: 'Rates of two machines are not compared. Resume it where it was begun, or measure anew here.',
  });
}

function requireSameVersion(runFolder: string, version: string): void {
  if (version === harnessVersion) return;
  throw new QualifyError(
    'ERR_QUALIFY_OTHER_VERSION',
    `${runFolder} was begun by qualify ${version}, and this is qualify ${harnessVersion}.`,
    { exit: 'unmatched', where: runFolder, hint: `Resume it with qualify ${version}, or measure anew.` },
  );
}

/** Why nothing may follow; null when the session may go on. */
function finalFailure(entries: readonly Entry[], lost: string | null): string | null {
  const final = entries.find((entry) => entry.kind === 'failure' && FINAL_FAILURES.has(entry.code));
  if (final?.kind === 'failure') return final.message;
  if (entries.filter(({ kind }) => kind === 'resume').length >= MOST_RESUMPTIONS)
    return `it was resumed ${MOST_RESUMPTIONS} times already.`;
  const failed = lost === null ? [] : failuresOfLast(lostLaunches(entries, lost));
  if (failed.length < MOST_FAILURES) return null;
  const names = failed.map(({ launch, code }) => `${launch} (${code})`).join(' and ');
  return `one launch of the plan failed twice, as ${names}, and is not tried a third time.`;
}

/** The launch that is repeated: one with an entry that is not over, or one that was not ready and left no more than files. */
function lostLaunch(runFolder: string, plan: Plan, entries: readonly Entry[]): string | null {
  const underWay = launchUnderWay(entries);
  if (underWay !== null) return underWay.launch;
  const done = standingEntries(entries).filter((entry) => entry.kind === 'launch').length;
  const place = placesOf(plan)[done];
  if (place === undefined) return null;
  const name = launchName(place, nextAttempt(entries, place));
  return existsSync(join(runFolder, 'evidence', 'launches', `${name}.log`)) ? name : null;
}
