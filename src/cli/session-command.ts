/** What `run`, `pr` and `compare` share: their options, a session, and what they print of it. */
import { relative } from 'node:path';
import { type Command, Option } from 'commander';
import { failuresOfLast, launchUnderWay, lostLaunches, MOST_FAILURES } from '../analysis/lost-launches.js';
import type { QualifyError } from '../errors.js';
import type { Entry } from '../journal/entries.js';
import { readChallenge } from '../manifest/challenge-file.js';
import { FINAL_FAILURES } from '../manifest/replay-order.js';
import { plantSlowdown } from '../matrix/planted.js';
import type { Matrix } from '../matrix/schema.js';
import { switchWarnings } from '../matrix/switch-names.js';
import { renderTable } from '../report/table.js';
import { wrap } from '../report/wrap.js';
import type { Asked } from '../session/answer-challenge.js';
import type { SessionProgress } from '../session/context.js';
import { runSession, type SessionResult } from '../session/session.js';
import { shellPath } from '../shell-word.js';
import { serializeVerdict } from '../verdict/serialize.js';
import { describeError } from './describe-error.js';
import { interruptSignal } from './interrupt.js';
import { cellOption, plantOption, wholeNumber } from './options.js';
import { answer, note, startProgress } from './output.js';
import { loadRealMatrix } from './real-matrix.js';

export interface SessionFlags {
  rounds?: number;
  cell?: string[];
  out?: string;
  seed?: string;
  plantSlowdown?: number;
  wait?: true;
  json?: true;
  challenge?: string;
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
    .addOption(cellOption())
    .option('--out <folder>', 'the run folder (default: .qualify/runs/<session>)')
    .option('--seed <text>', 'seed of prompts and order (default: drawn at random)')
    .addOption(plantOption())
    .option('--wait', 'wait for the machine when another session measures on it')
    .option('--json', 'print verdict.json instead of the table');

/** `--challenge`, for commands whose plan is all of a matrix. */
export const challengeOption = (): Option =>
  new Option(
    '--challenge <file>',
    'answer this challenge (see qualify challenge): it gives the seed, and the whole matrix is run',
  ).conflicts(['seed', 'rounds', 'cell', 'plantSlowdown']);

/** The challenge of `--challenge`, to be answered by the matrix as it was named; undefined without the option. */
export const askedBy = (flags: SessionFlags, matrix: string): Asked | undefined =>
  flags.challenge === undefined
    ? undefined
    : { challenge: readChallenge(flags.challenge), matrix: loadRealMatrix(matrix) };

interface RunChoices {
  challenge?: Asked | undefined;
  /** The exit code; the verdict's when absent. */
  codeOf?: ((result: SessionResult) => number) | undefined;
  /** Said when the session begins. */
  notices?: readonly string[];
}

/** Says which switches may be misspelt, before hours are measured for nothing. Runs, prints, and sets the exit code: the verdict's, unless told. */
export function runAndPrint(
  matrix: Matrix,
  repository: string,
  flags: SessionFlags,
  { challenge, codeOf, notices = [] }: RunChoices = {},
): Promise<void> {
  for (const warning of switchWarnings(matrix.arms, matrix.design)) note(`warning: ${warning}`);
  return withProgress(
    flags.json === true,
    (progress) =>
      runSession({
        matrix: flags.plantSlowdown === undefined ? matrix : plantSlowdown(matrix, flags.plantSlowdown),
        repository,
        folder: process.cwd(),
        out: flags.out,
        seed: flags.seed,
        challenge,
        rounds: flags.rounds,
        cells: flags.cell,
        wait: flags.wait === true,
        notices,
        progress,
        signal: interruptSignal(),
      }),
    codeOf,
  );
}

/** A session with its progress on stderr; what it came to is printed and sets the exit code. */
export async function withProgress(
  json: boolean,
  session: (progress: SessionProgress) => Promise<SessionResult>,
  codeOf: (result: SessionResult) => number = ({ verdict }) => verdict.exitCode,
): Promise<void> {
  const line = startProgress();
  try {
    const result = await session({
      update: (text, share) => line.update(text, share),
      // Takes the progress line away first, so that the two do not run into each other.
      note: (text) => line.end(text),
    });
    line.end();
    print(result, json);
    process.exitCode = codeOf(result);
  } finally {
    line.end();
  }
}

function print(
  { runFolder, verdict, report, failure, keyId, keyCreated }: SessionResult,
  json: boolean,
): void {
  const shown = relative(process.cwd(), runFolder);
  const folder = shown.startsWith('..') ? runFolder : shown;
  if (json) answer(serializeVerdict(verdict));
  else answer(renderTable(verdict, { ...report, runFolder: folder }));
  const place = `The run is in ${folder}, signed by ${keyId}${keyCreated ? ', a key that this first run made' : ''}.`;
  note(process.stderr.isTTY ? wrap(place, 80).join('\n') : place);
  if (failure !== null) {
    note(describeError(failure));
    if (mayGoOn(report.entries, failure)) note(`Go on from there: qualify resume ${shellPath(folder)}`);
  }
}

/** Whether `qualify resume` would take it; it says why when it does not. */
function mayGoOn(entries: readonly Entry[], failure: QualifyError): boolean {
  const underWay = launchUnderWay(entries)?.launch ?? null;
  const failed = underWay === null ? [] : failuresOfLast(lostLaunches(entries, underWay));
  return !FINAL_FAILURES.has(failure.code) && failed.length < MOST_FAILURES;
}
