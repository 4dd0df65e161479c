/** A session between its plan and its end: what was built, launched and seen goes into the journal, and so does what broke. */
import { join } from 'node:path';
import { explainDiskFull } from '../disk-full.js';
import { EmbeddedEngine } from '../engine/adapters/embedded.js';
import { NodeLlamaCppEngine } from '../engine/adapters/node-llama-cpp.js';
import { SimulatedEngineAdapter } from '../engine/adapters/simulated.js';
import type { Engine } from '../engine/engine.js';
import { inheritedVariables } from '../engine/launch.js';
import { QualifyError } from '../errors.js';
import { harnessVersion } from '../harness.js';
import { EvidenceFolder } from '../journal/evidence.js';
import { Journal } from '../journal/journal.js';
import { fingerprint } from '../machine/fingerprint.js';
import { replaceFileSync } from '../machine/replace-file.js';
import { Telemetry } from '../machine/telemetry.js';
import { JOURNAL_FILE, PLAN_FILE } from '../manifest/run-folder.js';
import type { EngineName } from '../matrix/engines.js';
import { planDigest } from '../plan/build.js';
import type { Plan } from '../plan/schema.js';
import { type ArmBuild, type ArmSource, buildArms } from './arm-builds.js';
import { requireUnchanged } from './binaries.js';
import type { SessionContext, SessionProgress } from './context.js';
import { recordFailure } from './launch.js';
import { provideModel } from './model.js';
import { walk } from './walk.js';

/** What a session has to go on with: all of it when it begins, and what is missing when it is resumed. */
interface SessionSources {
  revisions: ReadonlyMap<string, ArmSource>;
  /** Builds of arms that the journal has already. */
  builds?: ReadonlyMap<string, ArmBuild>;
  /** Where the model is that the journal has already. */
  modelPath?: string | undefined;
}

/** Writes the plan, whole or not at all: a run folder that has it can be resumed. */
export const writePlan = (runFolder: string, plan: Plan): void =>
  replaceFileSync(join(runFolder, PLAN_FILE), `${JSON.stringify(plan, null, 2)}\n`);

/** Begins the journal of a plan and does all of it. Answers what ended it early; a bug of ours is thrown once the journal is closed. */
export function record(
  plan: Plan,
  revisions: ReadonlyMap<string, ArmSource>,
  runFolder: string,
  { progress, signal }: { progress: SessionProgress; signal: AbortSignal },
): Promise<QualifyError | null> {
  const evidence = new EvidenceFolder(runFolder);
  const journal = new Journal(join(runFolder, JOURNAL_FILE));
  const inherited = inheritedVariables();
  const telemetry = new Telemetry();
  const context: SessionContext = { plan, journal, evidence, telemetry, inherited, progress, signal };
  begin(context);
  return untilEnd(context, { revisions });
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

/** Does what the journal does not have yet, and closes it with its `end`, whatever happens. See `record`. */
export async function untilEnd(
  context: SessionContext,
  sources: SessionSources,
): Promise<QualifyError | null> {
  const { journal, evidence } = context;
  let complete = false;
  try {
    await execute(context, sources);
    complete = true;
    return null;
  } catch (thrown) {
    const error = explainDiskFull(thrown, evidence.runFolder);
    recordFailure(context, null, error);
    if (error instanceof QualifyError) return error;
    throw error;
  } finally {
    context.telemetry.close();
    journal.append({ kind: 'end', finishedAt: new Date().toISOString(), complete });
    journal.close();
  }
}

/** The adapter of each engine that an arm can name. */
const enginesOf = ({ plan, evidence, signal }: SessionContext): Record<EngineName, Engine> => ({
  embedded: new EmbeddedEngine(evidence, signal),
  'node-llama-cpp': new NodeLlamaCppEngine(evidence, signal),
  simulated: new SimulatedEngineAdapter(plan, evidence, signal),
});

async function execute(context: SessionContext, sources: SessionSources): Promise<void> {
  const builds = await buildArms(context, sources.revisions, sources.builds);
  const modelPath = sources.modelPath ?? (await provideModel(context));
  const engines = enginesOf(context);
  await walk(context, { engines, builds, modelPath });
  await requireUnchanged([...builds.values()].map(({ sealed }) => sealed));
}
