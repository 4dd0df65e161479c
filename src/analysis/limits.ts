/** The bounds of rule `zone-v1` that are not in the plan. Changing one is a new rule with a new name. */
export const limits = {
  /** Client and server clocks may differ by this share, or by this many milliseconds, before it is mentioned. */
  clockShare: 0.02,
  clockMs: 5,
  /** Time that the client saw and the server does not claim: beyond this, and more than it claims, it is hidden. */
  hiddenMs: 250,
  /** How far the medians of that time may differ between two arms: in milliseconds, or as a share of the client's time. */
  gapMs: 15,
  gapShare: 0.25,
  /** Factor between the effect by CPU time and that by wall time beyond which one of the clocks is wrong. */
  cpuToWall: 2,
  /** CPU time is at most wall time x threads, give or take this share and these milliseconds. */
  cpuShare: 0.1,
  cpuMs: 5,
  /** A prefill shorter than this is below what the clocks can tell. */
  shortestMs: 0.05,
  /** A token in less than this is impossible for any model on any device; nanoseconds. */
  shortestTokenNs: 100,
  /** A clock that no CPU has; for the arithmetic floor. */
  clockHz: 6.5e9,
  /** Share by which samples may outrun the new prompt of the last warm-up, beyond what they did in the session's first launch. */
  warmGain: 0.25,
  /** The same where an arm has fewer than three later launches, of which one slow warm-up would be half. */
  warmGainOfFew: 1,
  /** Share of the client's time that a new prompt must claim, for its pace to excuse a gain of samples. */
  claimShare: 0.5,
  /** Of what they did there, this factor is taken for warming up at most. */
  warmUpFactor: 2,
  /** A set of outputs with fewer different tokens proves nothing. */
  distinctTokens: 4,
  /** Share of different runs of four tokens below which a set of outputs says almost nothing, from `runs` runs on. */
  distinctRunShare: 0.1,
  runs: 64,
  /** The same inside of each output, at levels that compare tokens: a circle of five has 5 of 13 in 16 tokens. */
  ownRunShare: 0.4,
  /** Share of steps of one size from token to token, from which on all outputs only count, at levels that compare tokens. */
  sameStepShare: 0.9,
  /** Share of positions at which outputs of different prompts agree, from which on they do not depend on them. */
  agreement: 0.8,
  /** From so many prompts on, half as many outputs are too few. */
  manyOutputs: 4,
  /** Share of the margin that the reference may differ from itself (the null arm) in either direction. */
  nullShare: 0.5,
  /** Share of the margin that the rate may change from the first retained sample of a launch to the last. */
  warmUpShare: 0.25,
  /**
   * One-sided level of these two. Stricter than a look's, because each is a veto that every cell and arm can cast: of 8 cells with
   * 2 arms that warm up by just the limit, .0194 would void one matrix in four, .001 voids one in sixty.
   */
  vetoLevel: 0.001,
  /** Share of the margin beyond which it is mentioned that the second launch of a round differs from the first. */
  slotShare: 0.5,
  /** Share of the launches of a look that may be lost to interruptions; one may always be. */
  lostShare: 0.1,
  /** The time of day may lag behind the monotonic clock by this, or by this share, before it counts as set back: it is slewed at times. */
  setBackMs: 1000,
  setBackShare: 0.001,
} as const;
