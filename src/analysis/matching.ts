/** Were two arms comparable: the same machine state, model and prompts, and different in just what the matrix says? */
import type { Plan } from '../plan/schema.js';
import { counterFindings, promiseFindings } from './counters.js';
import { distinct, type Finding, finding } from './finding.js';
import { fieldFindings } from './fingerprint.js';
import { identityOf } from './identity.js';
import { type Build, buildOf, type Launch, launchesOf, type Observations } from './observations.js';
import { isFraction } from './switch-witness.js';

/** True when the matrix itself makes the arms differ: then one binary in both is what it wants. */
function configuredApart(plan: Plan, arm: string, against: string): boolean {
  const [left, right] = [against, arm].map((name) => plan.arms.find((candidate) => candidate.name === name));
  if (left === undefined || right === undefined) return false;
  const settings = ({ switches, arguments: list, plantedSlowdownPercent: planted }: Plan['arms'][number]) =>
    JSON.stringify([Object.entries(switches).sort(), list, planted ?? 0]);
  return settings(left) !== settings(right);
}

/** Two engines: no build, switch or name of an instruction set of one says anything about the other. */
function acrossEngines(plan: Plan, arm: string, against: string): boolean {
  const [left, right] = [against, arm].map((name) => plan.arms.find((candidate) => candidate.name === name));
  return left?.engine !== right?.engine;
}

function buildFindings(base: Build, head: Build, apart: boolean): Finding[] {
  const names = `${base.revision.requested} and ${head.revision.requested}`;
  const sameBinary = base.binarySha256 === head.binarySha256;
  const identical = finding(
    'binary-identical',
    `${names} build to the same engine: there is nothing to compare`,
  );
  if (base.revision.tree === head.revision.tree) {
    if (!sameBinary)
      return [finding('binary-differs', `${names} are one tree, but two binaries: builds do not reproduce`)];
    // A prebuilt folder is known by its binary alone: its sources may differ for all we know.
    const sourcesUnknown = base.revision.tree === base.binarySha256;
    const meant = base.revision.requested === head.revision.requested || apart;
    return sourcesUnknown && !meant ? [identical] : [];
  }
  if (base.recipeDigest !== head.recipeDigest) {
    return [finding('recipe-differs', `${names} were built by different recipes`)];
  }
  if (
    JSON.stringify(Object.entries(base.toolchain).sort()) !==
    JSON.stringify(Object.entries(head.toolchain).sort())
  ) {
    return [finding('toolchain-differs', `${names} were built by different tools`)];
  }
  return sameBinary ? [identical] : [];
}

/** A null arm is the reference's tree, built again: by the same recipe and tools. Its binary may differ in the paths it holds. */
function rebuiltFindings(base: Build, again: Build): Finding[] {
  if (base.revision.tree !== again.revision.tree)
    return [
      finding('tree-differs', `${again.revision.requested} is another tree than ${base.revision.requested}`),
    ];
  if (base.recipeDigest !== again.recipeDigest)
    return [finding('recipe-differs', 'the null arm was built by another recipe')];
  const tools = ({ toolchain }: Build): string => JSON.stringify(Object.entries(toolchain).sort());
  if (tools(base) !== tools(again))
    return [finding('toolchain-differs', 'the null arm was built by other tools')];
  if (base.binarySha256 === again.binarySha256) return [];
  const message = 'the reference, built once more elsewhere, is another binary: builds do not reproduce';
  return [finding('binary-differs', message)];
}

/** `arm` and `against` are one engine and one configuration: whatever is measured is not a change. Never of what is simulated. */
export function isSameEngine(plan: Plan, seen: Observations, arm: string, against: string): boolean {
  const [base, head] = [buildOf(seen, against), buildOf(seen, arm)];
  if (plan.simulation !== undefined) return false;
  if (base === undefined || base.revision.tree !== head?.revision.tree) return false;
  return base.binarySha256 === head.binarySha256 && !configuredApart(plan, arm, against);
}

