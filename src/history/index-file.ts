/** `.qualify/history.jsonl`: what is known of past runs that hold, a line a run. It can be deleted at any time, and is made again from the run folders. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { replaceFile } from '../machine/replace-file.js';
import { makeFolder } from '../make-folder.js';
import { type GoodLine, goodLineSchema } from './run-line.js';

/** Path from the folder that qualify is called in. */
export const HISTORY_FILE = join('.qualify', 'history.jsonl');

/** Lines of an index, and how many could not be read, so that their runs are checked again. */
export interface ReadIndex {
  lines: GoodLine[];
  unreadable: number;
}

function parseLine(text: string): GoodLine | null {
  try {
    return goodLineSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Reads an index. One that is missing is empty. */
export function readIndex(path: string): ReadIndex {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return { lines: [], unreadable: 0 };
  }
  const parsed = text
    .split('\n')
    .filter((line) => line !== '')
    .map(parseLine);
  const lines = parsed.filter((line) => line !== null);
  return { lines, unreadable: parsed.length - lines.length };
}

/** Writes an index, whole or not at all. @throws the system's error */
export async function writeIndex(path: string, lines: readonly GoodLine[]): Promise<void> {
  makeFolder(dirname(path));
  await replaceFile(path, lines.map((line) => `${JSON.stringify(goodLineSchema.parse(line))}\n`).join(''));
}
