/** What a matrix must hold beyond the types of its fields. Each breach names the path it is about. */
import { cellId } from './cell-id.js';
import type { Matrix } from './schema.js';

/** One breach: where in the matrix, and what to do about it. */
export interface Breach {
  path: (string | number)[];
  message: string;
}

function cellBreaches(matrix: Matrix): Breach[] {
  const seen = new Map<string, number>();
  return matrix.cells.flatMap((cell, index) => {
    const breaches: Breach[] = [];
    const id = cellId(cell);
    const twin = seen.get(id);
    if (twin !== undefined) {
      const message = `cell ${index + 1} has the id "${id}" of cell ${twin + 1}; give one of them an \`id\``;
      breaches.push({ path: ['cells', index], message });
    }
    seen.set(id, index);
    if (cell.phase === 'decode' && cell.generatedTokens < 2) {
      const message = 'a decode cell times the tokens after the first: generate at least 2';
      breaches.push({ path: ['cells', index, 'generatedTokens'], message });
    }
    return breaches;
  });
}

/** Breaches of the looks of a protocol: they rise, and from 6 on they are even. */
export function lookBreaches(looks: readonly number[]): Breach[] {
  return looks.flatMap((look, index) => {
    const path = ['protocol', 'looks', index];
    const before = index === 0 ? 0 : (looks[index - 1] ?? 0);
    if (look <= before) return [{ path, message: `looks must rise: ${look} follows ${before}` }];
    if (look >= 6 && look % 2 === 1) {
      return [
        { path, message: `rounds come in pairs of opposite order: use ${look + 1} instead of ${look}` },
      ];
    }
    return [];
  });
}

/** Every breach of a matrix whose fields are all of the right type; empty when it can be planned. */
export function breachesOf(matrix: Matrix): Breach[] {
  const arms = Object.keys(matrix.arms);
  const tooFew = arms.length < 2 ? [{ path: ['arms'], message: 'a comparison needs two arms or more' }] : [];
  const numbers = arms.filter((arm) => /^\d+$/.test(arm));
  const unordered = numbers.map((arm) => ({
    path: ['arms', arm],
    message: `an arm named by a number alone loses its place in the order: use "pr-${arm}"`,
  }));
  const alike = arms.flatMap((arm, index) => {
    const twin = arms.slice(0, index).find((other) => other.toLowerCase() === arm.toLowerCase());
    const message = `arms "${twin}" and "${arm}" differ only in case; give one of them another name`;
    return twin === undefined ? [] : [{ path: ['arms', arm], message }];
  });
  const required = matrix.cells.some((cell) => cell.required);
  const decisive = required
    ? []
    : [{ path: ['cells'], message: 'no cell is required: nothing could ever fail' }];
  return [
    ...tooFew,
    ...unordered,
    ...alike,
    ...decisive,
    ...cellBreaches(matrix),
    ...lookBreaches(matrix.protocol.looks),
  ];
}
