/** The bytes of `verdict.json`: one verdict, one file, on every machine. */
import { canonicalJson } from '../digest.js';
import type { Verdict } from './schema.js';

/** Keys in RFC 8785 order, numbers as ECMAScript prints them, two spaces of indent, a newline at the end. */
export const serializeVerdict = (verdict: Verdict): string =>
  `${JSON.stringify(JSON.parse(canonicalJson(verdict)), null, 2)}\n`;
