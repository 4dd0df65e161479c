/** Turns the text of a matrix file into a `Matrix`, or says which line is wrong and what would be right. */
import { type Document, isMap, isNode, isPair, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { z } from 'zod';
import { QualifyError } from '../errors.js';
import { suggest } from '../suggest.js';
import { explainIssue } from './explain.js';
import { breachesOf } from './rules.js';
import { type Matrix, matrixSchema } from './schema.js';

type Path = readonly PropertyKey[];

interface Problem {
  path: Path;
  message: string;
  /** The key itself is at fault, not its value. */
  key?: string;
}

/** Names that the schema knows at a path, for suggestions; empty where names are free or the path leads nowhere. */
function keysAt(schema: z.core.$ZodType, path: Path): string[] {
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

/** Says what an issue means; an unknown key becomes one problem a key, with the name that was probably meant. */
function problemsOf(issue: z.core.$ZodIssue): Problem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const known = keysAt(matrixSchema, issue.path);
      const near = suggest(key, known);
      const hint = near === undefined ? `known here: ${known.join(', ')}` : `did you mean "${near}"?`;
      return { path: issue.path, key, message: `unknown key "${key}": ${hint}` };
    });
  }
  if (issue.code === 'invalid_union') {
    const nearest = issue.errors.toSorted((a, b) => a.length - b.length || depth(b) - depth(a))[0] ?? [];
    if (nearest.length > 0) {
      return nearest.flatMap((inner) => problemsOf({ ...inner, path: [...issue.path, ...inner.path] }));
    }
  }
  return [{ path: issue.path, message: explainIssue(issue) }];
}

const depth = (issues: readonly z.core.$ZodIssue[]): number =>
  Math.max(0, ...issues.map((issue) => issue.path.length));

/** Offset of the deepest node of `path` that the document has. */
function offsetOf(document: Document, { path, key }: Problem): number {
  for (let length = path.length; length >= 0; length--) {
    const node: unknown = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (!isNode(node)) continue;
    if (key !== undefined && isMap(node)) {
      const pair = node.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === key);
      if (pair !== undefined && isNode(pair.key)) return pair.key.range?.[0] ?? 0;
    }
    return node.range?.[0] ?? 0;
  }
  return 0;
}

function refuse(
  source: string,
  found: { line: number; col: number; message: string }[],
  paths: string[],
): never {
  const lines = found.map(({ line, col, message }, index) => {
    const path = paths[index];
    return `${source}:${line}:${col}: ${path ? `${path}: ` : ''}${message}`;
  });
  const first = found[0];
  throw new QualifyError('ERR_QUALIFY_MATRIX_INVALID', lines.join('\n'), {
    exit: 'usage',
    where: first === undefined ? source : `${source}:${first.line}:${first.col}`,
    hint: 'qualify matrix show smoke prints a matrix that works; docs/matrix.md has every field',
  });
}

/** `<<` of what is no map, which the parser notices when it makes plain data. */
const isWrongMerge = (error: unknown): error is Error =>
  error instanceof Error && error.message.startsWith('Merge sources must be maps');

/** Plain data of the document. Aliases are counted, so that a few lines cannot grow to fill the memory. */
function plainValue(document: Document, source: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 }) ?? {};
  } catch (error) {
    if (error instanceof RangeError) return tooDeep(source);
    if (!(error instanceof ReferenceError) && !isWrongMerge(error)) throw error;
    return refuse(source, [{ line: 1, col: 1, message: error.message }], []);
  }
}

/**
 * Refuses every key `__proto__`: in a map of arms or switches it is no key that JavaScript keeps, so that it would be dropped without
 * a word.
 */
function refuseProto(document: Document, lineCounter: LineCounter, source: string): void {
  const found: { line: number; col: number; message: string }[] = [];
  visit(document, {
    Pair(_, { key }) {
      if (!isScalar(key) || String(key.value) !== '__proto__') return;
      const message = 'nothing can be called "__proto__": give it another name';
      found.push({ ...lineCounter.linePos(key.range?.[0] ?? 0), message });
    },
  });
  if (found.length > 0) refuse(source, found, []);
}

/** The parser calls itself for each level, so depth ends it by running out of stack. */
function parseYaml(text: string, lineCounter: LineCounter, source: string): Document.Parsed {
  try {
    return parseDocument(text, { lineCounter, uniqueKeys: true, merge: true });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return tooDeep(source);
  }
}

const tooDeep = (source: string): never =>
  refuse(source, [{ line: 1, col: 1, message: 'it is nested too deeply; a matrix has a few levels' }], []);

/**
 * Parses YAML (or JSON, its subset). `source` stands in error positions as `source:line:column`.
 * @throws QualifyError `ERR_QUALIFY_MATRIX_INVALID` (exit 64) that lists every problem with its position.
 */
export function parseMatrix(text: string, source: string): Matrix {
  const lineCounter = new LineCounter();
  const document = parseYaml(text, lineCounter, source);
  // The parser catches its own overflow, too.
  if (document.errors.some((error) => /call stack/.test(error.message))) tooDeep(source);
  if (document.errors.length > 0) {
    const found = document.errors.map((error) => {
      const message =
        error.code === 'MULTIPLE_DOCS'
          ? 'a second document begins; a matrix file holds one'
          : (error.message.split(' at line ')[0] ?? error.message);
      return { ...lineCounter.linePos(error.pos[0]), message };
    });
    refuse(source, found, []);
  }
  refuseProto(document, lineCounter, source);
  const result = matrixSchema.safeParse(plainValue(document, source), { reportInput: true });
  const problems: Problem[] = result.success
    ? breachesOf(result.data)
    : result.error.issues.flatMap(problemsOf);
  if (!result.success || problems.length > 0) {
    const found = problems.map((problem) => ({
      ...lineCounter.linePos(offsetOf(document, problem)),
      message: problem.message,
    }));
    refuse(
      source,
      found,
      problems.map((problem) => problem.path.join('.')),
    );
  }
  return result.data;
}
