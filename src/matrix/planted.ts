/** A matrix whose arms are slowed down on purpose, to see whether the slowdown is found. It says so in its title. Pure. */
import { QualifyError } from '../errors.js';
import type { Matrix } from './schema.js';

const LONGEST_TITLE = 200;

/** What titles, tables and reasons call it. */
export const plantedText = (percent: number): string => `PLANTED slowdown of ${percent} %`;

/**
 * Plants a slowdown in every arm but the reference and the null arm, which is the reference once more.
 * @throws QualifyError `ERR_QUALIFY_PLANTED` (exit 64) when an arm is of an engine that cannot be slowed down.
 */
export function plantSlowdown(matrix: Matrix, percent: number): Matrix {
  const [reference] = Object.keys(matrix.arms);
  const arms = Object.entries(matrix.arms).map(([name, arm]): [string, Matrix['arms'][string]] => {
    if (name === reference || arm.control === 'null') return [name, arm];
    if (arm.engine === 'node-llama-cpp') {
      throw new QualifyError(
        'ERR_QUALIFY_PLANTED',
        `No slowdown can be planted in ${name}, an arm of llama.cpp.`,
        {
          exit: 'usage',
          hint: 'Plant it in a matrix whose arms, but for the first, are of the embedded engine.',
        },
      );
    }
    return [name, { ...arm, plantedSlowdownPercent: percent }];
  });
  const title = `${plantedText(percent)}: ${matrix.title}`.slice(0, LONGEST_TITLE);
  return { ...matrix, title, arms: Object.fromEntries(arms) };
}
