/** What an issue of the schema means in plain words; the position is told elsewhere. */
import type { z } from 'zod';

const EXPECTED: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of keys',
  record: 'a map of names',
};

/** Of a text that is quoted; a stranger's may be as long as his file. */
const MOST_QUOTED = 80;

/** A text of others in quotes, spelt as JSON spells it, and cut. */
export const quoted = (text: string): string =>
  text.length <= MOST_QUOTED ? JSON.stringify(text) : `${JSON.stringify(text.slice(0, MOST_QUOTED))}…`;

function found(input: unknown): string {
  if (input === null) return 'empty';
  if (Array.isArray(input)) return 'a list';
  if (typeof input === 'object') return 'a map';
  return typeof input === 'string' ? `the text ${quoted(input)}` : String(input);
}

function wrongType(issue: z.core.$ZodIssueInvalidType): string {
  const { input } = issue;
  if (input === undefined) return 'is missing';
  if (issue.expected === 'string' && (typeof input === 'number' || typeof input === 'boolean')) {
    const kind = typeof input === 'number' ? 'a number' : 'a truth value';
    return `is ${kind}: quote it, '${input}'`;
  }
  return `must be ${EXPECTED[issue.expected] ?? issue.expected}, is ${found(input)}`;
}

function bound(origin: string, limit: number | bigint, most: boolean, inclusive = true): string {
  const side = most ? 'at most' : 'at least';
  if (origin === 'string') return `must have ${side} ${limit} character${limit === 1 ? '' : 's'}`;
  if (origin === 'array') return `must have ${side} ${limit} entr${limit === 1 ? 'y' : 'ies'}`;
  if (!inclusive) return `must be ${most ? 'less' : 'more'} than ${limit}`;
  return `must be ${side} ${limit}`;
}

/** A phrase that follows the path of the field: `cells.0.chunk: is missing`. The issue must carry its input. */
export function explainIssue(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(issue);
    case 'invalid_value': {
      if (issue.input === undefined) return 'is missing';
      const values = issue.values.map(String);
      return `must be ${values.length === 1 ? '' : 'one of '}${values.join(', ')}, is ${found(issue.input)}`;
    }
    case 'too_small':
      return bound(issue.origin, issue.minimum, false, issue.inclusive);
    case 'too_big':
      return bound(issue.origin, issue.maximum, true, issue.inclusive);
    case 'invalid_key':
      return `the name ${issue.issues.map((inner) => inner.message).join('; ')}`;
    case 'invalid_union':
      return issue.input === undefined
        ? 'is missing'
        : `fits nothing that is known here, is ${found(issue.input)}`;
    default:
      return issue.message;
  }
}
