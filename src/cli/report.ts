/** `qualify report`: renders a run folder again, once it has stood up to every check of `qualify verify`. */
import { type Command, Option } from 'commander';
import { withRunFolder } from '../manifest/unpack.js';
import { verifyRun } from '../manifest/verify.js';
import { renderBenchstat } from '../report/benchstat.js';
import type { ReportContext } from '../report/context.js';
import { renderCsv } from '../report/csv.js';
import { renderLlamaBenchJson, renderLlamaBenchSql } from '../report/llama-bench.js';
import { renderMarkdown } from '../report/markdown.js';
import { renderTable } from '../report/table.js';
import type { Verdict } from '../verdict/schema.js';
import { serializeVerdict } from '../verdict/serialize.js';
import { findRun, RUN_OR_ARCHIVE } from './find-run.js';
import { answer, note } from './output.js';
import { describeTrust } from './verify.js';

const renderers = {
  table: renderTable,
  markdown: renderMarkdown,
  json: (verdict: Verdict, _: ReportContext) => serializeVerdict(verdict),
  csv: renderCsv,
  benchstat: renderBenchstat,
  'llama-bench-json': renderLlamaBenchJson,
  'llama-bench-sql': renderLlamaBenchSql,
};

async function report(run: string, { format }: { format: keyof typeof renderers }): Promise<void> {
  const folder = findRun(run);
  // A report that looks like ours is believed: what does not hold is never rendered.
  const {
    signer,
    statement,
    record: { verdict, ...record },
  } = await withRunFolder(folder, (run) => verifyRun(run));
  // Files get the same bytes wherever they are rendered; only the terminal names the folder as the user did.
  const place = format === 'table' ? { runFolder: folder } : {};
  const [index] = statement.subject;
  const seal =
    index !== undefined && 'sha256' in index.digest
      ? { seal: { evidenceSha256: index.digest.sha256, keyId: signer.key.keyId } }
      : {};
  answer(renderers[format](verdict, { ...record, ...place, ...seal }));
  note(
    `Checked: every number follows from the journal, signed by ${signer.key.keyId}\n(${describeTrust(signer)}).`,
  );
}

export function register(program: Command): void {
  program
    .command('report')
    .description('check a finished run and print its report, the losing cell first')
    .argument('<run>', RUN_OR_ARCHIVE)
    .addOption(new Option('--format <format>', 'how').choices(Object.keys(renderers)).default('table'))
    .addHelpText(
      'after',
      '\nExits 16, naming the file, when anything in the folder does not hold; see `qualify verify`.',
    )
    .action(report);
}
