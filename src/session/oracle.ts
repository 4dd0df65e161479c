/** Runs prompts on the embedded engine, healthy and with each planted fault, one process each, and grades what comes back. */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { gradeOracle, type OracleCell, type OracleGrade, type OracleOutput } from '../analysis/oracle.js';
import { EmbeddedEngine } from '../engine/adapters/embedded.js';
import type { RunningEngine } from '../engine/engine.js';
import { inheritedVariables } from '../engine/launch.js';
import { QualifyError } from '../errors.js';
import { EvidenceFolder } from '../journal/evidence.js';
import { guardPath } from '../machine/guard.js';
import { takeMachineLock } from '../machine/lock.js';
import { makeTemporaryFolder } from '../make-folder.js';
import { askedProbabilities } from '../plan/asked-probabilities.js';
import { NO_FAULT, perFault } from '../plan/planted-faults.js';
import type { Plan } from '../plan/schema.js';
import { type EngineBuild, embeddedBuild } from '../revision/build-cache.js';
import { describeBuild } from '../revision/build-process.js';
import type { SessionProgress } from './context.js';
import { leaveNothingBehind } from './leave-nothing.js';
import { findModel } from './model.js';
import { type Fault, type OracleLaunch, oracleLaunches } from './oracle-launches.js';
import type { AskedCell, AskedPrompt } from './oracle-prompts.js';

interface OracleOptions {
  plan: Plan;
  cells: readonly AskedCell[];
  /** Wait for the machine instead of failing when a session holds it. */
  wait: boolean;
  progress: SessionProgress;
  signal: AbortSignal;
}

/** A grade, and the arms that it says nothing of because the build that is launched is of another revision. */
type OracleAnswer = OracleGrade & { notRun: string[] };

/** By id of the prompt. */
type Outputs = ReadonlyMap<string, OracleOutput & { struck: number }>;

/** Counter of the engine: how often its planted fault struck. */
const STRUCK = 'fault.struck';

/**
 * Grades prompts. The engine is the harness's own, with the switches of the matrix's first arm of it: which plan of the same graph runs
 * does not show in its bits.
 * @throws QualifyError when a build, a model or a launch fails, or another session holds the machine.
 */
