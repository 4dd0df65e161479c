/** `qualify report`: renders a run folder again. Says nothing about whether it is genuine: that is `qualify verify`. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { QualifyError } from '../errors.js';
import { readJournal } from '../journal/read.js';
import { JOURNAL_FILE, PLAN_FILE, VERDICT_FILE } from '../manifest/run-folder.js';
import { planSchema } from '../plan/schema.js';
import type { ReportContext } from '../report/context.js';
import { renderCsv } from '../report/csv.js';
import { renderMarkdown } from '../report/markdown.js';
import { renderTable } from '../report/table.js';
import { type Verdict, verdictSchema } from '../verdict/schema.js';
import { serializeVerdict } from '../verdict/serialize.js';
import { answer } from './output.js';

const renderers = {
  table: renderTable,
  markdown: renderMarkdown,
  json: (verdict: Verdict, _: ReportContext) => serializeVerdict(verdict),
  csv: renderCsv,
};

const MACHINE_FILE = 'evidence/machine.json';

const invalid = (path: string, message: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_RUN_INVALID', `${path} ${message}`, {
    exit: 'invalid',
    where: path,
    hint: 'qualify verify says what else is wrong with the folder',
    cause,
  });

function readJson(folder: string, file: string): unknown {
  const path = join(folder, file);
  if (!existsSync(path)) {
    throw new QualifyError('ERR_QUALIFY_RUN_NOT_FOUND', `${folder} has no ${file}: it is not a run folder`, {
      exit: 'usage',
      hint: 'runs lie in .qualify/runs/<session>',
    });
  }
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw invalid(path, 'is not JSON', cause);
  }
}

function parsed<T>(
  path: string,
  result: { success: true; data: T } | { success: false; error: { message: string } },
): T {
  if (!result.success) throw invalid(path, 'does not hold what it should', result.error);
  return result.data;
}

function report(folder: string, { format }: { format: keyof typeof renderers }): void {
  const plan = parsed(join(folder, PLAN_FILE), planSchema.safeParse(readJson(folder, PLAN_FILE)));
  const verdict = parsed(join(folder, VERDICT_FILE), verdictSchema.safeParse(readJson(folder, VERDICT_FILE)));
  const machine = existsSync(join(folder, MACHINE_FILE)) ? readJson(folder, MACHINE_FILE) : undefined;
  const entries = readJournal(join(folder, JOURNAL_FILE));
  // Files get the same bytes wherever they are rendered; only the terminal names the folder as the user did.
  const place = format === 'table' ? { runFolder: folder } : {};
  answer(renderers[format](verdict, { plan, entries, machine, ...place }));
}

export function register(program: Command): void {
  program
    .command('report')
    .description('print the report of a finished run, the losing cell first')
    .argument('<run>', 'the run folder')
    .addOption(new Option('--format <format>', 'how').choices(Object.keys(renderers)).default('table'))
    .action(report);
}
