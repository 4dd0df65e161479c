/** The digest that names a matrix in plans and manifests. */
import { canonicalDigest } from '../digest.js';
import type { Matrix } from './schema.js';

/** SHA-256 of the meaning of a matrix: layout and comments do not count, the order of arms does (the first is the reference). */
export const matrixDigest = (matrix: Matrix): string =>
  canonicalDigest({ ...matrix, arms: Object.entries(matrix.arms) });
