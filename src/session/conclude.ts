/** From the files of a finished session to its verdict, its report and its seal. Reads them back: what is sealed is what is on disk. */
import { join } from 'node:path';
import { analyse } from '../analysis/analyse.js';
import { replaceFile } from '../machine/replace-file.js';
import { readRegular } from '../manifest/evidence-index.js';
import { REPORT_FILE, readSeen, VERDICT_FILE } from '../manifest/run-folder.js';
import { seal } from '../manifest/seal.js';
import { loadSigningKey } from '../manifest/signing-key.js';
import type { ReportContext } from '../report/context.js';
import { renderMarkdown } from '../report/markdown.js';
import { judge } from '../verdict/judge.js';
import type { Verdict } from '../verdict/schema.js';
import { serializeVerdict } from '../verdict/serialize.js';

export interface Concluded {
  verdict: Verdict;
  /** What a report of the verdict also says. */
  report: ReportContext;
  /** Fingerprint of the key that sealed the run. */
  keyId: string;
}

/**
 * Writes `verdict.json` and `report.md`, then seals the folder with the key that was there before the session. Each file is whole, or is
 * not there, and its bytes are on disk before the next is begun.
 * @throws QualifyError what `replaceFile` and `seal` throw; `ERR_QUALIFY_INVALID` (exit 16) for files that somebody changed meanwhile
 */
export async function conclude(runFolder: string): Promise<Concluded> {
  const report = await readSeen((path) => readRegular(runFolder, path));
  const verdict = judge(report.plan, analyse(report.plan, report.entries));
  await replaceFile(join(runFolder, VERDICT_FILE), serializeVerdict(verdict));
  await replaceFile(join(runFolder, REPORT_FILE), renderMarkdown(verdict, report));
  const { keyId } = await seal(runFolder, await loadSigningKey());
  return { verdict, report, keyId };
}
