/**
 * Goes on with a session that was killed, interrupted or broken: the same plan from the place where it stopped. The launch that was
 * under way is repeated whole; what was seen of it stays in the evidence. Until builds and model have proved the same, nothing of the
 * run changes.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../digest.js';
import { inheritedVariables } from '../engine/launch.js';
import { endLeftOver } from '../engine/left-over.js';
import { harnessVersion } from '../harness.js';
import type { Entry } from '../journal/entries.js';
import { EvidenceFolder } from '../journal/evidence.js';
import { Journal } from '../journal/journal.js';
import { fingerprint } from '../machine/fingerprint.js';
import { type MachineLock, takeFolderLock, takeMachineLock } from '../machine/lock.js';
import { Telemetry } from '../machine/telemetry.js';
import { partialPrefix } from '../machine/write-new.js';
import { INDEX_FILE, KEY_FILE, MANIFEST_FILE } from '../manifest/evidence-index.js';
import { evidenceOf } from '../manifest/replay-evidence.js';
import { JOURNAL_FILE, REPORT_FILE, VERDICT_FILE } from '../manifest/run-folder.js';
import { prepareSigningKey } from '../manifest/signing-key.js';
import { BUNDLE_FILE } from '../manifest/sigstore-bundle.js';
import { SSH_SIGNATURE_FILE } from '../manifest/ssh-signature.js';
import type { Plan } from '../plan/schema.js';
import { removeStaleWorktrees } from '../revision/worktree.js';
import { resolveArms } from './arm-builds.js';
import { conclude } from './conclude.js';
import { type SessionContext, withPhase } from './context.js';
import { leaveNothingBehind } from './leave-nothing.js';
import { record, untilEnd } from './record.js';
import { commitsOf, sameBuilds, sameModel } from './same-builds.js';
import type { SessionOptions, SessionResult } from './session.js';
import { readUnfinishedRun, requirePlan, type UnfinishedRun } from './unfinished-run.js';

interface ResumeOptions
  extends Pick<SessionOptions, 'repository' | 'wait' | 'onWaited' | 'progress' | 'signal'> {
  /** Absolute path. */
  runFolder: string;
}

/** What is made after the journal; the manifest first, so that nothing looks sealed that is not. */
const CONCLUSIONS = [
  MANIFEST_FILE,
  SSH_SIGNATURE_FILE,
  BUNDLE_FILE,
  KEY_FILE,
  INDEX_FILE,
  REPORT_FILE,
  VERDICT_FILE,
] as const;

/**
 * Resumes a run and brings it to its end. The lock of its folder is held from before it is read, also while others have the machine.
 * @throws QualifyError when it could not go on, and then the run is as it was: `ERR_QUALIFY_LOCKED` (exit 15) while another process writes
 * the run or has the machine, unless `wait`; see `readUnfinishedRun` and `same-builds.ts`.
 */
export async function resumeSession(options: ResumeOptions): Promise<SessionResult> {
  leaveNothingBehind();
  const { runFolder, signal, wait } = options;
  const { progress, phase } = withPhase(options.progress);
  const asked = { phase, wait, onWait: progress.note, signal };
  const timed = (taken: Promise<MachineLock>): Promise<MachineLock> => {
    const asksAt = performance.now();
    return taken.finally(() => options.onWaited?.((performance.now() - asksAt) / 1000));
  };
  // A session takes the lock of its folder before it writes the plan: a folder without one is left to it.
  await requirePlan(runFolder);
  const folderLock = await timed(takeFolderLock(runFolder, { what: 'qualify resume', ...asked }));
  try {
    // Not before: while a session writes, its journal may be read without a launch whose evidence is there a moment later.
    const run = await readUnfinishedRun(runFolder);
    const { session } = run.plan;
    const { created: keyCreated } = await prepareSigningKey();
    const lock = await timed(takeMachineLock({ what: `session ${session}`, ...asked }));
    try {
      for (const folder of await removeStaleWorktrees())
        progress.note(`removed the worktree ${folder} of a killed session`);
      await endLeftOver(session);
      const failure = await goOn(run, { ...options, progress });
      return { runFolder, failure, ...(await conclude(runFolder)), keyCreated };
    } finally {
      await lock.release();
    }
  } finally {
    await folderLock.release();
  }
}

