/** What a plan will cost, roughly, before anything is known about the machine. */
import { NULL_ARM } from '../matrix/schema.js';
import { generatedTokens } from './generated-tokens.js';
import { fileBytesOf, ratesOf } from './preset.js';
import { launchesIn, roundsWith } from './rounds.js';
import type { Plan } from './schema.js';

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

/** Counts and rough times; rates are those of two cores and serial experts, so most machines finish sooner. */
export function estimate(plan: Plan): Estimate {
  const { prefillTokPerSec, readySeconds } = ratesOf(plan.model);
  const perLaunch = plan.prompts.reduce(
    (sum, prompt) => {
      const times = prompt.kind === 'control' ? 2 : 1;
      const cell = plan.cells.find((candidate) => candidate.id === prompt.cell);
      const generated = cell === undefined ? 0 : generatedTokens(plan, cell, prompt.kind);
      return {
        requests: sum.requests + times,
        tokens: sum.tokens + prompt.tokens,
        work: sum.work + prompt.tokens + generated * prefillTokensPerGenerated,
      };
    },
    { requests: 0, tokens: 0, work: 0 },
  );
  const launchSeconds = readySeconds + perLaunch.work / prefillTokPerSec;
  const launches = launchesIn(plan, plan.rounds.length);
  const firstLook = launchesIn(plan, plan.decision.looks[0] ?? 1);
  const nullLaunches = roundsWith(plan, NULL_ARM, plan.rounds.length).length;
  const distinctBuilds = new Set(plan.arms.map((arm) => `${arm.revision} ${arm.control === 'null'}`));
  // What is simulated is compiled already.
  const builds = plan.simulation ? 0 : distinctBuilds.size;
  return {
    launches,
    requests: launches * perLaunch.requests,
    promptTokens: launches * perLaunch.tokens,
    seconds: { firstLook: firstLook * launchSeconds, cap: launches * launchSeconds },
    nullArm: { launches: nullLaunches, seconds: nullLaunches * launchSeconds },
    diskBytes: {
      model: fileBytesOf(plan.model),
      builds: builds * bytesPerBuild,
      runFolder: launches * (perLaunch.requests * bytesPerRequest + perLaunch.tokens * 6),
    },
  };
}
