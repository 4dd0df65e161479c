/** What the rule's error rates are held to, and whether simulated matrices keep to it. */
import { LAUNCHES, LAUNCHES_ALONE, type Scenario, UNDISTURBED } from './scenario.js';
import { cellCount, type Share, shareOf, type Tally } from './tally.js';

export interface Simulated {
  scenario: Scenario;
  tally: Tally;
}

export interface Goal {
  goal: string;
  /**
   * True where every scenario that it is about keeps to it with its whole interval, false where one lies beyond it with all of its interval;
   * null where so few matrices cannot tell. A goal of none at all is kept by a count of none: no number of matrices shows more.
   */
  holds: boolean | null;
  /** The scenario that comes nearest to the limit, or is the furthest beyond. */
  worst: string;
  found: string;
}

const percent = (share: number): string => `${(100 * share).toFixed(share < 0.001 && share > 0 ? 3 : 2)} %`;

const scenarioName = ({ disturbance, cvPercent, interval }: Scenario): string =>
  `${disturbance === UNDISTURBED ? 'noise alone' : disturbance}, CV ${cvPercent} %, ${interval}`;

const shown = ({ count, of, share, lower, upper }: Share): string =>
  `${percent(share)} (${percent(lower)} to ${percent(upper)}), ${count} of ${of}`;

export const meanRounds = (tally: Tally): number => tally.rounds / cellCount(tally);
/** A mean, whose interval is not counted. */
const exactly = (value: number): Figure => ({ share: value, lower: value, upper: value });
const passes = ({ tally }: Simulated): Share => shareOf(tally.cells.pass, cellCount(tally));
const fails = ({ tally }: Simulated): Share =>
  shareOf(tally.cells.beyond + tally.cells.slower, cellCount(tally));
const matrices = ({ tally }: Simulated): Share => shareOf(tally.matricesPassed, tally.matrices);

/** A figure, and between what it lies. */
type Figure = Pick<Share, 'share' | 'lower' | 'upper'>;
type Limit = { most: number } | { least: number };

/** Whether a figure keeps to a limit, as far as its interval tells; see `holds` of a goal. */
function keepsTo({ share, lower, upper }: Figure, limit: Limit): boolean | null {
  if ('least' in limit) return lower >= limit.least ? true : upper < limit.least ? false : null;
  if (upper <= limit.most || (limit.most === 0 && share === 0)) return true;
  return lower > limit.most ? false : null;
}

/** A goal over some scenarios by one figure of each. */
function goal(
  text: string,
  about: readonly Simulated[],
  figure: (simulated: Simulated) => Figure,
  limit: Limit,
  tell: (simulated: Simulated) => string,
): Goal {
  const badness = (simulated: Simulated): number => figure(simulated).share * ('least' in limit ? -1 : 1);
  const [worst] = about.toSorted((a, b) => badness(b) - badness(a));
  // Nothing simulated is nothing shown.
  if (worst === undefined) return { goal: text, holds: false, worst: 'nothing was simulated', found: '' };
  const kept = about.map((simulated) => keepsTo(figure(simulated), limit));
  const holds = kept.includes(false) ? false : kept.includes(null) ? null : true;
  return { goal: text, holds, worst: scenarioName(worst.scenario), found: tell(worst) };
}

/** Noise of requests up to which the goals promise something. */
const mostCv = 1;
const ofLaunches: readonly string[] = [LAUNCHES, LAUNCHES_ALONE];
const quiet = (all: readonly Simulated[], effectPercent: number): Simulated[] =>
  all.filter(({ scenario }) => scenario.effectPercent === effectPercent && scenario.cvPercent <= mostCv);

/**
 * The goals. CV is the noise of requests, as in the scenarios; that launches vary besides is a disturbance, for which no number of
 * rounds is promised.
 */
export function goalsOf(all: readonly Simulated[]): Goal[] {
  const unchanged = quiet(all, 0);
  const alone = unchanged.filter(({ scenario }) => scenario.disturbance === UNDISTURBED);
  const beyond = quiet(all, -3).filter(({ scenario }) => !ofLaunches.includes(scenario.disturbance));
  const atMargin = all.filter(({ scenario }) => scenario.effectPercent === -2);
  const tell = (of: (simulated: Simulated) => Share) => (simulated: Simulated) => shown(of(simulated));
  return [
    goal(
      'An unchanged matrix at CV <= 1 % passes in 99 % or more, under noise alone',
      alone,
      matrices,
      { least: 0.99 },
      tell(matrices),
    ),
    goal(
      'and takes 8 rounds a cell or fewer on average',
      alone,
      ({ tally }) => exactly(meanRounds(tally)),
      { most: 8 },
      ({ tally }) => `${meanRounds(tally).toFixed(2)} rounds`,
    ),
    goal(
      'A cell that is 3 % slower never passes at CV <= 1 %, unless launches vary, too',
      beyond,
      passes,
      { most: 0 },
      tell(passes),
    ),
    goal(
      'An unchanged cell fails in 0.2 % or fewer, under every disturbance',
      unchanged,
      fails,
      { most: 0.002 },
      tell(fails),
    ),
    goal(
      'A cell on the margin passes in 6 % or fewer, under every disturbance',
      atMargin,
      passes,
      { most: 0.06 },
      tell(passes),
    ),
  ];
}

/** What the goals do not promise: the same figures where launches vary by as much as requests do, or where nothing else varies. */
export function beyondGoals(all: readonly Simulated[]): string[] {
  return [LAUNCHES, LAUNCHES_ALONE].flatMap((disturbance) => {
    const own = (effect: number): Simulated[] =>
      all.filter(
        ({ scenario: { disturbance: name, effectPercent, cvPercent, interval } }) =>
          name === disturbance && effectPercent === effect && cvPercent === mostCv && interval === 't',
      );
    return own(0).flatMap((unchanged) =>
      own(-3).map(
        (slower) =>
          `${scenarioName(unchanged.scenario)}: unchanged matrices pass in ${shown(matrices(unchanged))}, with ` +
          `${meanRounds(unchanged.tally).toFixed(2)} rounds a cell; cells that are 3 % slower pass in ${shown(passes(slower))}`,
      ),
    );
  });
}
