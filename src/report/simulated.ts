/** What a report says of a session in which nothing was measured, or in which an arm was slowed down on purpose. */
import { plantedText } from '../matrix/planted.js';
import type { Plan } from '../plan/schema.js';
import type { Verdict } from '../verdict/schema.js';

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

/** Which arms were slowed down on purpose, and by how much: `PLANTED slowdown of 3 % in head`; null where none was. */
export function plantedMark({ arms }: Plan): string | null {
  const byPercent = new Map<number, string[]>();
  for (const { name, plantedSlowdownPercent: percent } of arms)
    if (percent !== undefined) byPercent.set(percent, [...(byPercent.get(percent) ?? []), name]);
  const texts = [...byPercent].map(([percent, names]) => `${plantedText(percent)} in ${names.join(' and ')}`);
  return texts.length === 0 ? null : texts.join(', ');
}

/** The clock as formats for other tools name it: a line that is copied elsewhere must not pass for a measurement of a change. */
export function clockMark(clock: Verdict['clock'], plan: Plan): string {
  if (plan.simulation !== undefined) return 'simulated';
  const planted = plantedMark(plan);
  return planted === null ? clock : `${clock} (${planted})`;
}
