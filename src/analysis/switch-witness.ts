/** Did each switch of an ablation change what ran? */
import type { Plan } from '../plan/schema.js';
import { ownKernelsRan } from './counters.js';
import { finished, type Launch, launchesOf, type Observations } from './observations.js';

export interface SwitchWitness {
  switch: string;
  /** `kernels`: its own ran with it on. `counters`: it has none of its own, and some counter follows it. */
  status: 'kernels' | 'counters' | 'none';
  message: string;
}

interface Row {
  arm: string;
  levels: string;
  launch: Launch;
}

/** Mean of a counter over the rows with a factor high, less that over the others. */
function follows(rows: readonly Row[], factor: number, counter: string): boolean {
  const meanOf = (level: string): number => {
    const own = rows.filter(({ levels }) => levels[factor] === level);
    const values = own.map(({ launch }) => launch.counters?.counters[counter] ?? 0);
    return values.reduce((sum, value) => sum + value, 0) / own.length;
  };
  const [high, low] = [meanOf('+'), meanOf('-')];
  return Math.abs(high - low) > 1e-9 * Math.max(Math.abs(high), Math.abs(low));
}

/** The rows that tell of a factor: all of a folded design; one at a time, the reference and the row in which it alone differs. */
function rowsAbout(kind: string, rows: readonly Row[], factor: number): Row[] {
  const [reference] = rows;
  if (kind === 'folded-plackett-burman' || reference === undefined) return [...rows];
  return rows.filter(({ levels }) =>
    Array.from(levels).every((level, at) => at === factor || level === reference.levels[at]),
  );
}

/** An ablation whose arms are a fraction of all combinations: two of them may differ in switches that have nothing to do in either. */
export const isFraction = ({ design }: Plan): boolean => design?.kind === 'folded-plackett-burman';

/** One witness a factor of the plan's design, from the first round; none without a design. */
export function switchWitnesses(plan: Plan, seen: Observations): SwitchWitness[] {
  const { design } = plan;
  if (design === undefined) return [];
  const rows = design.rows.flatMap(({ arm, levels }): Row[] =>
    launchesOf(seen, arm, 1)
      .filter((launch) => finished(launch) && launch.counters !== undefined)
      .map((launch) => ({ arm, levels, launch })),
  );
  return design.factors.map(({ switch: name }, factor): SwitchWitness => {
    const own = rowsAbout(design.kind, rows, factor);
    const on = own.filter(({ launch }) => ownKernelsRan(name, launch) !== undefined);
    const ran = on.filter(({ launch }) => ownKernelsRan(name, launch) === true);
    if (ran.length > 0 && ran.length === on.length) {
      const level = ran[0]?.levels[factor];
      const idle = own.filter(({ levels }) => levels[factor] === level).length - ran.length;
      const more = idle > 0 ? `; in ${idle} more that have it on, what it needs is off` : '';
      const arms = ran.length === 1 ? ran[0]?.arm : `${ran.length} arms`;
      return { switch: name, status: 'kernels', message: `its kernels ran in ${arms}${more}` };
    }
    const names = new Set(own.flatMap(({ launch }) => Object.keys(launch.counters?.counters ?? {})));
    const counter =
      own.length < 2 ? undefined : [...names].toSorted().find((one) => follows(own, factor, one));
    if (counter !== undefined) return { switch: name, status: 'counters', message: `${counter} follows it` };
    return { switch: name, status: 'none', message: 'no counter shows that it changed what ran' };
  });
}
