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
  /** A set of outputs with fewer different tokens proves nothing. */
  distinctTokens: 4,
  /** Share of different runs of four tokens below which a set of outputs says almost nothing, from `runs` runs on. */
  distinctRunShare: 0.1,
  runs: 64,
  /** Share of the launches of a look that may be lost to interruptions; one may always be. */
  lostShare: 0.1,
  /** The time of day may lag behind the monotonic clock by this, or by this share, before it counts as set back: it is slewed at times. */
  setBackMs: 1000,
  setBackShare: 0.001,
} as const;
