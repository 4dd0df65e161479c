/** Did each process run what its arm says: this build, this model, these switches, these prompts? One launch at a time. */

import { findPrompt } from '../plan/find-prompt.js';
import { NO_FAULT } from '../plan/planted-faults.js';
import { promptDigest } from '../plan/prompts.js';
import type { Plan, PlannedCell } from '../plan/schema.js';
import { type Finding, finding } from './finding.js';
import { buildOf, finished, type Launch, type Observations } from './observations.js';

/** Variables that steer an engine. One that the arm did not ask for makes the arm something else. */
const steering = /^(DFLASH|LUCE|GGML|LLAMA|VLLM|SGLANG)_/;

function witnessFindings(plan: Plan, seen: Observations, launch: Launch): Finding[] {
  const witness = launch.ready?.witness;
  if (witness === undefined)
    return [finding('witness-missing', `${launch.id}: the engine never said what it is`)];
  const findings: Finding[] = [];
  if (witness.nonce !== launch.started.nonce) {
    findings.push(finding('nonce-differs', `${launch.id}: another process answered; its nonce is not ours`));
  }
  const build = buildOf(seen, launch.arm);
  if (build === undefined)
    findings.push(finding('build-unknown', `arm ${launch.arm} has no build in the journal`));
  else if (witness.buildDigest !== build.buildDigest) {
    findings.push(
      finding('build-differs', `${launch.id}: the engine is not the build that was made for ${launch.arm}`),
    );
  }
  if (seen.model === undefined)
    findings.push(finding('model-unknown', 'the journal does not name the model'));
  else if (witness.modelSha256 !== seen.model.sha256) {
    findings.push(
      finding('model-differs', `${launch.id}: the engine loaded another model than the session's`),
    );
  }
  const { plantedFault = NO_FAULT } = witness;
  if (plantedFault !== NO_FAULT) {
    const message = `${launch.id}: the engine says that fault "${plantedFault}" was planted into it: it is wrong on purpose`;
    findings.push(finding('fault-planted', message));
  }
  findings.push(...plantedFindings(plan, launch, witness.plantedSlowdownPercent ?? 0));
  return findings;
}

/** An arm is slowed down when the plan says so, and in no other case. */
function plantedFindings(plan: Plan, launch: Launch, shown: number): Finding[] {
  const asked = plan.arms.find((arm) => arm.name === launch.arm)?.plantedSlowdownPercent ?? 0;
  if (shown === asked) return [];
  const message = `${launch.id}: planned is a planted slowdown of ${asked} %, the engine runs with ${shown} %`;
  return [finding('planting-differs', message)];
}

function switchFindings(plan: Plan, launch: Launch): Finding[] {
  const asked = plan.arms.find((arm) => arm.name === launch.arm)?.switches ?? {};
  const effective = launch.ready?.witness.switches ?? {};
  const notApplied = Object.entries(asked).flatMap(([name, value]) => {
    const got = effective[name];
    if (got === value) return [];
    const state = got === undefined ? 'the engine does not know it' : `the engine runs with ${got}`;
    return [finding('switch-not-applied', `${launch.id}: asked for ${name}=${value}, but ${state}`)];
  });
  const stray = Object.keys(launch.started.environment).filter(
    (name) => steering.test(name) && !(name in asked),
  );
  const notAsked = stray.map((name) =>
    finding('switch-not-asked', `${launch.id}: ${name} was set, though no arm asks for it`),
  );
  return [...notApplied, ...notAsked];
}

function promptFindings(plan: Plan, launch: Launch): Finding[] {
  const exchanges = launch.control === undefined ? launch.samples : [...launch.samples, launch.control];
  return exchanges.flatMap(({ prompt, promptSha256 }) =>
    findPrompt(plan, prompt) !== undefined && promptDigest(plan, prompt, launch.id) === promptSha256
      ? []
      : [finding('prompt-differs', `${launch.id}: ${prompt} was not sent as planned`)],
  );
}

/** Both evaluate a prompt at once when the chunk is as long or longer. */
const effectiveChunk = (chunk: number, { promptTokens }: PlannedCell): number =>
  Math.min(chunk, promptTokens);

/** An engine that says how many tokens it evaluates at once must have taken the cell's chunk, not one that it had before. */
function chunkFindings(plan: Plan, launch: Launch): Finding[] {
  const cells = new Map(plan.cells.map((cell) => [cell.id, cell]));
  return launch.samples.flatMap(({ cell: id, prompt, answer: { chunk } }) => {
    const cell = cells.get(id);
    if (cell === undefined || chunk === undefined) return [];
    if (effectiveChunk(chunk, cell) === effectiveChunk(cell.chunk, cell)) return [];
    const message = `${launch.id}: ${prompt} was evaluated in chunks of ${chunk} tokens, not of ${cell.chunk}`;
    return [finding('chunk-differs', message)];
  });
}

/** Everything about one launch that is not as its arm says. A launch that did not finish is judged by what it showed. */
export function identityOf(plan: Plan, seen: Observations, launch: Launch): readonly Finding[] {
  // Each look asks again for the launches of those before it.
  const known = identities.get(launch) ?? findIdentity(plan, seen, launch);
  identities.set(launch, known);
  return known;
}

const identities = new WeakMap<Launch, readonly Finding[]>();

function findIdentity(plan: Plan, seen: Observations, launch: Launch): Finding[] {
  if (launch.ready === undefined && !finished(launch)) return [];
  return [
    ...witnessFindings(plan, seen, launch),
    ...switchFindings(plan, launch),
    ...promptFindings(plan, launch),
    ...chunkFindings(plan, launch),
  ];
}
