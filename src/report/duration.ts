/** Lengths of time, as they are told. */

/** `45 s`, `12 min`, `3.5 h`: rounded up, as a guess of time has to be. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5400) return `${Math.ceil(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
