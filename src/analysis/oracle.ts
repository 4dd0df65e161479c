/**
 * What prompts are worth, by faults that were planted into the engine: a fault that struck and left each output as it was
 * would have passed parity. Pure: takes outputs, wherever they were computed.
 */
import type { ParityLevel } from '../matrix/schema.js';
import { faultMeanings, type PlantedFault, perFault, plantedFaults } from '../plan/planted-faults.js';
import { distanceOf } from './bounded.js';
import { type Finding, finding } from './finding.js';
import { type Bounded, beyond } from './parity.js';
import { timesLimits } from './times-limits.js';
import { type Output, vacuityOf } from './vacuity.js';

/** One output, as far as parity compares it. */
export interface OracleOutput {
  tokens: readonly number[];
  /** Null when the engine gives none. */
  logitsSha256: string | null;
  /** At level bounded: likeliest ids of each position with their log-probabilities. */
  probabilities?: [number, number][][] | undefined;
}

export interface OraclePrompt {
  prompt: string;
  promptTokens: number;
  /** The request asked for at least the minimum length of an output. */
  long: boolean;
  healthy: OracleOutput;
  /** At level bounded: what the other arms of the embedded engine answer, by name. */
  arms?: Readonly<Record<string, OracleOutput>> | undefined;
  /** With each fault: the output, and how often the fault struck while it was computed. */
  faulty: Readonly<Record<PlantedFault, OracleOutput & { struck: number }>>;
}

export interface OracleCell {
  cell: string;
  required: boolean;
  prompts: readonly OraclePrompt[];
}

/** By what outputs are compared. */
export interface OracleRule {
  level: ParityLevel;
  /** At level bounded. */
  bounded?: Bounded | undefined;
  minimumOutputTokens: number;
}

/** `cannot-strike`: nothing of what the fault spoils was computed. It is neither caught nor missed. */
export type FaultOutcome = 'caught' | 'missed' | 'cannot-strike';
export type FaultOutcomes = Readonly<Record<PlantedFault, FaultOutcome>>;
/** `strong`: every fault is caught. `vacuous`: none is, or the outputs prove nothing by themselves. */
type Grade = 'strong' | 'partial' | 'vacuous';

export interface PromptGrade {
  prompt: string;
  promptTokens: number;
  outputTokens: number;
  distinctTokens: number;
  /** Entropy of the ids of the output, in bits a token. */
  entropyBits: number;
  faults: FaultOutcomes;
  grade: Grade;
}

export interface CellGrade {
  cell: string;
  required: boolean;
  prompts: PromptGrade[];
  faults: FaultOutcomes;
  /** At level bounded. */
  room?: Room;
  grade: Grade;
}

/** Distances from the healthy reference over all prompts of a cell, in limits (`timesLimits`). */
export interface Room {
  /** Of healthy arms: what of the limits they take. */
  arms: Readonly<Record<string, number | null>>;
  faults: Readonly<Record<PlantedFault, number | null>>;
}

export interface OracleGrade {
  level: ParityLevel;
  /** As good as the set as a whole, and vacuous when one of its required cells is. */
  grade: Grade;
  /** Over the required cells. */
  faults: FaultOutcomes;
  cells: CellGrade[];
  /** Why the set does not do: nothing in it when it does. */
  findings: Finding[];
  /** Faults that nothing of the matrix reaches. */
  outOfReach: PlantedFault[];
}

type OutputPair = readonly [OracleOutput, OracleOutput];

const distanceBetween = (pairs: readonly OutputPair[]) =>
  distanceOf(pairs.map(([base, head]) => [{ answer: mutable(base) }, { answer: mutable(head) }] as const));

/** Whether parity would have told the healthy outputs from those with the fault. */
function differ(rule: OracleRule, pairs: readonly OutputPair[]): boolean {
  if (rule.level === 'bounded' && rule.bounded !== undefined) {
    return beyond(distanceBetween(pairs), rule.bounded).length > 0;
  }
  return pairs.some(([base, head]) => meaning(base, rule.level) !== meaning(head, rule.level));
}