/** A warning when it is so. */
export const sameEngineWarnings = (
  plan: Plan,
  seen: Observations,
  arm: string,
  against: string,
): Finding[] => (isSameEngine(plan, seen, arm, against) ? [sameEngine(arm, against)] : []);

/** The warning, by which it is also known in a verdict. */
export const sameEngine = (arm: string, against: string): Finding =>
  finding('same-engine', `${against} and ${arm} build the same engine: this compares it with itself`);

/** Effective switches that differ though neither arm asks for them: defaults of one build are no property of the arm's name. */
function unaskedDifferences(plan: Plan, base: Launch, head: Launch): Finding[] {
  const asked = new Set(
    plan.arms
      .filter((arm) => arm.name === base.arm || arm.name === head.arm)
      .flatMap((arm) => Object.keys(arm.switches)),
  );
  const [left, right] = [base.ready?.witness.switches, head.ready?.witness.switches];
  if (left === undefined || right === undefined) return [];
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  const apart = names.filter((name) => !asked.has(name) && left[name] !== right[name]);
  const value = (effective: string | undefined): string => effective ?? 'unknown';
  return apart.map((name) => {
    const message = `${name} is ${value(left[name])} in ${base.arm} and ${value(right[name])} in ${head.arm}, unasked`;
    return finding('switch-differs', message);
  });
}

/** Findings by arms and rounds: they are of whole launches, so that every cell of a look has the same. */
const found = new WeakMap<Observations, Map<string, readonly Finding[]>>();

/** Why `arm` may not be compared with `against` over the first `rounds` rounds; empty when it may. */
export function mismatchesOf(
  plan: Plan,
  seen: Observations,
  arm: string,
  against: string,
  rounds: number,
): readonly Finding[] {
  const known = found.get(seen) ?? new Map<string, readonly Finding[]>();
  found.set(seen, known);
  const key = JSON.stringify([arm, against, rounds]);
  const mismatches = known.get(key) ?? findMismatches(plan, seen, arm, against, rounds);
  known.set(key, mismatches);
  return mismatches;
}

function findMismatches(
  plan: Plan,
  seen: Observations,
  arm: string,
  against: string,
  rounds: number,
): Finding[] {
  const bases = launchesOf(seen, against, rounds);
  const heads = launchesOf(seen, arm, rounds);
  const [base, head] = [buildOf(seen, against), buildOf(seen, arm)];
  const pairs = bases.flatMap((left) => {
    const right = heads.find((launch) => launch.round === left.round);
    return right === undefined ? [] : [{ left, right }];
  });
  const identities = [...bases, ...heads].flatMap((launch) => identityOf(plan, seen, launch));
  if (acrossEngines(plan, arm, against)) {
    return distinct([
      ...identities,
      ...fieldFindings(plan, bases, heads),
      ...[...bases, ...heads].flatMap((launch) => promiseFindings(plan, launch, launch)),
    ]);
  }
  const isNull = plan.arms.find(({ name }) => name === arm)?.control === 'null';
  const sameBinary = isNull || (base !== undefined && base.binarySha256 === head?.binarySha256);
  return distinct([
    ...identities,
    ...fieldFindings(plan, bases, heads),
    ...(base === undefined || head === undefined
      ? []
      : isNull
        ? rebuiltFindings(base, head)
        : buildFindings(base, head, configuredApart(plan, arm, against))),
    ...pairs.flatMap(({ left, right }) => promiseFindings(plan, left, right)),
    ...(sameBinary ? pairs.flatMap(({ left, right }) => unaskedDifferences(plan, left, right)) : []),
    // Arms of a fraction may differ by switches that have nothing to do without others; there each switch has a witness of its own.
    ...(sameBinary && !isFraction(plan)
      ? pairs.flatMap(({ left, right }) => counterFindings(left, right))
      : []),
  ]);
}
