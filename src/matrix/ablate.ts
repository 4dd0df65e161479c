/** Makes the matrix of an ablation out of an ordinary one. Pure. */
import { counted } from '../counted.js';
import { QualifyError } from '../errors.js';
import { switchesOf } from './design-rules.js';
import { designRows } from './folded-design.js';
import { narrow } from './narrow.js';
import type { Arm, Design, Matrix } from './schema.js';

export interface AblationOptions {
  kind: Design['kind'];
  /** Level of what is not flipped: that of the first arm of the matrix (`off`) or of its last (`on`). */
  from: 'off' | 'on';
  /** The switches to look at; all in which the first and the last arm differ when absent. */
  factors?: Design['factors'] | undefined;
  rounds: number;
  /** Ids of the only cells. An ablation qualifies nothing, so that it may leave cells out. */
  cells?: readonly string[] | undefined;
}

/** Every switch in which the first arm (low) and the last (high) differ, in the order of the first. */
function factorsOf(low: Arm, high: Arm): Design['factors'] {
  return Object.entries(low.switches).flatMap(([name, value]) => {
    const other = high.switches[name];
    return other === undefined || other === value ? [] : [{ switch: name, low: value, high: other }];
  });
}

const refuse = (message: string, hint: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_SWITCHES', message, { exit: 'usage', hint });

/** `all-off`, `all-on`, `without-SWITCH` or `only-SWITCH` where one alone is flipped, else the number of the row. */
function nameOf(
  levels: string,
  row: number,
  { kind, from }: AblationOptions,
  factors: Design['factors'],
): string {
  if (!levels.includes('+')) return 'all-off';
  if (!levels.includes('-')) return 'all-on';
  if (kind === 'folded-plackett-burman') return `row-${String(row + 1).padStart(2, '0')}`;
  const alone = factors[levels.indexOf(from === 'on' ? '-' : '+')]?.switch;
  return `${from === 'on' ? 'without' : 'only'}-${alone}`;
}

/**
 * The model, protocol, engine and budgets of `matrix` with one arm for each row of a design, of the revision of its first arm, and
 * one look.
 * @throws QualifyError `ERR_QUALIFY_SWITCHES`, `ERR_QUALIFY_CELL` (exit 64).
 */
export function ablationMatrix(matrix: Matrix, options: AblationOptions): Matrix {
  const arms = Object.values(matrix.arms).filter((arm) => arm.control === undefined);
  const [low, high] = [arms[0], arms.at(-1)];
  if (low === undefined || high === undefined)
    throw refuse(`${matrix.name} has no arm`, 'name another matrix');
  const factors = options.factors ?? factorsOf(low, high);
  if (factors.length === 0 || factors.length > 16) {
    throw refuse(
      `${counted(factors.length, 'switch', 'es')}: an ablation has from 1 to 16`,
      `name them (--switch NAME=LOW,HIGH), or a matrix whose first and last arm differ in switches`,
    );
  }
  const twice = factors.find((one, index) =>
    factors.slice(0, index).some((other) => other.switch === one.switch),
  );
  if (twice !== undefined) throw refuse(`${twice.switch} is named twice`, 'name each switch once');
  const others = options.from === 'on' ? high.switches : low.switches;
  const rows = designRows(options.kind, factors.length, options.from === 'on' ? '+' : '-').map(
    (levels, row) => ({ arm: nameOf(levels, row, options, factors), levels }),
  );
  return {
    ...narrow(matrix, options.cells).matrix,
    name: `${matrix.name.slice(0, 55)}-ablation`,
    title: `Which switches matter, on the cells of ${matrix.name}`,
    arms: Object.fromEntries(
      rows.map(({ arm, levels }) => [
        arm,
        { ...low, switches: { ...others, ...switchesOf(factors, levels) } },
      ]),
    ),
    protocol: { ...matrix.protocol, looks: [options.rounds] },
    design: { kind: options.kind, factors, rows },
  };
}
