/** The strict reader of `journal.jsonl`: what it returns kept every rule of the writer, or it throws naming line and field. */
import { readFileSync } from 'node:fs';
import { QualifyError } from '../errors.js';
import { type Entry, safeParseEntry } from './entries.js';

const invalid = (where: string, message: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_JOURNAL_INVALID', message, {
    exit: 'invalid',
    where,
    hint: 'The journal was cut or changed after it was written; take the run folder from where it was made.',
    cause,
  });

const parseJson = (line: string, where: () => string): unknown => {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw invalid(where(), 'A journal line is not JSON.', cause);
  }
};

const parseLine = (line: string, where: () => string): Entry => {
  const value = parseJson(line, where);
  const result = safeParseEntry(value);
  if (!result.success) {
    const [issue] = result.error.issues;
    const field = issue?.path.join('.') || '(the entry)';
    throw invalid(where(), `Journal field ${field}: ${issue?.message ?? 'is malformed'}.`, result.error);
  }
  if (JSON.stringify(result.data) !== line)
    throw invalid(where(), 'A journal line is not in the form the journal writes.');
  return result.data;
};

/**
 * Entries of the text of a journal. `name` stands in error positions (`<name>:<line>`).
 * @throws QualifyError `ERR_QUALIFY_JOURNAL_INVALID` (exit 16) on the first line that breaks a rule.
 */
export function parseJournal(text: string, name: string): Entry[] {
  if (text === '') throw invalid(name, 'The journal is empty.');
  const lines = text.split('\n');
  const tail = lines.pop();
  if (tail !== '') throw invalid(`${name}:${lines.length + 1}`, 'The last journal line is cut off.');
  const entries: Entry[] = [];
  let before = -1n;
  for (const [index, line] of lines.entries()) {
    const where = (): string => `${name}:${index + 1}`;
    const entry = parseLine(line, where);
    if (entry.seq !== index) throw invalid(where(), `Journal field seq: is ${entry.seq}, must be ${index}.`);
    const last = entries[index - 1];
    if (last?.kind === 'end' && (last.complete || entry.kind !== 'resume'))
      throw invalid(where(), 'Something follows the "end" line.');
    const at = BigInt(entry.atNs);
    if (at < before) throw invalid(where(), 'Journal field atNs: time runs backwards.');
    if ((index === 0) !== (entry.kind === 'session')) {
      throw invalid(where(), 'Journal field kind: "session" is the first line, and only the first.');
    }
    before = at;
    entries.push(entry);
  }
  return entries;
}

/** Entries of a journal file; see `parseJournal`. */
export const readJournal = (path: string): Entry[] => parseJournal(readFileSync(path, 'utf8'), path);

/** A journal whose writer may have been killed: its whole lines, and the bytes of a last line that was cut off. */
export interface CutJournal {
  entries: Entry[];
  tail: Buffer;
}

/** Parses up to the last whole line; see `parseJournal`. A journal without a whole line has no entries. */
export function parseCutJournal(bytes: Buffer, name: string): CutJournal {
  const whole = bytes.lastIndexOf('\n') + 1;
  const text = bytes.subarray(0, whole).toString('utf8');
  return { entries: text === '' ? [] : parseJournal(text, name), tail: bytes.subarray(whole) };
}
