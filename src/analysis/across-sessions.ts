/**
 * Two sessions side by side. Rates of different sessions are not compared, so this says directions and no amounts: no percentage, no
 * ratio, no rate. An arm is higher than its namesake when its slowest sample is above the other's fastest; where the ranges of their
 * samples meet, the two are about the same. Pure.
 */
import type { Entry } from '../journal/entries.js';
import type { Plan } from '../plan/schema.js';
import type { EvidenceKind } from '../verdict/evidence-kind.js';
import type { ArmSummary, CellVerdict, Verdict } from '../verdict/schema.js';
import { classOf, fieldClasses } from './field-classes.js';
import { buildOf, launchesOf, type Observations, observe } from './observations.js';

/** A verified run as far as it matters here. */
export interface SessionRecord {
  plan: Plan;
  entries: readonly Entry[];
  verdict: Verdict;
}

/** How the second session's arm stands to the first one's; null when that cannot be said. */
type Direction = 'higher' | 'lower' | 'about the same';

export interface ArmAcross {
  arm: string;
  direction: Direction | null;
  /** Why there is no direction. */
  why: string | null;
  /** The word for what this is, whatever the direction. */
  match: 'unmatched';
}

interface CellAcross {
  cell: string;
  arms: ArmAcross[];
}

/** A condition that should be equal and is not: all its values in each session, null for unset or unknown. */
export interface FieldAcross {
  field: string;
  word: string;
  /** Arms of which just this is true, in the order of the first session. */
  arms: string[];
  first: (string | null)[];
  second: (string | null)[];
}

export interface AcrossSessions {
  schemaVersion: 1;
  result: 'unmatched';
  evidence: Extract<EvidenceKind, 'directional'>;
  sessions: [string, string];
  /** Cells that both sessions have, in the order of the first. */
  cells: CellAcross[];
  /** Cells that only one of them has. */
  onlyIn: [string[], string[]];
  arms: { arm: string; sameBinary: boolean | null }[];
  differences: FieldAcross[];
}

function directionOf(first: ArmSummary, second: ArmSummary): Direction {
  if (second.min > first.max) return 'higher';
  return second.max < first.min ? 'lower' : 'about the same';
}

const shapeOf = ({ promptTokens, chunk, phase, generatedTokens }: CellVerdict): string =>
  JSON.stringify([promptTokens, chunk, phase, generatedTokens]);

type Pair<T> = readonly [T, T];

function armAcross(arm: string, cells: Pair<CellVerdict>, records: Pair<SessionRecord>): ArmAcross {
  const none = (why: string): ArmAcross => ({ arm, direction: null, why, match: 'unmatched' });
  const [left, right] = records;
  if (shapeOf(cells[0]) !== shapeOf(cells[1])) return none('the cells are of two workloads');
  if (left.verdict.clock !== right.verdict.clock) return none('the sessions decide by two clocks');
  const [first, second] = cells.map(({ arms }) => arms[arm]);
  if (first === undefined) return none('the first session proved no rate');
  if (second === undefined) return none('the second session proved no rate');
  return { arm, direction: directionOf(first, second), why: null, match: 'unmatched' };
}

/** All values of a field over the launches of an arm, once each. */
function valuesOf(seen: Observations, arm: string, field: string): (string | null)[] {
  const launches = launchesOf(seen, arm, Number.POSITIVE_INFINITY);
  const values = launches.flatMap(({ conditions }) =>
    conditions === undefined ? [] : [conditions.fields[field] ?? null],
  );
  return [...new Set(values)].toSorted();
}

const fieldsOf = ({ launches }: Observations): string[] =>
  launches.flatMap(({ conditions }) => Object.keys(conditions?.fields ?? {}));

/** What follows from the seed, which every session draws for itself. */
const fieldsOfSeed: readonly string[] = ['workload.prompts'];

function differencesOf(
  arms: readonly string[],
  seen: Pair<Observations>,
  isExpected: (field: string) => boolean,
): FieldAcross[] {
  const names = new Set(seen.flatMap(fieldsOf));
  const inOrder = fieldClasses.map(({ name }) => name).filter((name) => names.has(name));
  const equal = [...new Set([...inOrder, ...names])].filter(
    (field) => classOf(field).class === 'equal' && !isExpected(field),
  );
  return equal.flatMap((field) => {
    // What arms share, such as the machine, is told once.
    const told = new Map<string, FieldAcross>();
    for (const arm of arms) {
      const [first, second] = [valuesOf(seen[0], arm, field), valuesOf(seen[1], arm, field)];
      if (JSON.stringify(first) === JSON.stringify(second)) continue;
      const key = JSON.stringify([first, second]);
      const before = told.get(key)?.arms ?? [];
      told.set(key, { field, word: classOf(field).word, arms: [...before, arm], first, second });
    }
    return [...told.values()];
  });
}

/** The null arm controls its own session: there is nothing to say of it across two. */
const comparedArms = ({ arms }: Plan): string[] =>
  arms.filter(({ control }) => control !== 'null').map(({ name }) => name);

/** Sets the second session against the first. Both must have been verified. */
export function acrossSessions(first: SessionRecord, second: SessionRecord): AcrossSessions {
  const records = [first, second] as const;
  const seen = [observe(first.entries), observe(second.entries)] as const;
  const [ours, theirs] = [comparedArms(first.plan), comparedArms(second.plan)];
  const arms = ours.filter((name) => theirs.includes(name));
  const isExpected = (field: string): boolean =>
    first.plan.seed !== second.plan.seed && fieldsOfSeed.includes(field);
  const [left, right] = [first.verdict.cells, second.verdict.cells];
  const cells = left.flatMap((cell): CellAcross[] => {
    const other = right.find(({ id }) => id === cell.id);
    if (other === undefined) return [];
    return [{ cell: cell.id, arms: arms.map((arm) => armAcross(arm, [cell, other], records)) }];
  });
  const without = (some: readonly CellVerdict[], others: readonly CellVerdict[]): string[] =>
    some.map(({ id }) => id).filter((id) => !others.some((other) => other.id === id));
  return {
    schemaVersion: 1,
    result: 'unmatched',
    evidence: 'directional',
    sessions: [first.plan.session, second.plan.session],
    cells,
    onlyIn: [without(left, right), without(right, left)],
    arms: arms.map((arm) => {
      const [base, head] = seen.map((each) => buildOf(each, arm)?.binarySha256);
      return { arm, sameBinary: base === undefined || head === undefined ? null : base === head };
    }),
    differences: differencesOf(arms, seen, isExpected),
  };
}