const mutable = ({ tokens, probabilities }: OracleOutput) => ({ tokens: [...tokens], probabilities });

const meaning = ({ tokens, logitsSha256 }: OracleOutput, level: ParityLevel): string =>
  level === 'exact' ? `${tokens.join()}:${logitsSha256}` : tokens.join();

/** What becomes of a fault over prompts of one cell: those that it could not strike say nothing. */
function outcomeOf(rule: OracleRule, prompts: readonly OraclePrompt[], fault: PlantedFault): FaultOutcome {
  const struck = prompts.filter(({ faulty }) => faulty[fault].struck > 0);
  if (struck.length === 0) return 'cannot-strike';
  // At level bounded one distance over all prompts is held against the limits, as in a run.
  const compared = rule.level === 'bounded' ? prompts : struck;
  const pairs = compared.map(({ healthy, faulty }) => [healthy, faulty[fault]] as const);
  return differ(rule, pairs) ? 'caught' : 'missed';
}

/** How far healthy arms and faults are from the reference; null where no limits are. */
function roomOf({ bounded }: OracleRule, prompts: readonly OraclePrompt[]): Room | null {
  if (bounded === undefined) return null;
  const toOutputs = (of: (prompt: OraclePrompt) => OracleOutput | undefined) =>
    timesLimits(distanceBetween(prompts.map((one) => [one.healthy, of(one) ?? one.healthy])), bounded);
  const names = Object.keys(prompts[0]?.arms ?? {});
  return {
    arms: Object.fromEntries(names.map((name) => [name, toOutputs(({ arms }) => arms?.[name])])),
    faults: perFault((fault) => toOutputs(({ faulty }) => faulty[fault])),
  };
}

/** Limits that a healthy arm does not hold show every fault, and are worth nothing. */
const tightFindings = (cells: readonly CellGrade[]): Finding[] =>
  cells.flatMap(({ cell, room }) =>
    Object.entries(room?.arms ?? {})
      .filter(([, times]) => times === null || times > 1)
      .map(([name]) => {
        const message = `cell ${cell}: arm ${name}, without any fault, is beyond the limits: parity would refuse it. Looser limits, or a model whose matrices are floats.`;
        return finding('healthy-beyond-limits', message);
      }),
  );

function entropyBits(tokens: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
  const shares = [...counts.values()].map((count) => count / tokens.length);
  return shares.reduce((bits, share) => bits - share * Math.log2(share), 0);
}

const outputOf = ({ prompt, healthy, long }: OraclePrompt): Output => ({
  prompt,
  tokens: healthy.tokens,
  logitsSha256: healthy.logitsSha256,
  long,
});

function gradePrompt(rule: OracleRule, one: OraclePrompt): PromptGrade {
  const { tokens } = one.healthy;
  const faults = perFault((fault) => outcomeOf(rule, [one], fault));
  // A short output is judged beside the others of its cell.
  const empty = one.long && vacuityOf([outputOf(one)], rule.level, rule.minimumOutputTokens) !== null;
  return {
    prompt: one.prompt,
    promptTokens: one.promptTokens,
    outputTokens: tokens.length,
    distinctTokens: new Set(tokens).size,
    entropyBits: entropyBits(tokens),
    faults,
    grade: empty ? 'vacuous' : gradeOf(faults),
  };
}

/** Over the cells that decide. A fault that strikes none of them, but another, is missed: a required cell could reach it. */
function overCells(cells: readonly CellGrade[], fault: PlantedFault): FaultOutcome {
  const required = cells.filter((cell) => cell.required).map(({ faults }) => faults[fault]);
  if (required.includes('missed')) return 'missed';
  if (required.includes('caught')) return 'caught';
  return cells.every(({ faults }) => faults[fault] === 'cannot-strike') ? 'cannot-strike' : 'missed';
}