export async function runOracle(options: OracleOptions): Promise<OracleAnswer> {
  leaveNothingBehind();
  const { plan, cells, progress, signal } = options;
  const lock = await takeMachineLock({
    what: `oracle ${plan.matrix.name}`,
    wait: options.wait,
    onWait: progress.note,
    signal,
  });
  const folder = makeTemporaryFolder('qualify-oracle-');
  const dismissGuard = guardPath(folder);
  try {
    const build = await buildOwn(progress, signal);
    const model = await findModel({ plan, progress, signal });
    const { launches, notRun } = oracleLaunches(plan);
    const outputs = new Map<OracleLaunch, Outputs>();
    for (const [index, one] of launches.entries()) {
      const own = join(folder, `${index}-${one.arm ?? one.fault}`);
      const place = { folder: own, done: index, of: launches.length };
      outputs.set(one, await outputsWith(options, build, model.path, one, place));
    }
    const rule = {
      level: plan.protocol.parity,
      bounded: plan.protocol.bounded,
      minimumOutputTokens: plan.protocol.minimumOutputTokens,
    };
    return { ...gradeOracle(rule, withOutputs(cells, outputs)), notRun };
  } catch (error) {
    throw withItsFile(error, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
    dismissGuard();
    await lock.release();
  }
}

const TAIL_LINES = 20;

/** A failure that names a file of `folder`, with the end of the file instead: the folder goes when the command ends. */
function withItsFile(error: unknown, folder: string): unknown {
  if (!(error instanceof QualifyError) || !error.where?.startsWith(`${folder}/`)) return error;
  const { code, message, exit, where } = error;
  const text = existsSync(where) ? readFileSync(where, 'utf8').trimEnd() : '';
  const tail = text.split('\n').slice(-TAIL_LINES).join('\n');
  return new QualifyError(code, message.includes(tail) ? message : `${message}\n${tail}`, {
    exit,
    hint: 'Above is what was written last. To keep the whole log: qualify run with this matrix',
    cause: error,
  });
}

function buildOwn(progress: SessionProgress, signal: AbortSignal): Promise<EngineBuild> {
  return embeddedBuild({
    signal,
    onProgress: (step) => {
      const share = step.done === null ? null : step.done / (step.total ?? 1);
      if (step.phase === 'waiting') progress.note(describeBuild('the engine', step));
      else progress.update(describeBuild('the engine', step), share);
    },
  });
}

/** Every prompt in one launch. */
async function outputsWith(
  { plan, cells, progress, signal }: OracleOptions,
  build: EngineBuild,
  modelPath: string,
  { arm, fault, switches, arguments: further }: OracleLaunch,
  { folder, done, of }: { folder: string; done: number; of: number },
): Promise<Outputs> {
  const evidence = new EvidenceFolder(folder);
  const prompts = cells.flatMap((cell) => cell.prompts);
  const longest = prompts.map(({ tokens, generatedTokens }) => tokens.length + generatedTokens);
  const running = await new EmbeddedEngine(evidence, signal).launch({
    buildFolder: build.folder,
    buildDigest: build.buildDigest,
    modelPath,
    nonce: randomUUID(),
    place: { round: 0, position: 0 },
    plantedSlowdownPercent: undefined,
    inherited: inheritedVariables(),
    switches,
    arguments: [...further, ...(fault === NO_FAULT ? [] : ['--plant-fault', fault])],
    threads: plan.engine.threads,
    cpus: plan.engine.cpus,
    contextTokens: Math.max(...longest),
    readyTimeoutMs: plan.protocol.readyTimeoutSeconds * 1000,
    logPath: evidence.pathOf('engine.log'),
  });
  try {
    requireFault(running, fault);
    const outputs = new Map<string, OracleOutput & { struck: number }>();
    let before = 0;
    for (const [index, prompt] of prompts.entries()) {
      const share = (done + index / prompts.length) / of;
      progress.update(`${arm ?? (fault === NO_FAULT ? 'healthy' : fault)}: ${prompt.id}`, share);
      const output = await ask(running, plan, prompt, String(index));
      const struck = (await running.counters()).counters[STRUCK] ?? 0;
      outputs.set(prompt.id, { ...output, struck: struck - before });
      before = struck;
    }
    return outputs;
  } finally {
    await running.stop();
  }
}

async function ask(
  running: RunningEngine,
  plan: Plan,
  { tokens, chunk, generatedTokens }: AskedPrompt,
  evidenceName: string,
): Promise<OracleOutput> {
  const answer = await running.complete({
    tokens,
    chunk,
    generatedTokens,
    reuseCache: false,
    probabilities: askedProbabilities(plan),
    timeoutMs: plan.protocol.requestTimeoutSeconds * 1000,
    evidenceName,
  });
  return {
    tokens: answer.tokens,
    logitsSha256: answer.logitsSha256,
    probabilities: answer.probabilities,
  };
}

/** An engine that took no notice of the option would grade every prompt as blind. */
function requireFault({ witness }: RunningEngine, fault: Fault): void {
  if (witness.plantedFault === fault) return;
  throw new QualifyError(
    'ERR_QUALIFY_FAULT_NOT_PLANTED',
    `The engine says that its planted fault is "${witness.plantedFault ?? 'unknown'}"; "${fault}" was asked for.`,
    { exit: 'infrastructure', hint: 'Prompts are graded with the engine of this version of qualify alone.' },
  );
}

function withOutputs(cells: readonly AskedCell[], outputs: ReadonlyMap<OracleLaunch, Outputs>): OracleCell[] {
  const launches = [...outputs];
  const outputIn = (of: Outputs | undefined, id: string) => {
    const output = of?.get(id);
    if (output === undefined) throw new Error(`prompt ${id} was not answered in each launch`);
    return output;
  };
  const reference = (wanted: Fault, id: string) =>
    outputIn(launches.find(([{ arm, fault }]) => arm === null && fault === wanted)?.[1], id);
  return cells.map(({ cell, required, prompts }) => ({
    cell,
    required,
    prompts: prompts.map(({ id, tokens, long }) => ({
      prompt: id,
      promptTokens: tokens.length,
      long,
      healthy: reference(NO_FAULT, id),
      arms: Object.fromEntries(
        launches.flatMap(([{ arm }, of]) => (arm === null ? [] : [[arm, outputIn(of, id)]])),
      ),
      faulty: perFault((fault) => reference(fault, id)),
    })),
  }));
}
