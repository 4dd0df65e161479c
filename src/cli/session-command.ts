/** What `run`, `pr` and `compare` share: their options, a session, and what they print of it. */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Command } from 'commander';
import { readJournal } from '../journal/read.js';
import { JOURNAL_FILE, PLAN_FILE, VERDICT_FILE } from '../manifest/run-folder.js';
import type { Matrix } from '../matrix/schema.js';
import { planSchema } from '../plan/schema.js';
import { renderTable } from '../report/table.js';
import { runSession, type SessionResult } from '../session/session.js';
import { describeError } from './describe-error.js';
import { interruptSignal } from './interrupt.js';
import { wholeNumber } from './options.js';
import { answer, note, startProgress } from './output.js';

export interface SessionFlags {
  rounds?: number;
  out?: string;
  seed?: string;
  wait?: true;
  json?: true;
}

const MOST_ROUNDS = 96;

/** Adds the options that every session takes. */
export const sessionOptions = (command: Command): Command =>
  command
    .option(
      '--rounds <n>',
      'run exactly so many rounds and look once, at the end',
      wholeNumber(1, MOST_ROUNDS),
    )
    .option('--out <folder>', 'the run folder (default: .qualify/runs/<session>)')
    .option('--seed <text>', 'seed of prompts and order (default: drawn at random)')
    .option('--wait', 'wait for the machine when another session measures on it')
    .option('--json', 'print verdict.json instead of the table');

/** Runs, prints, and sets the exit code to the verdict's. */
export async function runAndPrint(matrix: Matrix, repository: string, flags: SessionFlags): Promise<void> {
  const line = startProgress();
  const progress = {
    update: (text: string, share: number | null) => line.update(text, share),
    note,
  };
  try {
    const result = await runSession({
      matrix,
      repository,
      folder: process.cwd(),
      out: flags.out,
      seed: flags.seed,
      rounds: flags.rounds,
      wait: flags.wait === true,
      progress,
      signal: interruptSignal(),
    });
    line.end();
    print(result, flags.json === true);
  } finally {
    line.end();
  }
}

function print({ runFolder, verdict, failure, keyId, keyCreated }: SessionResult, json: boolean): void {
  const shown = relative(process.cwd(), runFolder);
  const folder = shown.startsWith('..') ? runFolder : shown;
  const plan = planSchema.parse(JSON.parse(readFileSync(join(runFolder, PLAN_FILE), 'utf8')));
  if (json) answer(readFileSync(join(runFolder, VERDICT_FILE), 'utf8'));
  else answer(renderTable(verdict, { plan, entries: readJournal(join(runFolder, JOURNAL_FILE)) }));
  const place = [`run folder: ${folder}`, `check it:   qualify verify ${folder}`, `signed by:  ${keyId}`];
  if (json) note(place.join('\n'));
  else answer(place.join('\n'));
  if (keyCreated) note('This is the first run here: it made that key (qualify keys list).');
  if (failure !== null) note(describeError(failure));
  process.exitCode = verdict.exitCode;
}
