/** Every form in which a run is told, by the name that `qualify report --format` takes. Pure: the same bytes for the same run, anywhere. */
import type { Verdict } from '../verdict/schema.js';
import { serializeVerdict } from '../verdict/serialize.js';
import { renderBenchstat } from './benchstat.js';
import type { ReportContext } from './context.js';
import { renderCsv } from './csv.js';
import { renderHtml } from './html/page.js';
import { renderLlamaBenchJson, renderLlamaBenchSql } from './llama-bench.js';
import { renderMarkdown } from './markdown.js';
import { renderTable } from './table.js';

export type Render = (verdict: Verdict, context: ReportContext) => string | Promise<string>;

export const formats = {
  table: renderTable,
  markdown: renderMarkdown,
  html: renderHtml,
  json: (verdict: Verdict, _: ReportContext) => serializeVerdict(verdict),
  csv: renderCsv,
  benchstat: renderBenchstat,
  'llama-bench-json': renderLlamaBenchJson,
  'llama-bench-sql': renderLlamaBenchSql,
} satisfies Record<string, Render>;

export type Format = keyof typeof formats;
