/**
 * Runs in order of time as series: the rates of one build on one workload, one model and one machine, session by session. Such a rate tells of
 * the machine. Two builds are never in one series: rates of different sessions do not compare revisions. Pure.
 */
import { type ChangePoint, changePoints } from '../analysis/change-points.js';
import { median } from '../analysis/statistics.js';
import type { GoodLine, LineCell } from './run-line.js';

/** What one session measured of a series, in tok/s. */
export interface Point {
  session: string;
  startedAt: string;
  kernel: string;
  harness: string;
  base: number;
  /** The same build once more; null in a session without a null arm. */
  null: number | null;
}

/** From one session on, the level is another one. Medians are over the sessions since the change before, and until the next. */
export interface Shift {
  session: string;
  startedAt: string;
  p: number;
  before: number;
  after: number;
  percent: number;
  sessionsBefore: number;
  sessionsAfter: number;
  /** What else is not the same on both sides of it. */
  changed: string[];
}

export interface Series {
  machineId: string;
  model: string;
  clock: 'wall' | 'cpu';
  cell: string;
  /** Digest of the workload, as `conditions` of a cell. */
  conditions: string;
  /** By name; what the cell is made of is among them. */
  settings: Record<string, string>;
  baseBuild: string;
  baseCommit: string | null;
  /** Names of the matrices that the sessions ran. */
  matrices: string[];
  /** Oldest first. */
  points: Point[];
  /** Null: too few sessions to look. */
  shifts: { base: Shift[] | null; null: Shift[] | null };
}

/** Most sessions that are looked at for changes: the latest. */
const MOST_POINTS = 200;

const keyOf = (line: GoodLine, cell: LineCell): string =>
  JSON.stringify([line.machineId, line.model, line.clock, cell.conditions, line.baseBuild]);

const shapeOf = ({ phase, promptTokens, chunk, generatedTokens }: LineCell): Record<string, string> => ({
  phase,
  'prompt tokens': String(promptTokens),
  chunk: String(chunk),
  'generated tokens': String(generatedTokens),
});

/** `kernel 6.1.0 -> 6.9.0` where the session before and the first one after differ. */
function changesBetween(before: Point, after: Point): string[] {
  const pairs = [
    ['kernel', before.kernel, after.kernel],
    ['qualify', before.harness, after.harness],
  ] as const;
  return pairs.flatMap(([what, old, now]) => (old === now ? [] : [`${what} ${old} -> ${now}`]));
}

function shiftsOf(points: readonly Point[], rateOf: (point: Point) => number | null): Shift[] | null {
  const latest = points
    .flatMap((point) => {
      const rate = rateOf(point);
      return rate === null ? [] : [{ point, rate }];
    })
    .slice(-MOST_POINTS);
  const found = changePoints(latest.map(({ rate }) => Math.log(rate)));
  if (found === null) return null;
  const edges = [0, ...found.map(({ index }) => index), latest.length];
  return found.flatMap(({ index, p }: ChangePoint, at): Shift[] => {
    const [first, last] = [latest[index - 1], latest[index]];
    if (first === undefined || last === undefined) return [];
    const [older, newer] = [latest.slice(edges[at], index), latest.slice(index, edges[at + 2])];
    const [before, after] = [older, newer].map((part) => median(part.map(({ rate }) => rate)));
    if (before === undefined || after === undefined) return [];
    return [
      {
        session: last.point.session,
        startedAt: last.point.startedAt,
        p,
        before,
        after,
        percent: 100 * (after / before - 1),
        sessionsBefore: older.length,
        sessionsAfter: newer.length,
        changed: changesBetween(first.point, last.point),
      },
    ];
  });
}

/** The series of a cell, the longest first. Runs without a proved rate of the base arm are in none, and neither are simulated ones. */
export function seriesOf(lines: readonly GoodLine[], cellId: string): Series[] {
  const series = new Map<string, Series>();
  for (const line of lines.toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1))) {
    const cell = line.cells.find(({ id }) => id === cellId);
    const { baseBuild, model } = line;
    if (cell?.base == null || baseBuild === null || model === null || line.simulated) continue;
    const key = keyOf(line, cell);
    const { machineId, clock, baseCommit } = line;
    const own = series.get(key) ?? {
      ...{ machineId, model, clock, cell: cellId, conditions: cell.conditions, baseBuild, baseCommit },
      settings: { ...line.settings, ...shapeOf(cell) },
      matrices: [],
      points: [],
      shifts: { base: null, null: null },
    };
    const { session, startedAt, kernel, harness } = line;
    own.points.push({
      ...{ session, startedAt, kernel, harness },
      base: cell.base.median,
      null: cell.null?.median ?? null,
    });
    if (!own.matrices.includes(line.matrix.name)) own.matrices.push(line.matrix.name);
    series.set(key, own);
  }
  return [...series.values()]
    .map((one) => ({
      ...one,
      shifts: {
        base: shiftsOf(one.points, ({ base }) => base),
        null: shiftsOf(one.points, (point) => point.null),
      },
    }))
    .toSorted((a, b) => b.points.length - a.points.length);
}

/** Of each series, the settings that are not the same in all of them: `samples 3`, `DFLASH_X=1`, `no DFLASH_X`. */
export function differingSettings(series: readonly Series[]): string[][] {
  const names = [...new Set(series.flatMap(({ settings }) => Object.keys(settings)))];
  const differing = names.filter((name) => new Set(series.map(({ settings }) => settings[name])).size > 1);
  return series.map(({ settings }) =>
    differing.map((name) => {
      const value = settings[name];
      if (value === undefined) return `no ${name}`;
      return /^[A-Z]/.test(name) ? `${name}=${value}` : `${name} ${value}`;
    }),
  );
}
