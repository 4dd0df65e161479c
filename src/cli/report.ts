/** `qualify report`: renders a run folder again, once it has stood up to every check of `qualify verify`. */
import { type Command, Option } from 'commander';
import { QualifyError } from '../errors.js';
import { requireOutside } from '../machine/write-new.js';
import { evidenceDigest } from '../manifest/statement.js';
import { withRunFolder } from '../manifest/unpack.js';
import { type Verification, verifyRun } from '../manifest/verify.js';
import type { ReportContext } from '../report/context.js';
import { type Format, formats, type Render } from '../report/formats.js';
import { findRun, RUN_OR_ARCHIVE } from './find-run.js';
import { answer, note } from './output.js';
import { describeTrust } from './verification-text.js';
import { writeAnswer } from './write-answer.js';

interface ReportFlags {
  format: Format;
  out?: string;
}

/** What the signature covers, as a page tells it. */
export function sealedOf({ signer, statement }: Verification): NonNullable<ReportContext['sealed']> {
  return { indexSha256: evidenceDigest(statement), signer: signer.key.keyId };
}

async function report(run: string, { format, out }: ReportFlags): Promise<void> {
  const folder = findRun(run);
  if (format === 'html' && out === undefined && process.stdout.isTTY === true) {
    throw new QualifyError('ERR_QUALIFY_USAGE', 'a page of HTML is no answer for a terminal', {
      exit: 'usage',
      hint: 'Name a file: --out report.html',
    });
  }
  if (out !== undefined) requireOutside(out, folder);
  // A report that looks like ours is believed: what does not hold is never rendered.
  const verification = await withRunFolder(folder, (run) => verifyRun(run));
  const {
    signer,
    record: { verdict, ...record },
  } = verification;
  // Files get the same bytes wherever they are rendered; only the terminal names the folder as the user did.
  const place = format === 'table' ? { runFolder: folder } : {};
  const render: Render = formats[format];
  const text = await render(verdict, { ...record, ...place, sealed: sealedOf(verification) });
  if (out === undefined) answer(text);
  else await writeAnswer(out, text);
  if (verdict.cells.every(({ arms }) => Object.keys(arms).length === 0))
    note('No cell has all of its proofs, so that there is no rate to tell.');
  note(
    `Checked: every number follows from the journal, signed by ${signer.key.keyId}\n(${describeTrust(signer)}).`,
  );
}

export function register(program: Command): void {
  program
    .command('report')
    .description('check a finished run and print its report, the losing cell first')
    .argument('<run>', RUN_OR_ARCHIVE)
    .addOption(new Option('--format <format>', 'how').choices(Object.keys(formats)).default('table'))
    .option('--out <file>', 'write it to a file, whole or not at all, outside of the run folder')
    .addHelpText(
      'after',
      `
  qualify report RUN                                  as the session printed it
  qualify report RUN --format html --out report.html  one page, for a browser
  qualify report RUN --format csv                     samples, where proved
  qualify report RUN --format benchstat > run.txt     for benchstat -col arm
  qualify report RUN --format llama-bench-sql | sqlite3 llama-bench.sqlite

Exits 16, naming the file, when anything in the folder does not hold; see
\`qualify verify\`.`,
    )
    .action(report);
}
