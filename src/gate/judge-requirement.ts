/** Whether a run that counts is what a requirement asks for: that matrix, that machine, those cells, that many rounds. Pure. */
import { counted } from '../counted.js';
import { short } from '../digest.js';
import type { Fingerprint } from '../machine/fingerprint.js';
import { firstJsonDifference } from '../manifest/json-difference.js';
import type { Matrix } from '../matrix/schema.js';
import { buildPlan, fairVoidShareOf } from '../plan/build.js';
import { ontoRevisionsOf } from '../plan/from-matrix.js';
import type { Plan } from '../plan/schema.js';
import type { CellVerdict, Comparison } from '../verdict/schema.js';
import { type Reason, reason } from './decision.js';
import type { GateInput, VerifiedRun } from './input.js';
import type { MachineClass, Requirement } from './policy.js';

const BYTES_PER_GIB = 2n ** 30n;

/** Why a run is not for the requirement; empty when it is. `arms` are those of the change. */
export function judgeFit(
  run: VerifiedRun,
  requirement: Requirement,
  { policy: { machines }, trust }: Pick<GateInput, 'policy' | 'trust'>,
  matrix: Matrix,
  arms: readonly string[],
): Reason[] {
  const other = judgeMatrix(run.plan, requirement, matrix);
  if (other !== null) return [other];
  const found = judgeMachine(run.machine, requirement.machine, machines[requirement.machine]);
  const cells = protectedCells(run, requirement);
  const key = trust.keys.find(({ keyId }) => keyId === run.statement.predicate.signer);
  if (machines[requirement.machine]?.ids !== undefined && key !== undefined && key.machines === undefined)
    found.push(
      reason(
        'unbound-key',
        `the trust policy binds ${key.keyId} to no machines, so that an id is its signer's word only`,
      ),
    );
  return [...found, ...judgeCells(cells, requirement, arms), ...judgeRounds(cells, requirement, arms)];
}

/** A cell that is not there, or says nothing about the change, is not passed by silence. */
function judgeCells(
  cells: readonly CellVerdict[],
  { cells: asked }: Requirement,
  arms: readonly string[],
): Reason[] {
  if (cells.length === 0 && asked === undefined) return [reason('cell-missing', 'it has no required cell')];
  const missing = (asked ?? []).filter((id) => !cells.some((cell) => cell.id === id));
  const silent = cells.filter(({ comparisons }) => !comparisons.some(({ arm }) => arms.includes(arm)));
  const told =
    silent.length === 0 || arms.length === 0
      ? []
      : [
          reason(
            'cell-missing',
            `it says nothing about the change in ${silent.map(({ id }) => id).join(', ')}`,
          ),
        ];
  return missing.length === 0 ? told : [reason('cell-missing', `it lacks ${missing.join(', ')}`), ...told];
}

/** The cells of a run that a requirement protects. */
export function protectedCells({ verdict }: VerifiedRun, { cells }: Requirement): CellVerdict[] {
  return verdict.cells.filter((cell) => (cells === undefined ? cell.required : cells.includes(cell.id)));
}

/** Comparisons that speak about the change: its own, and those of the session's controls. */
export const comparisonsOf = (cell: CellVerdict, arms: readonly string[], others: readonly string[]) =>
  cell.comparisons.filter(({ arm }) => arms.includes(arm) || !others.includes(arm));

/** What a plan calls its matrix, name and digest, is its own word: the whole of it is held against the matrix that is required. */
function judgeMatrix(plan: Plan, requirement: Requirement, matrix: Matrix): Reason | null {
  const { name } = plan.matrix;
  if (name !== requirement.matrix)
    return reason('wrong-matrix', `it is of ${name}, and ${requirement.matrix} is required`);
  if (differenceFrom(matrix, plan) === null) return null;
  const difference = differenceFrom(ontoRevisionsOf(plan, matrix), plan);
  return difference === null
    ? null
    : reason('wrong-matrix', `its ${name} is not the one that is required: ${difference}`);
}

/** In what a plan differs from that of a matrix, whatever rounds were asked for. */
function differenceFrom(matrix: Matrix, plan: Plan): string | null {
  const { looks } = plan.protocol;
  // Who answers a challenge chooses nothing, not even the rounds.
  const isAsked =
    plan.challenge === undefined &&
    looks.length === 1 &&
    firstJsonDifference(looks, matrix.protocol.looks) !== null;
  const rounds = isAsked ? { rounds: looks[0] ?? 1 } : {};
  const { session, seed } = plan;
  const expected = buildPlan(matrix, { session, seed, voidShare: fairVoidShareOf(plan), ...rounds });
  return firstJsonDifference(whatDecides(plan), whatDecides(expected));
}

const whatDecides = ({ model, engine, cells, arms, protocol, budgets, decision }: Plan): object => ({
  ...{ model, engine, cells, arms, protocol, budgets, decision },
});

function judgeMachine(machine: Fingerprint, name: string, asked: MachineClass | undefined): Reason[] {
  if (asked === undefined) return [reason('wrong-machine', `there is no class "${name}"`)];
  const has = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase());
  const wrong: string[] = [];
  if (asked.ids !== undefined && !asked.ids.includes(machine.id))
    wrong.push(`its id ${short(machine.id)} is none of the class`);
  if (asked.cpu !== undefined && !has(machine.cpu.model, asked.cpu))
    wrong.push(`its CPU is ${machine.cpu.model}, no ${asked.cpu}`);
  const gpus = machine.gpus.map(({ vendor, device, name: own }) => own ?? `${vendor}:${device}`);
  const { gpu } = asked;
  if (gpu !== undefined && !gpus.some((own) => has(own, gpu)))
    wrong.push(`${gpus.length === 0 ? 'it has no GPU' : `its GPU is ${gpus.join(', ')}`}, no ${gpu}`);
  const bytes = BigInt(machine.memory.totalBytes);
  const { memoryAtLeastGib: gib, logicalCpusAtLeast: cpus } = asked;
  if (gib !== undefined && bytes < BigInt(Math.ceil(gib * Number(BYTES_PER_GIB))))
    wrong.push(`it has ${(Number(bytes) / Number(BYTES_PER_GIB)).toFixed(1)} GiB of memory, under ${gib}`);
  if (cpus !== undefined && machine.cpu.logical < cpus)
    wrong.push(`it has ${counted(machine.cpu.logical, 'CPU')}, under ${cpus}`);
  if (wrong.length === 0) return [];
  return [reason('wrong-machine', `its machine is no ${name}: ${wrong.join('; ')}`)];
}

/** Too few rounds take away the right to pass, and nothing else: a cell that failed in fewer has failed. */
function judgeRounds(
  cells: readonly CellVerdict[],
  { rounds }: Requirement,
  arms: readonly string[],
): Reason[] {
  if (cells.some(({ verdict }) => verdict !== 'pass')) return [];
  const own = ({ arm }: Comparison): boolean => arms.includes(arm);
  const few = cells.filter(({ comparisons }) =>
    comparisons.filter(own).some(({ effect }) => (effect?.rounds ?? 0) < rounds),
  );
  if (few.length === 0) return [];
  const named = few.map(({ id }) => id).join(', ');
  return [reason('too-few-rounds', `under the ${rounds} rounds that are required in ${named}`)];
}
