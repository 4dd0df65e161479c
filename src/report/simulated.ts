/** What a report says of a session in which nothing was measured. */
import type { Plan } from '../plan/schema.js';

/** The line over the verdict; empty when the session is a measurement. */
export const simulatedNotice = ({ simulation }: Plan): string =>
  simulation === undefined
    ? ''
    : 'SIMULATED: nothing was measured. Every rate is made up by the noise below; the verdict says nothing about any engine.';

/** The noise, and what is true of each arm, in the words of the matrix; null when the session is a measurement. */
export function simulationText({ simulation, arms }: Plan): string | null {
  if (simulation === undefined) return null;
  const noise = Object.entries(simulation).filter(([key, value]) => value !== 0 && key !== 'slowHitPercent');
  const hits = simulation.slowHitShare > 0 ? [['slowHitPercent', simulation.slowHitPercent]] : [];
  const truth = arms.map(({ name, effectPercent = 0 }) => `${name} ${effectPercent} %`);
  const shown = [...noise, ...hits].map(([key, value]) => `${key} ${value}`);
  return `true effects: ${truth.join(', ')}; noise: ${shown.join(', ')}`;
}
