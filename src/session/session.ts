/**
 * One session from the matrix to the sealed run folder. Whatever ends it early (an engine that dies, a build that fails, Ctrl-C), the
 * journal is closed with a failure and an end, the verdict follows from it by the same rule, and the folder is sealed and readable.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../digest.js';
import { explainDiskFull } from '../disk-full.js';
import { EmbeddedEngine } from '../engine/adapters/embedded.js';
import { NodeLlamaCppEngine } from '../engine/adapters/node-llama-cpp.js';
import { SimulatedEngineAdapter } from '../engine/adapters/simulated.js';
import type { Engine } from '../engine/engine.js';
import { QualifyError } from '../errors.js';
import { harnessVersion } from '../harness.js';
import { EvidenceFolder } from '../journal/evidence.js';
import { Journal } from '../journal/journal.js';
import { fingerprint } from '../machine/fingerprint.js';
import { takeMachineLock } from '../machine/lock.js';
import { JOURNAL_FILE, PLAN_FILE } from '../manifest/run-folder.js';
import type { EngineName } from '../matrix/engines.js';
import { narrow } from '../matrix/narrow.js';
import type { Matrix } from '../matrix/schema.js';
import { buildPlan, planDigest } from '../plan/build.js';
import type { Plan } from '../plan/schema.js';
import { removeStaleWorktrees } from '../revision/worktree.js';
import { type ArmSource, buildArms, resolveArms } from './arm-builds.js';
import { requireUnchanged } from './binaries.js';
import { type Concluded, conclude } from './conclude.js';
import type { SessionContext, SessionProgress } from './context.js';
import { recordFailure } from './launch.js';
import { leaveNothingBehind } from './leave-nothing.js';
import { provideModel } from './model.js';
import { makeRunFolder, sessionName } from './run-folder.js';
import { walk } from './walk.js';

export interface SessionOptions {
  matrix: Matrix;
  /** The repository in which names of revisions are looked up. */
  repository: string;
  /** Folder in which `.qualify/runs` lies. */
  folder: string;
  /** Another place for the run folder. */
  out?: string | undefined;
  /** Any text; equal text gives equal prompts and order. Drawn at random when absent. */
  seed?: string | undefined;
  rounds?: number | undefined;
  /** Ids of the only cells to run. */
  cells?: readonly string[] | undefined;
  /** Wait for the machine instead of failing when another session holds it. */
  wait: boolean;
  progress: SessionProgress;
  signal: AbortSignal;
}

export interface SessionResult extends Concluded {
  runFolder: string;
  /** What ended the session early. */
  failure: QualifyError | null;
}

const seedOf = (text: string | undefined): string =>
  text === undefined ? randomBytes(32).toString('hex') : /^[0-9a-f]{64}$/.test(text) ? text : sha256(text);

/**
 * Runs a matrix.
 * @throws QualifyError when nothing could begin: a revision that does not exist, a machine that is taken, a run folder in the way.
 */
export async function runSession(options: SessionOptions): Promise<SessionResult> {
  leaveNothingBehind();
  const session = sessionName(new Date());
  const { matrix, leftOut } = narrow(options.matrix, options.cells);
  const plan = buildPlan(matrix, {
    session,
    leftOut,
    seed: seedOf(options.seed),
    ...(options.rounds !== undefined && { rounds: options.rounds }),
  });
  const revisions = await resolveArms(plan, options.repository);
  const lock = await takeMachineLock({
    what: `session ${session}`,
    wait: options.wait,
    onWait: options.progress.note,
    signal: options.signal,
  });
  try {
    for (const folder of await removeStaleWorktrees())
      options.progress.note(`removed the worktree ${folder} of a killed session`);
    const runFolder = makeRunFolder(session, options.out, options.folder);
    const failure = await record(plan, revisions, runFolder, options);
    return { runFolder, failure, ...(await conclude(runFolder)) };
  } finally {
    await lock.release();
  }
}

/** Writes plan, journal and evidence. Answers what ended it early; a bug of ours is thrown once the journal is closed. */
async function record(
  plan: Plan,
  revisions: Map<string, ArmSource>,
  runFolder: string,
  { progress, signal }: SessionOptions,
): Promise<QualifyError | null> {
  writeFileSync(join(runFolder, PLAN_FILE), `${JSON.stringify(plan, null, 2)}\n`);
  const evidence = new EvidenceFolder(runFolder);
  const journal = new Journal(join(runFolder, JOURNAL_FILE));
  const context: SessionContext = { plan, journal, evidence, progress, signal };
  begin(context);
  let complete = false;
  try {
    await execute(context, revisions);
    complete = true;
    return null;
  } catch (thrown) {
    const error = explainDiskFull(thrown, runFolder);
    recordFailure(context, null, error);
    if (error instanceof QualifyError) return error;
    throw error;
  } finally {
    journal.append({ kind: 'end', finishedAt: new Date().toISOString(), complete });
    journal.close();
  }
}

function begin({ plan, journal, evidence }: SessionContext): void {
  const machine = fingerprint();
  journal.append({
    kind: 'session',
    planDigest: planDigest(plan),
    session: plan.session,
    startedAt: new Date().toISOString(),
    harness: { version: harnessVersion, node: process.version },
    machine: evidence.write('machine.json', `${JSON.stringify(machine, null, 2)}\n`),
    machineId: machine.id,
  });
}

/** The adapter of each engine that an arm can name. */
const enginesOf = ({ plan, evidence, signal }: SessionContext): Record<EngineName, Engine> => ({
  embedded: new EmbeddedEngine(evidence, signal),
  'node-llama-cpp': new NodeLlamaCppEngine(evidence, signal),
  simulated: new SimulatedEngineAdapter(plan, evidence, signal),
});

async function execute(context: SessionContext, revisions: Map<string, ArmSource>): Promise<void> {
  const builds = await buildArms(context, revisions);
  const modelPath = await provideModel(context);
  const engines = enginesOf(context);
  await walk(context, { engines, builds, modelPath });
  await requireUnchanged([...builds.values()].map(({ sealed }) => sealed));
}
