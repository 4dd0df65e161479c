/** What a matrix with a design must hold: arms that are the rows of its design, and differ in nothing else. */
import { isDeepStrictEqual } from 'node:util';
import { designRows } from './folded-design.js';
import type { Breach } from './rules.js';
import type { Arm, Design, Matrix } from './schema.js';

/** The switches that a row sets. */
export const switchesOf = (factors: Design['factors'], levels: string): Record<string, string> =>
  Object.fromEntries(
    factors.map((factor, index) => [factor.switch, levels[index] === '+' ? factor.high : factor.low]),
  );

function factorBreaches({ factors }: Design): Breach[] {
  return factors.flatMap((factor, index): Breach[] => {
    const path = ['design', 'factors', index];
    const twin = factors.slice(0, index).some((other) => other.switch === factor.switch);
    if (twin) return [{ path, message: `${factor.switch} is a factor twice` }];
    if (factor.low !== factor.high) return [];
    return [
      { path, message: `${factor.switch} has the level '${factor.low}' twice: low and high must differ` },
    ];
  });
}

function rowBreaches({ kind, factors, rows }: Design): Breach[] {
  const wanted = designRows(kind, factors.length, rows[0]?.levels.startsWith('+') ? '+' : '-');
  const same = isDeepStrictEqual(
    rows.map(({ levels }) => levels),
    wanted,
  );
  if (same) return [];
  const message = `a design ${kind} of ${factors.length} switches has the rows ${wanted.join(' ')}, in this order`;
  return [{ path: ['design', 'rows'], message }];
}

/** An arm without the switches that the design sets. */
function rest(arm: Arm, { factors }: Design): Arm {
  const own = new Set(factors.map((factor) => factor.switch));
  const others = Object.entries(arm.switches).filter(([name]) => !own.has(name));
  return { ...arm, switches: Object.fromEntries(others) };
}

function armBreaches(arms: Matrix['arms'], design: Design): Breach[] {
  // Arms that check the session are no rows of a design.
  const measured = Object.entries(arms).filter(([, arm]) => arm.control === undefined);
  const names = measured.map(([name]) => name);
  const rows = design.rows.map(({ arm }) => arm);
  if (!isDeepStrictEqual(names, rows)) {
    const message = `its rows are ${rows.join(' ')}, and the arms ${names.join(' ')}: there must be one arm a row, in this order`;
    return [{ path: ['design', 'rows'], message }];
  }
  const [reference] = measured;
  return measured.flatMap(([name, arm], index): Breach[] => {
    const asked = switchesOf(design.factors, design.rows[index]?.levels ?? '');
    const wrong = Object.entries(asked).find(([key, value]) => arm.switches[key] !== value);
    if (wrong !== undefined) {
      const message = `the design says '${wrong[1]}', the arm '${arm.switches[wrong[0]] ?? 'unset'}'`;
      return [{ path: ['arms', name, 'switches', wrong[0]], message }];
    }
    if (reference === undefined || isDeepStrictEqual(rest(arm, design), rest(reference[1], design)))
      return [];
    const message = `differs from ${reference[0]} in more than the switches of the design`;
    return [{ path: ['arms', name], message }];
  });
}

/** Breaches of a design; none without one. */
export function designBreaches({ arms, protocol, design }: Matrix): Breach[] {
  if (design === undefined) return [];
  const looks =
    protocol.looks.length === 1
      ? []
      : [
          {
            path: ['protocol', 'looks'],
            message: 'an ablation is looked at once: give one number of rounds',
          },
        ];
  return [...factorBreaches(design), ...rowBreaches(design), ...armBreaches(arms, design), ...looks];
}
