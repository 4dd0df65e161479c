/** The bounds of rule `zone-v1` that are not in the plan. Changing one is a new rule with a new name. */
export const limits = {
  /** Share of the machine that others may use during a launch when wall time decides. */
  foreignCpuShare: 0.25,
  /** Pages read back from swap during a launch, system-wide: beyond it the engine was probably among the swapped. */
  swapIns: 1024,
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
  /** Of what they did there, this factor is taken for warming up at most. */
  warmUpFactor: 2,
  /** Page faults of the engine that went to disk during a launch: beyond it what was timed is the disk. */
  majorFaults: 64,
  /** A set of outputs with fewer different tokens proves nothing. */
  distinctTokens: 4,
  /** Share of different runs of four tokens below which a set of outputs says almost nothing, from `runs` runs on. */
  distinctRunShare: 0.1,
  runs: 64,
} as const;