async function goOn(run: UnfinishedRun, options: ResumeOptions): ReturnType<typeof untilEnd> {
  const { runFolder, plan, journal: found, missing } = run;
  if (missing === 'seal') {
    close(run);
    removeConclusions(runFolder);
    return null;
  }
  const revisions = await resolveArms(plan, options.repository, commitsOf(found.entries));
  if (missing === 'everything') {
    // No more than the description of the machine is there, as `readUnfinishedRun` has seen to.
    for (const name of [JOURNAL_FILE, 'evidence'])
      rmSync(join(runFolder, name), { recursive: true, force: true });
    return record(plan, revisions, runFolder, options);
  }
  const checked = { plan, ...options };
  const builds = await sameBuilds(checked, found.entries, revisions);
  const modelPath = await sameModel(checked, found.entries);
  return untilEnd(reopen(run, options), { revisions, builds, modelPath });
}

/** The last line of a session that was killed after a failure that ends it for good. */
function close({ runFolder, journal: found }: UnfinishedRun): void {
  if (found.entries.at(-1)?.kind === 'end') return;
  const journal = new Journal(join(runFolder, JOURNAL_FILE), process.hrtime.bigint, found);
  journal.append({ kind: 'end', finishedAt: new Date().toISOString(), complete: false });
  journal.close();
}

/** Writes down that the session goes on; only then takes away what followed from the state before. */
function reopen(
  { runFolder, plan, journal: found, lost }: UnfinishedRun,
  options: ResumeOptions,
): SessionContext {
  const journal = new Journal(join(runFolder, JOURNAL_FILE), process.hrtime.bigint, found);
  const { tail } = found;
  journal.append({
    kind: 'resume',
    resumedAt: new Date().toISOString(),
    harness: { version: harnessVersion, node: process.version },
    machineId: fingerprint().id,
    lost,
    droppedBytes: tail.length,
    droppedSha256: tail.length === 0 ? null : sha256(tail),
  });
  removeConclusions(runFolder);
  removeUnknownLogs(runFolder, found.entries);
  const { progress, signal } = options;
  const evidence = new EvidenceFolder(runFolder);
  const inherited = inheritedBefore(plan, found.entries);
  return { plan, journal, evidence, telemetry: new Telemetry(), inherited, progress, signal };
}

/** What the session's engines inherited so far: our own shell, or `npx`, may have another PATH. Before the first launch, ours. */
function inheritedBefore(plan: Plan, entries: readonly Entry[]): Record<string, string> {
  // An arm whose switches are among them says nothing of what was inherited.
  const plain = plan.arms.filter(({ switches }) => Object.keys(inheritedVariables(switches)).length === 0);
  const first = entries.find(
    (entry) => entry.kind === 'launch' && plain.some(({ name }) => name === entry.arm),
  );
  return inheritedVariables(first?.kind === 'launch' ? first.environment : undefined);
}

/** Whether a file of a run folder is a conclusion on its way: a machine that lost its power meanwhile leaves it. */
const isPartial = (name: string): boolean =>
  // The second is what earlier versions called it.
  CONCLUSIONS.some((file) => name.startsWith(partialPrefix(file))) || name === `${MANIFEST_FILE}.partial`;

function removeConclusions(runFolder: string): void {
  const partial = readdirSync(runFolder).filter(isPartial);
  for (const name of [...CONCLUSIONS, ...partial]) rmSync(join(runFolder, name), { force: true });
}

/** The log of a build that the journal does not have. The build is made again, and its log is then another. */
function removeUnknownLogs(runFolder: string, entries: readonly Entry[]): void {
  const known = new Set(entries.flatMap((entry) => evidenceOf(entry).map(({ path }) => path)));
  const folder = join(runFolder, 'evidence', 'builds');
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    if (!known.has(`evidence/builds/${name}`)) rmSync(join(folder, name));
}
