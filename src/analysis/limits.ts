/** The bounds of rule `zone-v1` that are not in the plan. Changing one is a new rule with a new name. */
export const limits = {
  /** Share of the machine that others may use during a launch when wall time decides. */
  foreignCpuShare: 0.25,
  /** Pages read back from swap during a launch, system-wide: beyond it the engine was probably among the swapped. */
  swapIns: 1024,
  /** Client and server clocks may differ by this share, or by this many milliseconds, before it is mentioned. */
  clockShare: 0.02,
  clockMs: 5,
  /** A server that claims less than this share of the time that the client saw is not believed, beyond `hiddenMs`. */
  hiddenShare: 0.5,
  hiddenMs: 250,
  /** A prefill shorter than this is below what the clocks can tell. */
  shortestMs: 0.05,
  /** A set of outputs with fewer different tokens proves nothing. */
  distinctTokens: 4,
  /** Share of different runs of four tokens below which a set of outputs says almost nothing, from `runs` runs on. */
  distinctRunShare: 0.1,
  runs: 64,
} as const;
