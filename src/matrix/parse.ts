/** Turns the text of a matrix file into a `Matrix`, or says which lines are wrong and what would be right. */
import { z } from 'zod';
import { QualifyError } from '../errors.js';
import { faultsOf } from '../faults.js';
import { type Placed, placed, placedLines, readYaml } from '../yaml-text.js';
import { type Breach, breachesOf, breachesOfPart, onlySound } from './rules.js';
import { type Matrix, matrixSchema } from './schema.js';

/**
 * Parses YAML (or JSON, its subset). `source` stands in error positions as `source:line:column`.
 * @throws QualifyError `ERR_QUALIFY_MATRIX_INVALID` (exit 64) that lists every problem with its position.
 */
export function parseMatrix(text: string, source: string): Matrix {
  const refuse = (faults: Placed[]): QualifyError => refused(faults, source);
  const yaml = readYaml(text, { what: 'matrix', merge: true, refuse });
  const result = matrixSchema.safeParse(yaml.value, { reportInput: true });
  const problems = result.success
    ? [...breachesOf(result.data), ...controlCharacters(result.data)]
    : [
        ...faultsOf(matrixSchema, result.error),
        ...breachesOfPart(soundPart(matrixSchema, yaml.value, result.error.issues)),
      ];
  const faults = [...yaml.faults, ...problems.map((problem) => placed(problem, yaml))];
  if (!result.success || faults.length > 0) throw refuse(faults);
  return result.data;
}

/**
 * Characters that would steer the terminal of whoever reads of a run, or end what a program is given. A title is one line; elsewhere tabs
 * and line breaks may stand. No rule of a matrix in a plan: what was measured under such a title still verifies.
 */
function controlCharacters(value: unknown, path: (string | number)[] = []): Breach[] {
  if (typeof value === 'string') {
    const unwanted = path[0] === 'title' ? /\p{Cc}/u : /(?![\t\n\r])\p{Cc}/u;
    const code = unwanted.exec(value)?.[0].codePointAt(0);
    if (code === undefined) return [];
    const named = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
    return [{ path, message: `holds the control character ${named}; take it out` }];
  }
  if (typeof value !== 'object' || value === null) return [];
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([key, inner]) =>
    controlCharacters(inner, [...path, isList ? Number(key) : key]),
  );
}

/**
 * The fields in which nothing is wrong, and of fields with fields of their own those of which that is true. Where a key is unknown, what
 * the file does not say may be what was meant by it, so that no default stands in.
 */
function soundPart(schema: z.ZodObject, value: unknown, issues: readonly Issue[]): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return onlySound({});
  const written = value as Record<string, unknown>;
  const misspelt = issues.some(({ code, path }) => code === 'unrecognized_keys' && path.length === 0);
  const fields = Object.entries(schema.shape).flatMap(([name, field]) => {
    if (misspelt && !Object.hasOwn(value, name)) return [];
    const own = issues.flatMap((issue) =>
      issue.path[0] === name ? [{ code: issue.code, path: issue.path.slice(1) }] : [],
    );
    if (own.length === 0) return [[name, z.parse(field, written[name])]];
    const inner = objectOf(field);
    return inner === null ? [] : [[name, soundPart(inner, written[name], own)]];
  });
  return onlySound(Object.fromEntries(fields));
}

type Issue = Pick<z.core.$ZodIssue, 'code' | 'path'>;

/** The object that a field holds, whatever it is when it is absent; null for a list, a map of names, a text, ... */
function objectOf(field: z.core.$ZodType): z.ZodObject | null {
  if (field instanceof z.ZodObject) return field;
  const { innerType } = field._zod.def as { innerType?: z.core.$ZodType };
  return innerType === undefined ? null : objectOf(innerType);
}

function refused(faults: readonly Placed[], source: string): QualifyError {
  const lines = placedLines(faults, source);
  const [, where = source] = /^(.*?:\d+:\d+): /s.exec(lines[0] ?? '') ?? [];
  return new QualifyError('ERR_QUALIFY_MATRIX_INVALID', lines.join('\n'), {
    exit: 'usage',
    where,
    hint: 'qualify matrix show smoke prints a matrix that works; docs/matrix.md has every field',
  });
}
