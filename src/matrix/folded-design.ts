/**
 * Which levels the arms of an ablation have. Two kinds: one switch at a time against a reference, and a Plackett-Burman
 * design followed by its mirror image. A level is `+` (high) or `-` (low); a row is a text of levels, one a factor.
 */
import type { Design } from './schema.js';

export type Level = '+' | '-';

const flipped = (row: string): string => row.replaceAll(/[+-]/g, (level) => (level === '+' ? '-' : '+'));

/** Orders of the Hadamard matrices below: as many factors fit into twice as many rows. */
const orders = [1, 2, 4, 8, 12, 16] as const;

/** Columns of Plackett and Burman's 12 runs (1946), with signs turned so that one row is all `+`. */
const generator12 = '--+---+++-+';

/** A matrix of + and - whose columns are orthogonal, with `+` all over the first row and the first column. */
function hadamard(order: number): string[] {
  if (order === 1) return ['+'];
  if (order === 12) {
    const shifted = Array.from(generator12, (_, at) => generator12.slice(at) + generator12.slice(0, at));
    return ['+'.repeat(order), ...shifted.map((row) => `+${row}`)];
  }
  const half = hadamard(order / 2);
  return [...half.map((row) => row + row), ...half.map((row) => row + flipped(row))];
}

/**
 * Rows of a Hadamard matrix and their mirror images: all low first, all high last. Each factor is high in half of the rows, any
 * two factors are orthogonal, and because every row has its mirror image no main effect is aliased with an effect of two switches
 * together (resolution IV). For 4, 8 and 16 columns this is the regular fraction 2^(k-p), for 12 it is Plackett and Burman's.
 * The first column is all `+` in one half and all `-` in the other: a factor like any other, used when all columns are.
 */
function foldedRows(factors: number): string[] {
  const order = orders.find((columns) => columns >= factors);
  if (order === undefined) throw new RangeError(`no design for ${factors} switches; 16 are the most`);
  const [high = '', ...half] = hadamard(order).map((row) =>
    (row.slice(1) + row.slice(0, 1)).slice(0, factors),
  );
  return [flipped(high), ...half, ...half.map(flipped), high];
}

/** The reference, each factor flipped alone, and, with more than one factor, all flipped together. */
function oneAtATimeRows(factors: number, from: Level): string[] {
  const reference = from.repeat(factors);
  const alone = Array.from(reference, (level, at) => {
    return reference.slice(0, at) + flipped(level) + reference.slice(at + 1);
  });
  return [reference, ...alone, ...(factors > 1 ? [flipped(reference)] : [])];
}

/** The rows of a design, the reference first. `from` is the level of the reference where one switch is flipped at a time. */
export const designRows = (kind: Design['kind'], factors: number, from: Level): string[] =>
  kind === 'one-at-a-time' ? oneAtATimeRows(factors, from) : foldedRows(factors);