const REMEDY = 'Take longer prompts, more generated tokens or more prompts';

const remedies: Readonly<Record<ParityLevel, string>> = {
  exact: `${REMEDY}.`,
  tokens: `${REMEDY}, or parity exact.`,
  bounded: `${REMEDY}, tighter limits, or parity exact.`,
};

function missedFinding(rule: OracleRule, cells: readonly CellGrade[], fault: PlantedFault): Finding {
  const said = `fault ${fault} (${faultMeanings[fault]})`;
  const missed = cells.filter(({ required, faults }) => required && faults[fault] === 'missed');
  if (missed.length === 0) {
    const elsewhere = cells.find(({ faults }) => faults[fault] !== 'cannot-strike')?.cell;
    const message = `no required cell is reached by ${said}, though cell ${elsewhere} is: make that one required.`;
    return finding('fault-missed', message);
  }
  const names = missed.map(({ cell }) => cell).join(', ');
  const blind = missed.length === 1 ? `cell ${names} does not see` : `cells ${names} do not see`;
  const message = `${blind} ${said}: it struck, and parity ${rule.level} held. ${remedies[rule.level]}`;
  return finding('fault-missed', message);
}

/** Why the outputs of a cell prove nothing by themselves; null when they do. */
function emptiness(
  rule: OracleRule,
  given: readonly OracleCell[],
  { cell, prompts }: OracleCell,
): Finding | null {
  const beside = given.filter((other) => other.cell !== cell).flatMap((other) => other.prompts);
  const found = vacuityOf(
    prompts.map(outputOf),
    rule.level,
    rule.minimumOutputTokens,
    beside.map(outputOf).filter(({ long }) => long),
  );
  return found && finding(found.code, `cell ${cell}: ${found.message}. ${REMEDY}.`);
}

const gradeOf = (faults: FaultOutcomes): Grade => {
  const caught = Object.values(faults).filter((outcome) => outcome === 'caught').length;
  return caught === 0 ? 'vacuous' : caught === plantedFaults.length ? 'strong' : 'partial';
};

/** Grades each prompt, each cell and the set. When no cell is required, all are. */
export function gradeOracle(rule: OracleRule, given: readonly OracleCell[]): OracleGrade {
  const noneRequired = given.every(({ required }) => !required);
  const empty = new Map(given.map((cell) => [cell.cell, emptiness(rule, given, cell)]));
  const cells = given.map(({ cell, required, prompts }): CellGrade => {
    const faults = perFault((fault) => outcomeOf(rule, prompts, fault));
    const room = roomOf(rule, prompts);
    return {
      cell,
      required: required || noneRequired,
      prompts: prompts.map((one) => gradePrompt(rule, one)),
      faults,
      ...(room === null ? {} : { room }),
      grade: empty.get(cell) ? 'vacuous' : gradeOf(faults),
    };
  });
  const faults = perFault((fault) => overCells(cells, fault));
  const required = cells.filter((cell) => cell.required);
  const missed = plantedFaults.filter((fault) => faults[fault] === 'missed');
  const outOfReach = plantedFaults.filter((fault) => faults[fault] === 'cannot-strike');
  const nothingStrikes = outOfReach.length === plantedFaults.length;
  return {
    level: rule.level,
    grade: required.some(({ grade }) => grade === 'vacuous') ? 'vacuous' : gradeOf(faults),
    faults,
    cells,
    findings: [
      ...required.flatMap(({ cell }) => empty.get(cell) ?? []),
      ...tightFindings(required),
      ...missed.map((fault) => missedFinding(rule, cells, fault)),
      ...(nothingStrikes
        ? [finding('fault-missed', `no fault strikes any prompt: nothing is shown. ${REMEDY}.`)]
        : []),
    ],
    outOfReach,
  };
}
