/** YAML (or JSON, its subset) that people wrote: plain data, and the line and column of everything in it. */
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import { type Fault, faultLine } from './faults.js';

/** Line and column from 1. */
export interface Place {
  line: number;
  col: number;
}

interface YamlText {
  /** Plain data; of a key that stands twice, the second. */
  value: unknown;
  /** What is wrong with the text though it can be read: keys that stand twice, and those that would vanish. */
  faults: Placed[];
  /** The deepest node on the way to a fault that the text has. */
  placeOf: (fault: Pick<Fault, 'path' | 'key'>) => Place;
}

/** A fault with its place. */
export interface Placed extends Place {
  /** Path and message. */
  text: string;
}

interface YamlOptions {
  /** What the file holds, for messages: `matrix`. */
  what: string;
  /** Whether `<<` merges a map into another. */
  merge: boolean;
  /** Makes the error of a text that cannot be read at all. */
  refuse: (faults: Placed[]) => Error;
}

/** Reads a text. Aliases are counted, so that a few lines cannot grow to fill the memory. @throws what `refuse` makes */
export function readYaml(text: string, { what, merge, refuse }: YamlOptions): YamlText {
  const lineCounter = new LineCounter();
  const placeAt = (offset: number): Place => lineCounter.linePos(offset);
  const whole = (message: string): Error => refuse([{ line: 1, col: 1, text: message }]);
  const tooDeep = (): Error => whole(`it is nested too deeply; a ${what} has a few levels`);
  let document: Document.Parsed;
  try {
    document = parseDocument(text, { lineCounter, uniqueKeys: true, merge });
  } catch (error) {
    // The parser calls itself for each level, so depth ends it by running out of stack.
    if (!(error instanceof RangeError)) throw error;
    throw tooDeep();
  }
  // The parser catches its own overflow, too.
  if (document.errors.some((error) => /call stack/.test(error.message))) throw tooDeep();
  const faults = document.errors.map(({ code, message, pos: [at] }) => ({
    ...placeAt(at),
    text:
      code === 'MULTIPLE_DOCS'
        ? `a second document begins; a ${what} file holds one`
        : (message.split(' at line ')[0] ?? message),
  }));
  if (document.errors.some(({ code }) => code !== 'DUPLICATE_KEY')) throw refuse(faults);
  return {
    value: plainValue(document, tooDeep, whole),
    faults: [...faults, ...vanishing(document).map((at) => ({ ...placeAt(at), text: VANISHES }))],
    placeOf: (fault) => placeAt(offsetOf(document, fault)),
  };
}

/** A fault where the text has it. */
export const placed = (fault: Fault, { placeOf }: Pick<YamlText, 'placeOf'>): Placed => ({
  ...placeOf(fault),
  text: faultLine(fault),
});

/** In the order of the text. */
export const byPlace = (faults: readonly Placed[]): Placed[] =>
  faults.toSorted((a, b) => a.line - b.line || a.col - b.col);

/** `file:line:column: fault`, a line each, in the order of the text. */
export const placedLines = (faults: readonly Placed[], file: string): string[] =>
  byPlace(faults).map(({ line, col, text }) => `${file}:${line}:${col}: ${text}`);

/** `<<` of what is no map, which the parser notices when it makes plain data. */
const isWrongMerge = (error: unknown): error is Error =>
  error instanceof Error && error.message.startsWith('Merge sources must be maps');

function plainValue(document: Document, tooDeep: () => Error, whole: (message: string) => Error): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 }) ?? {};
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep();
    if (!(error instanceof ReferenceError) && !isWrongMerge(error)) throw error;
    throw whole(error.message);
  }
}

const VANISHES = 'nothing can be called "__proto__": give it another name';

/** Offsets of every key `__proto__`: it is no key that JavaScript keeps in a map of names, so that it would be dropped without a word. */
function vanishing(document: Document): number[] {
  const found: number[] = [];
  visit(document, {
    Pair(_, { key }) {
      if (isScalar(key) && String(key.value) === '__proto__') found.push(key.range?.[0] ?? 0);
    },
  });
  return found;
}

/** Offset of the deepest node of `path` that the document has; of a key that stands twice, the second counts. */
function offsetOf({ contents }: Document, { path, key }: Pick<Fault, 'path' | 'key'>): number {
  let node: unknown = contents;
  for (const step of path) {
    const next: unknown = isSeq(node) ? node.items[Number(step)] : pairAt(node, step)?.value;
    if (!isNode(next)) break;
    node = next;
  }
  const own = key === undefined ? undefined : pairAt(node, key)?.key;
  const place = isNode(own) ? own : node;
  return isNode(place) ? (place.range?.[0] ?? 0) : 0;
}

const pairAt = (node: unknown, name: PropertyKey) =>
  isMap(node)
    ? node.items.findLast(({ key }) => String(isScalar(key) ? key.value : key) === String(name))
    : undefined;
