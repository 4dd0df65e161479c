/**
 * The conditions of a launch that plan and journal determine: build, model, engine, workload. The session writes them beside those
 * that it looks up, and `verify` derives them again. Pure.
 */
import { canonicalJson, sha256 } from '../digest.js';
import { completionBody } from '../engine/dialect.js';
import { conditionText } from '../matrix/condition-values.js';
import { askedProbabilities } from '../plan/asked-probabilities.js';
import { generatedTokens } from '../plan/generated-tokens.js';
import { saltTokens } from '../plan/prompts.js';
import type { Plan } from '../plan/schema.js';
import { engineRecipe } from '../revision/recipe.js';
import type { Draft } from './journal.js';

/** Conditions by field; null is unset or unknown. */
export type Fields = Record<string, string | null>;
type DraftOf<K extends Draft['kind']> = Extract<Draft, { kind: K }>;

const text = (value: string | number | undefined | null): string | null =>
  value === undefined || value === null ? null : conditionText(String(value));

/** The value that follows an option for the last time; null when it is not given. */
export function optionValue(argv: readonly string[], option: string): string | null {
  const at = argv.lastIndexOf(option);
  return at < 0 ? null : text(argv[at + 1]);
}

/** What our recipe says of flags; null for a build by another one, whose text nobody has. */
function recipeConditions(recipeDigest: string | undefined): Fields {
  const known = recipeDigest === engineRecipe.digest;
  const defines = engineRecipe.configure.filter((word) => word.startsWith('-D'));
  const definition = (name: string): string | null => {
    const found = defines.find((word) => word.startsWith(`-D${name}=`));
    return known && found !== undefined ? text(found.slice(name.length + 3)) : null;
  };
  const named = ['CMAKE_BUILD_TYPE', 'CMAKE_CXX_FLAGS'];
  const others = defines.filter((word) => !named.some((name) => word.startsWith(`-D${name}=`)));
  return {
    'build.type': definition('CMAKE_BUILD_TYPE'),
    'build.flags': definition('CMAKE_CXX_FLAGS'),
    'build.defines': known ? text(others.join(' ')) : null,
  };
}

function buildConditions(build: DraftOf<'build'> | undefined): Fields {
  const tools = Object.entries(build?.toolchain ?? {}).map(([tool, version]): [string, string | null] => [
    `toolchain.${tool}`,
    text(version),
  ]);
  return {
    'build.tree': text(build?.revision.tree),
    'build.digest': text(build?.buildDigest),
    'build.binary': text(build?.binarySha256),
    'build.recipe': text(build?.recipeDigest),
    ...recipeConditions(build?.recipeDigest),
    ...Object.fromEntries(tools),
  };
}

/** What every request asks besides its prompt, its length and its chunk. */
function samplerOf(plan: Plan): string {
  const asked = { tokens: [], generatedTokens: 0, chunk: 0, reuseCache: false };
  const body = completionBody({ ...asked, probabilities: askedProbabilities(plan) });
  const {
    prompt: _ids,
    n_predict: _length,
    chunk: _chunk,
    ...sampler
  } = JSON.parse(body) as object & {
    prompt: unknown;
    n_predict: unknown;
    chunk: unknown;
  };
  return canonicalJson(sampler);
}

/** The arguments of an arm; where one of them may be a path, what tells them apart and no place. */
function argumentsText(list: readonly string[]): string {
  const json = JSON.stringify(list);
  return json.includes('/') ? `sha256:${sha256(json)}` : json;
}

/** Those that the plan alone determines: the same in every launch. */
export function workloadConditions(plan: Plan): Fields {
  const { warmups, samples, parity, minimumOutputTokens, clock } = plan.protocol;
  const ofCells = plan.cells.flatMap((cell): [string, string | null][] => [
    [`prompt.${cell.id}`, text(cell.promptTokens)],
    [`chunk.${cell.id}`, text(cell.chunk)],
    [`generated.${cell.id}`, text(generatedTokens(plan, cell, 'sample'))],
  ]);
  return {
    'workload.prompts': sha256(plan.prompts.map(({ id, sha256: digest }) => `${digest}  ${id}\n`).join('')),
    'workload.vocabulary': text(plan.vocabulary),
    'workload.saltTokens': text(saltTokens),
    'workload.sampler': text(samplerOf(plan)),
    'workload.warmups': text(warmups),
    'workload.samples': text(samples),
    'workload.parity': text(parity),
    'workload.parityTokens': text(minimumOutputTokens),
    'workload.clock': text(clock),
    ...Object.fromEntries(ofCells),
  };
}

const isOf =
  <K extends Draft['kind']>(kind: K) =>
  (entry: Draft): entry is DraftOf<K> =>
    entry.kind === kind;

/**
 * The conditions that the plan and the entries up to a launch's `ready` determine; null where an entry is missing. `workload` are
 * those of the plan alone.
 */
export function knownConditions(
  plan: Plan,
  entries: readonly Draft[],
  launch: string,
  workload = workloadConditions(plan),
): Fields {
  const started = entries.filter(isOf('launch')).findLast((entry) => entry.launch === launch);
  const witness = entries.filter(isOf('ready')).findLast((entry) => entry.launch === launch)?.witness;
  const build = entries
    .filter(isOf('build'))
    .find(({ arms }) => started !== undefined && arms.includes(started.arm));
  // The harness that was at work by then.
  const harness = entries.findLast((entry) => 'harness' in entry)?.harness;
  const model = entries.find(isOf('model'));
  const arm = plan.arms.find(({ name }) => name === started?.arm);
  const argv = started?.argv ?? [];
  return {
    'harness.version': text(harness?.version),
    'harness.node': text(harness?.node),
    ...buildConditions(build),
    'model.sha256': text(witness?.modelSha256),
    'model.sizeBytes': text(model?.sizeBytes),
    'model.tokenizer': text(witness?.tokenizerSha256),
    'engine.name': text(arm?.engine),
    'engine.threads': text(witness?.threads),
    'engine.isa': text(witness?.isa),
    'engine.cpus': text(plan.engine.cpus),
    'engine.contextTokens': optionValue(argv, '--context'),
    'engine.cacheSlots': optionValue(argv, '--cache-slots'),
    'engine.microBatch': optionValue(argv, '--micro-batch'),
    'engine.arguments': text(arm === undefined ? null : argumentsText(arm.arguments)),
    'engine.plantedSlowdown': text(arm?.plantedSlowdownPercent),
    ...workload,
  };
}
