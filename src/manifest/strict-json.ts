/**
 * JSON from strangers. Bounded in size and depth before anything recursive sees it, UTF-8 without replacement, no
 * duplicate keys (parsers disagree on which one counts), no `__proto__`, no lone surrogates, no infinite numbers.
 */
import { visit } from 'jsonc-parser';
import type { QualifyError } from '../errors.js';
import { decodeUtf8 } from '../utf8.js';
import { invalid } from './invalid.js';

/** In Unicode mode a pair of surrogates is one character, so this finds only those without a partner. */
const LONE_SURROGATE = /\p{Surrogate}/u;

interface JsonLimits {
  /** File name for messages. */
  file: string;
  maximumBytes: number;
  maximumDepth: number;
  /** Makes the error of a file that is none of a run's, of what follows "it" in its message. */
  refuse?: (why: string, cause?: unknown) => QualifyError;
}

type Refuse = (why: string, cause?: unknown) => QualifyError;

/** Parses the very bytes given. Throws what `refuse` makes, else a `QualifyError` (exit `invalid`) that names the file and the offset. */
export function parseStrictJson(bytes: Uint8Array, limits: JsonLimits): unknown {
  const refuse: Refuse = limits.refuse ?? ((why, cause) => invalid(limits.file, why, cause));
  if (bytes.length > limits.maximumBytes) {
    throw refuse(`is ${bytes.length} bytes long; at most ${limits.maximumBytes} are read`);
  }
  const text = decodeUtf8(bytes);
  if (text === null) throw refuse('is not UTF-8');
  checkDepth(text, limits.maximumDepth, refuse);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw refuse(`is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
  checkContents(text, value, refuse);
  return value;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;
const BRACE_END = 0x7d;
const BRACKET = 0x5b;
const BRACKET_END = 0x5d;

/** A loop rather than a parser: a file of a million brackets must not reach a recursive one. */
function checkDepth(text: string, maximumDepth: number, refuse: Refuse): void {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (inString) {
      if (char === BACKSLASH) at += 1;
      else if (char === QUOTE) inString = false;
    } else if (char === QUOTE) inString = true;
    else if (char === BRACE || char === BRACKET) depth += 1;
    else if (char === BRACE_END || char === BRACKET_END) depth -= 1;
    if (depth > maximumDepth) {
      throw refuse(`nests deeper than ${maximumDepth} levels at offset ${at}`);
    }
  }
}

/**
 * Whether a text is just what its value is written as: then it has no key twice and no infinite number, and as nothing in it is escaped by
 * its code, no surrogate alone. It spares most files the slower look.
 */
function isPlain(text: string, value: unknown): boolean {
  if (text.includes('\\u') || text.includes('__proto__')) return false;
  const written = JSON.stringify(value);
  return text === written || text === `${written}\n` || text === `${JSON.stringify(value, null, 2)}\n`;
}

/** What `JSON.parse` lets through. Keys are compared after unescaping, so `"a"` and `"\u0061"` are duplicates. */
function checkContents(text: string, value: unknown, refuse: Refuse): void {
  if (isPlain(text, value)) return;
  const open: Set<string>[] = [];
  visit(text, {
    onObjectBegin: () => {
      open.push(new Set());
    },
    onObjectEnd: () => {
      open.pop();
    },
    onObjectProperty: (key, offset) => {
      const keys = open.at(-1);
      if (key === '__proto__') throw refuse(`has a key "__proto__" at offset ${offset}`);
      if (LONE_SURROGATE.test(key)) throw refuse(`has a key with a lone surrogate at offset ${offset}`);
      if (keys?.has(key)) throw refuse(`has the key "${key}" twice, again at offset ${offset}`);
      keys?.add(key);
    },
    onLiteralValue: (value, offset) => {
      if (typeof value === 'number' && !Number.isFinite(value)) {
        throw refuse(`has a number beyond any double at offset ${offset}`);
      }
      if (typeof value === 'string' && LONE_SURROGATE.test(value)) {
        throw refuse(`has a string with a lone surrogate at offset ${offset}`);
      }
    },
  });
}
