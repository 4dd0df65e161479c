/** What a plan will cost, roughly, before anything is known about the machine. */
import { NULL_ARM } from '../matrix/schema.js';
import { generatedTokens } from './generated-tokens.js';
import { fileBytesOf, ratesOf } from './preset.js';
import { capOf } from './rounds.js';
import type { Plan, PlannedCell } from './schema.js';

export interface Estimate {
  launches: number;
  requests: number;
  promptTokens: number;
  /** Up to the first look, and up to the cap. Builds and the making of a model come on top. */
  seconds: { firstLook: number; cap: number };
  /** What of that the null arm takes. */
  nullArm: { launches: number; seconds: number };
  diskBytes: { model: number; builds: number; runFolder: number };
}

/** One build of the engine with its objects. */
const bytesPerBuild = 120e6;
/** A request and its answer as evidence, besides its token ids at about 6 bytes each. */
const bytesPerRequest = 4e3;
/** Generating one token costs about as much as prefilling this many. */
const prefillTokensPerGenerated = 6;

/** What is asked in a launch, or in several. `work` is in tokens of prefill. */
interface Asked {
  launches: number;
  requests: number;
  tokens: number;
  work: number;
}

const nothing: Asked = { launches: 0, requests: 0, tokens: 0, work: 0 };

/** Counts and rough times; rates are those of two cores and serial experts, so most machines finish sooner. */
export function estimate(plan: Plan): Estimate {
  const { prefillTokPerSec, readySeconds } = ratesOf(plan.model);
  const secondsOf = ({ launches, work }: Asked): number => launches * readySeconds + work / prefillTokPerSec;
  const firstLook = plan.decision.looks[0] ?? 1;
  const whole = askedIn(plan, plan.rounds);
  const ofNull = plan.rounds
    .filter(({ order }) => order.includes(NULL_ARM))
    .map((round) => ({ ...round, order: [NULL_ARM] }));
  const nullArm = askedIn(plan, ofNull);
  const distinctBuilds = new Set(plan.arms.map((arm) => `${arm.revision} ${arm.control === 'null'}`));
  // What is simulated is compiled already.
  const builds = plan.simulation ? 0 : distinctBuilds.size;
  return {
    launches: whole.launches,
    requests: whole.requests,
    promptTokens: whole.tokens,
    seconds: {
      firstLook: secondsOf(askedIn(plan, plan.rounds.slice(0, firstLook))),
      cap: secondsOf(whole),
    },
    nullArm: { launches: nullArm.launches, seconds: secondsOf(nullArm) },
    diskBytes: {
      model: fileBytesOf(plan.model),
      builds: builds * bytesPerBuild,
      runFolder: whole.requests * bytesPerRequest + whole.tokens * 6,
    },
  };
}

/** Of some rounds at most: no cell is asked for beyond its cap, and a round that has none left is not run. */
function askedIn(plan: Plan, rounds: Plan['rounds']): Asked {
  return rounds.reduce((sum, { round, order }) => {
    const cells = plan.cells.filter((cell) => round < capOf(plan, cell));
    if (cells.length === 0) return sum;
    const one = askedInLaunch(plan, cells);
    return {
      launches: sum.launches + order.length,
      requests: sum.requests + order.length * one.requests,
      tokens: sum.tokens + order.length * one.tokens,
      work: sum.work + order.length * one.work,
    };
  }, nothing);
}

/** The control is about the process, so that it is asked whichever cells are. */
function askedInLaunch(plan: Plan, cells: readonly PlannedCell[]): Asked {
  return plan.prompts.reduce((sum, prompt) => {
    const isControl = prompt.kind === 'control';
    const cell = (isControl ? plan.cells : cells).find(({ id }) => id === prompt.cell);
    if (cell === undefined) return sum;
    const generated = generatedTokens(plan, cell, prompt.kind);
    return {
      launches: 1,
      requests: sum.requests + (isControl ? 2 : 1),
      tokens: sum.tokens + prompt.tokens,
      work: sum.work + prompt.tokens + generated * prefillTokensPerGenerated,
    };
  }, nothing);
}
