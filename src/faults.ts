/** What a schema finds wrong with data, in plain words: the one place that words it for every file that is read. */
import { z } from 'zod';
import { explainIssue } from './explain-issue.js';
import { suggest } from './suggest.js';

/** One fault: where in the data, and what would be right. */
export interface Fault {
  path: readonly PropertyKey[];
  message: string;
  /** The key itself is at fault, not its value. */
  key?: string;
}

/** How many faults of a file are told; who mends these sees the others. */
const MOST_TOLD = 5;
/** Names that are longer are nobody's slip of the hand. */
const LONGEST_NAME = 64;

/** `where.0.in.it: message`, the path left out where the whole is meant. */
export const faultLine = ({ path, message }: Fault): string =>
  path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`;

/**
 * What the schema makes of a value; else throws what `refuse` makes of the faults: one behind a space, more on a line each, at most five.
 * `refuse` puts them behind a colon.
 */
export function conform<T extends z.ZodType>(
  schema: T,
  value: unknown,
  refuse: (faults: string) => unknown,
): z.output<T> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.flatMap(single);
  const told = issues.slice(0, MOST_TOLD).map((issue) => faultLine(wordFault(schema, issue)));
  throw refuse(listFaults(told, issues.length));
}

/** Lines of faults as `conform` puts them, of so many in all. */
export function listFaults(lines: readonly string[], all = lines.length): string {
  const told = lines.slice(0, MOST_TOLD);
  if (all === 1) return ` ${told[0]}`;
  const more = all > told.length ? [`and ${all - told.length} more`] : [];
  return [...told, ...more].map((line) => `\n  ${line}`).join('');
}

/** Every fault that an error of this schema tells. The value must have been parsed with `reportInput`. */
export const faultsOf = (schema: z.ZodType, error: z.ZodError): Fault[] =>
  error.issues.flatMap(single).map((issue) => wordFault(schema, issue));

type Issue = z.core.$ZodIssue;

/** One issue a fault: an unknown key by itself, and of a union what the nearest of its forms lacks. */
function single(issue: Issue): Issue[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => ({ ...issue, keys: [key] }));
  if (issue.code === 'invalid_union') {
    const nearest = issue.errors.toSorted((a, b) => a.length - b.length || depth(b) - depth(a))[0] ?? [];
    if (nearest.length > 0)
      return nearest.flatMap((inner) => single({ ...inner, path: [...issue.path, ...inner.path] }));
  }
  return [issue];
}

const depth = (issues: readonly Issue[]): number => Math.max(0, ...issues.map((issue) => issue.path.length));

function wordFault(schema: z.ZodType, issue: Issue): Fault {
  if (issue.code !== 'unrecognized_keys') return { path: issue.path, message: explainIssue(issue) };
  const [key = ''] = issue.keys;
  const known = keysAt(schema, issue.path);
  const near = key.length > LONGEST_NAME ? undefined : suggest(key, known);
  const hint = near === undefined ? `known here: ${known.join(', ')}` : `did you mean "${near}"?`;
  const name = key.length > LONGEST_NAME ? `${key.slice(0, LONGEST_NAME)}…` : key;
  return { path: issue.path, key, message: `unknown key "${name}": ${hint}` };
}

/** Names that the schema knows at a path, for suggestions; empty where names are free or the path leads nowhere. */
function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const def = (schema as z.ZodType).def as { type: string; innerType?: z.ZodType; in?: z.ZodType };
  if (def.innerType !== undefined) return keysAt(def.innerType, path);
  if (def.in !== undefined) return keysAt(def.in, path);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => keysAt(option, path));
  const [head, ...rest] = path;
  if (schema instanceof z.ZodObject) {
    if (head === undefined) return Object.keys(schema.shape);
    const child: unknown = schema.shape[String(head)];
    return child instanceof z.ZodType ? keysAt(child, rest) : [];
  }
  if (head === undefined) return [];
  if (schema instanceof z.ZodArray) return keysAt(schema.element, rest);
  if (schema instanceof z.ZodRecord) return keysAt(schema.valueType, rest);
  return [];
}
