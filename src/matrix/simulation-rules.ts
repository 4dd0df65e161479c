/** What a simulated matrix must hold: simulated through and through, and said in its title. */
import { SIMULATED_REVISION } from './engines.js';
import type { Breach } from './rules.js';
import type { Matrix } from './schema.js';

type Named = [name: string, arm: Matrix['arms'][string]];

/** What an arm of engine `simulated` cannot have. */
function armBreaches([name, { revision, switches, arguments: list }]: Named): Breach[] {
  const breaches: Breach[] = [];
  const breach = (key: string, message: string): void => {
    breaches.push({ path: ['arms', name, key], message });
  };
  if (!['worktree', SIMULATED_REVISION].includes(revision))
    breach('revision', 'the simulated engine has one revision: leave it out');
  if (Object.keys(switches).length > 0)
    breach('switches', 'the simulated engine knows no switches; use `effectPercent`');
  if (list.length > 0) breach('arguments', 'the simulated engine takes no arguments: leave them out');
  return breaches;
}

/** Breaches of the rule that a matrix is simulated as a whole or not at all. */
export function simulationBreaches({ arms, model, protocol, simulation, title }: Matrix): Breach[] {
  const named = Object.entries(arms);
  if (simulation === undefined) {
    const stray = named.flatMap(([name, { engine, effectPercent }]): Breach[] => {
      if (engine === 'simulated')
        return [{ path: ['arms', name, 'engine'], message: 'engine `simulated` needs the key `simulation`' }];
      if (effectPercent === undefined) return [];
      const message = 'only a simulated arm has a true effect that is known: leave it out';
      return [{ path: ['arms', name, 'effectPercent'], message }];
    });
    const noModel =
      'simulated' in model
        ? [{ path: ['model'], message: 'a simulated model is for a matrix with the key `simulation`' }]
        : [];
    return [...stray, ...noModel];
  }
  const breaches: Breach[] = named.flatMap(([name, { engine }]) => {
    const message = 'a matrix with the key `simulation` has arms of engine `simulated` only';
    return engine === 'simulated' ? [] : [{ path: ['arms', name], message }];
  });
  if (!('simulated' in model))
    breaches.push({ path: ['model'], message: 'nothing loads a model here: use { simulated: true }' });
  if (!/^simulated\b/i.test(title))
    breaches.push({ path: ['title'], message: 'begin it with "Simulated": it stands over every report' });
  if (protocol.parity === 'bounded')
    breaches.push({
      path: ['protocol', 'parity'],
      message: 'simulated outputs are equal or not: use `exact`',
    });
  return [...breaches, ...named.filter(([, { engine }]) => engine === 'simulated').flatMap(armBreaches)];
}
