/** One launch of one arm from start to stop: proofs, control of coldness, warm-ups, samples, parity, counters. All of it in the journal. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { standingEntries } from '../analysis/lost-launches.js';
import { summariseTelemetry } from '../analysis/telemetry.js';
import { explainDiskFull } from '../disk-full.js';
import type { Engine, LaunchSpec, RunningEngine } from '../engine/engine.js';
import { QualifyError } from '../errors.js';
import { evidenceName } from '../journal/evidence.js';
import { parseTelemetry } from '../journal/telemetry.js';
import { watchLoad } from '../machine/load.js';
import { askedProbabilities } from '../plan/asked-probabilities.js';
import { generatedTokens } from '../plan/generated-tokens.js';
import { launchName } from '../plan/launch-name.js';
import { promptDigest, promptTokens } from '../plan/prompts.js';
import { promptsInOrder } from '../plan/sample-order.js';
import type { Plan, PlannedCell, Prompt } from '../plan/schema.js';
import type { ArmBuild } from './arm-builds.js';
import { conditionsOf } from './conditions.js';
import type { SessionContext } from './context.js';

/** Which launch of the plan. */
interface LaunchPlace {
  round: number;
  position: number;
  arm: Plan['arms'][number];
  /** 1, and one more for each launch that was lost there. */
  attempt: number;
}

/** What a launch needs besides the session. */
interface LaunchInputs {
  engine: Engine;
  build: ArmBuild;
  modelPath: string;
  /** Cells still to be measured, in the order of the plan. */
  cells: readonly PlannedCell[];
}

function specOf(
  context: SessionContext,
  { arm, round, position }: LaunchPlace,
  inputs: LaunchInputs,
  logName: string,
): LaunchSpec {
  const { plan } = context;
  const longest = plan.cells.map((cell) => cell.promptTokens + generatedTokens(plan, cell, 'parity'));
  return {
    buildFolder: inputs.build.folder,
    buildDigest: inputs.build.buildDigest,
    modelPath: inputs.modelPath,
    // Begins with the session, so that a resumed one finds what may be left of it.
    nonce: `${plan.session}.${randomUUID()}`,
    place: { round, position },
    plantedSlowdownPercent: arm.plantedSlowdownPercent,
    inherited: context.inherited,
    switches: arm.switches,
    arguments: arm.arguments,
    threads: plan.engine.threads,
    cpus: plan.engine.cpus,
    contextTokens: Math.max(...longest),
    readyTimeoutMs: plan.protocol.readyTimeoutSeconds * 1000,
    logPath: context.evidence.pathOf(logName),
  };
}

/** Writes why the session ends early, once: with the launch it happened in, or null when none was up. */
export function recordFailure(context: SessionContext, launch: string | null, thrown: unknown): void {
  const error = explainDiskFull(thrown, context.evidence.runFolder);
  if (standingEntries(context.journal.entries).some((entry) => entry.kind === 'failure')) return;
  const known = error instanceof QualifyError;
  // What follows the first line is the tail of a log, which is evidence already.
  const [message = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  context.journal.append({ kind: 'failure', launch, code: known ? error.code : 'ERR_QUALIFY_BUG', message });
}

/**
 * Runs the launch. Nothing of it is alive when this returns or throws.
 * @throws what ended it early, after a `failure` entry.
 */
export async function runLaunch(
  context: SessionContext,
  place: LaunchPlace,
  inputs: LaunchInputs,
): Promise<void> {
  const { journal, evidence } = context;
  const launch = launchName({ ...place, arm: place.arm.name }, place.attempt);
  const logName = `launches/${launch}.log`;
  let running: RunningEngine | undefined;
  try {
    const spec = specOf(context, place, inputs, logName);
    running = await inputs.engine.launch(spec);
    const { pid, port, readyMs, witness } = running;
    const { round, position, arm } = place;
    const started = {
      pid,
      port,
      nonce: spec.nonce,
      argv: [...running.argv],
      environment: { ...running.environment },
    };
    journal.append({ kind: 'launch', launch, arm: arm.name, round, position, ...started });
    const props = evidence.write(`launches/${launch}.props.json`, running.props);
    journal.append({ kind: 'ready', launch, readyMs, witness, props });
    const fields = await conditionsOf(context, launch, running, inputs.build.folder);
    journal.append({ kind: 'conditions', launch, fields });
    const watched = arm.telemetry === false ? null : await watchTelemetry(context, launch, pid);
    const loadSince = watchLoad(pid);
    await measure(context, { launch, round }, running, inputs.cells);
    journal.append({ kind: 'load', launch, ...loadSince() });
    await watched?.();
    const last = await running.counters();
    const lastProps = evidence.write(`launches/${launch}.last-props.json`, last.props);
    journal.append({ kind: 'counters', launch, counters: last.counters, props: lastProps });
  } catch (error) {
    recordFailure(context, running === undefined ? null : launch, error);
    throw error;
  } finally {
    if (running !== undefined) {
      const end = await running.stop();
      journal.append({ kind: 'stop', launch, ...end, log: await evidence.adopt(logName) });
    }
  }
}

/** Telemetry of the launch from now on; the answer ends it and writes what it saw. */
async function watchTelemetry(
  { telemetry, evidence, journal }: SessionContext,
  launch: string,
  group: number,
): Promise<() => Promise<void>> {
  const name = `launches/${launch}.telemetry.jsonl`;
  const path = evidence.pathOf(name);
  await telemetry.watch(group, path);
  return async () => {
    await telemetry.finish();
    const samples = parseTelemetry(readFileSync(path, 'utf8'), path);
    const log = await evidence.adopt(name);
    journal.append({ kind: 'telemetry', launch, ...summariseTelemetry(samples), log });
  };
}

async function measure(
  context: SessionContext,
  { launch, round }: { launch: string; round: number },
  running: RunningEngine,
  cells: readonly PlannedCell[],
): Promise<void> {
  const { plan, journal } = context;
  const complete = (prompt: Prompt, cell: PlannedCell, reuseCache: boolean, suffix: string) =>
    running.complete({
      tokens: [...promptTokens(plan, prompt.id, launch)],
      generatedTokens: generatedTokens(plan, cell, prompt.kind),
      chunk: cell.chunk,
      reuseCache,
      probabilities: askedProbabilities(plan),
      timeoutMs: plan.protocol.requestTimeoutSeconds * 1000,
      evidenceName: `${launch}/${evidenceName(plan.cells.indexOf(cell), cell.id, suffix)}`,
    });
  for (const prompt of plan.prompts.filter(({ kind }) => kind === 'control')) {
    // The control is about the process, so it runs even when its cell is decided already.
    const cell = plan.cells.find(({ id }) => id === prompt.cell);
    if (cell === undefined) continue;
    const first = await complete(prompt, cell, true, 'control-first');
    const second = await complete(prompt, cell, true, 'control-second');
    journal.append({
      kind: 'control',
      launch,
      prompt: prompt.id,
      promptSha256: prompt.sha256,
      first,
      second,
    });
  }
  for (const cell of cells) {
    for (const purpose of ['warmup', 'sample', 'parity'] as const) {
      for (const prompt of promptsInOrder(plan, cell.id, purpose, round)) {
        const { id, index } = prompt;
        const answer = await complete(prompt, cell, false, `${purpose}-${index}`);
        journal.append({
          kind: 'sample',
          launch,
          cell: cell.id,
          purpose,
          index,
          prompt: id,
          promptSha256: promptDigest(plan, id, launch),
          answer,
        });
      }
    }
  }
}
