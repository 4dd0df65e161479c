/** Finds and reads a matrix by the name of a built-in one or by path. */
import { readFileSync, statSync } from 'node:fs';
import { QualifyError } from '../errors.js';
import { suggest } from '../suggest.js';
import { decodeUtf8 } from '../utf8.js';
import { builtInNames, builtInPath } from './built-in.js';
import { matrixDigest } from './digest.js';
import { parseMatrix } from './parse.js';
import type { Matrix } from './schema.js';

/** A matrix with the digest of its meaning (RFC 8785 JSON with defaults filled in) and where it came from. */
interface LoadedMatrix {
  matrix: Matrix;
  digest: string;
  /** `built-in:<name>`, or the path as given. */
  source: string;
  /** The file as it stands. */
  text: string;
}

const looksLikePath = (name: string): boolean => /[/\\]|\.(ya?ml|json)$/.test(name);

/** No matrix comes near it. */
const MOST_BYTES = 2 ** 20;

function requireMatrixFile(path: string): void {
  const found = statSync(path);
  const wrong = !found.isFile()
    ? 'is not a regular file'
    : found.size > MOST_BYTES
      ? `has ${found.size} bytes; a matrix has at most ${MOST_BYTES}`
      : undefined;
  if (wrong === undefined) return;
  throw invalid(path, wrong, `name a YAML file, or one that is built in: ${builtInNames().join(', ')}`);
}

const invalid = (path: string, wrong: string, hint: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_MATRIX_INVALID', `${path} ${wrong}`, { exit: 'usage', where: path, hint });

function readMatrix(path: string): string {
  try {
    requireMatrixFile(path);
    const text = decodeUtf8(readFileSync(path));
    if (text === null) throw invalid(path, 'is not UTF-8', 'Save the file as UTF-8.');
    return text;
  } catch (cause) {
    if (cause instanceof QualifyError) throw cause;
    throw new QualifyError('ERR_QUALIFY_MATRIX_NOT_FOUND', `cannot read the matrix ${path}`, {
      exit: 'usage',
      hint: `built in: ${builtInNames().join(', ')}`,
      cause,
    });
  }
}

/**
 * Loads a built-in matrix by name (`smoke`), or a file by path (anything with a slash or a YAML ending).
 * @throws QualifyError exit 64: `ERR_QUALIFY_MATRIX_NOT_FOUND`, `ERR_QUALIFY_MATRIX_INVALID`.
 */
export function loadMatrix(nameOrPath: string): LoadedMatrix {
  const isPath = looksLikePath(nameOrPath);
  const names = builtInNames();
  if (!isPath && !names.includes(nameOrPath)) {
    const near = suggest(nameOrPath, names);
    throw new QualifyError('ERR_QUALIFY_MATRIX_NOT_FOUND', `there is no built-in matrix "${nameOrPath}"`, {
      exit: 'usage',
      hint: near === undefined ? `built in: ${names.join(', ')}; or give a path` : `did you mean "${near}"?`,
    });
  }
  const text = readMatrix(isPath ? nameOrPath : builtInPath(nameOrPath));
  const matrix = parseMatrix(text, isPath ? nameOrPath : `matrices/${nameOrPath}.yaml`);
  return {
    matrix,
    digest: matrixDigest(matrix),
    source: isPath ? nameOrPath : `built-in:${nameOrPath}`,
    text,
  };
}
