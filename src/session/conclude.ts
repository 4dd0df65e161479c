/** From the files of a finished session to its verdict, its report and its seal. Reads them back: what is sealed is what is on disk. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { analyse } from '../analysis/analyse.js';
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

/** Writes `verdict.json` and `report.md`, then seals the folder with the key that was there before the session. */
export async function conclude(runFolder: string): Promise<Concluded> {
  const report = await readSeen((path) => readRegular(runFolder, path));
  const verdict = judge(report.plan, analyse(report.plan, report.entries));
  writeFileSync(join(runFolder, VERDICT_FILE), serializeVerdict(verdict));
  writeFileSync(join(runFolder, REPORT_FILE), renderMarkdown(verdict, report));
  const { keyId } = await seal(runFolder, await loadSigningKey());
  return { verdict, report, keyId };
}
