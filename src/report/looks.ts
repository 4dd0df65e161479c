/** When a plan looks, in words. */
import { counted } from '../counted.js';

/** `one look after 1 round`, `looks after 6, 12 rounds`. */
export const looksText = (looks: readonly number[]): string => {
  const [only, ...more] = looks;
  return only !== undefined && more.length === 0
    ? `one look after ${counted(only, 'round')}`
    : `looks after ${looks.join(', ')} rounds`;
};
