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

/** One finding a code: the first of it, and how many more there are. A session that is cold nowhere says so once. */
export function condensed(findings: readonly Finding[]): Finding[] {
  const groups = new Map<string, Finding[]>();
  for (const found of distinct(findings)) groups.set(found.code, [...(groups.get(found.code) ?? []), found]);
  return [...groups.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return [];
    return [
      more.length === 0 ? first : finding(first.code, `${first.message} (and ${more.length} more like it)`),
    ];
  });
}
