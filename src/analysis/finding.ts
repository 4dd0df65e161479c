/** What an examination found: a stable code, and a sentence that says what and, where there is one, the remedy. */
import type { Reason } from '../verdict/schema.js';

/** A finding: `code` is stable API, `message` is for people. */
export type Finding = Reason;

export const finding = (code: string, message: string): Finding => ({ code, message });

/** Findings with equal code and message once, in order of first appearance. */
export function distinct(findings: readonly Finding[]): Finding[] {
  const seen = new Map(findings.map((found) => [`${found.code}\n${found.message}`, found]));
  return [...seen.values()];
}
