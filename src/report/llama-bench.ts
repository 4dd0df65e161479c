/**
 * Rows as `llama-bench -o json` and `-o sql` write them (its fields of August 2026, in their order), so that scripts which read those read
 * ours. One row a cell and arm. What llama-bench tells and `qualify` does not know is empty, or 0 where a number must stand. llama-bench times by the wall; where CPU time decides, or an arm was
 * slowed down on purpose, `backends` says so.
 */
import { mean, sampleStandardDeviation } from 'simple-statistics';
import { z } from 'zod';
import type { EntryOf } from '../journal/entries.js';
import type { Plan } from '../plan/schema.js';
import type { Verdict } from '../verdict/schema.js';
import { type ArmSamples, armSamplesOf, timedTokens } from './arm-samples.js';
import type { ReportContext } from './context.js';
import { plainText } from './escape.js';
import { llamaBenchBuilds } from './llama-bench-builds.js';
import { plantedMark } from './simulated.js';

const machineSchema = z.object({
  cpu: z.object({ model: z.string() }),
  gpus: z.array(z.object({ name: z.string().nullish() })).nullish(),
});

/** Columns of llama-bench's table, in its order, with their SQL types. */
const COLUMNS = {
  build_commit: 'TEXT',
  build_number: 'INTEGER',
  cpu_info: 'TEXT',
  gpu_info: 'TEXT',
  backends: 'TEXT',
  model_filename: 'TEXT',
  model_type: 'TEXT',
  model_size: 'INTEGER',
  model_n_params: 'INTEGER',
  n_batch: 'INTEGER',
  n_ubatch: 'INTEGER',
  n_threads: 'INTEGER',
  cpu_mask: 'TEXT',
  cpu_strict: 'INTEGER',
  poll: 'INTEGER',
  type_k: 'TEXT',
  type_v: 'TEXT',
  n_gpu_layers: 'INTEGER',
  n_cpu_moe: 'INTEGER',
  split_mode: 'TEXT',
  main_gpu: 'INTEGER',
  no_kv_offload: 'INTEGER',
  flash_attn: 'INTEGER',
  devices: 'TEXT',
  tensor_split: 'TEXT',
  tensor_buft_overrides: 'TEXT',
  load_mode: 'TEXT',
  embeddings: 'INTEGER',
  no_op_offload: 'INTEGER',
  no_host: 'INTEGER',
  fit_target: 'INTEGER',
  fit_min_ctx: 'INTEGER',
  n_prompt: 'INTEGER',
  n_gen: 'INTEGER',
  n_depth: 'INTEGER',
  test_time: 'TEXT',
  avg_ns: 'INTEGER',
  stddev_ns: 'INTEGER',
  avg_ts: 'REAL',
  stddev_ts: 'REAL',
} as const;

type Column = keyof typeof COLUMNS;
const columns = Object.keys(COLUMNS) as Column[];

type LlamaBenchRow = Record<Column, string | number | boolean> & {
  samples_ns: readonly number[];
  samples_ts: readonly number[];
  /** Not llama-bench's: which arm it is. Its compare script reads past what it does not know. */
  arm: string;
};

function modelOf({ plan, entries }: ReportContext): { filename: string; type: string; size: number } {
  const { model } = plan;
  const entry = entries.find((one): one is EntryOf<'model'> => one.kind === 'model');
  const size = Number(entry?.sizeBytes ?? 0);
  if ('simulated' in model) return { filename: 'simulated', type: 'simulated', size };
  if ('path' in model) return { filename: model.path, type: '', size };
  return {
    filename: `${model.preset}-${model.experts}.gguf`,
    type: `deepseek4 ${model.preset} ${model.experts}`,
    size,
  };
}

/** What is the same in every row of a session: scripts set only rows side by side that have the same `backends`. */
function backendsOf(plan: Plan, engine: string, clock: Verdict['clock']): string {
  if (plan.simulation !== undefined) return 'SIMULATED';
  const marks = [...(clock === 'cpu' ? ['CPU time'] : []), plantedMark(plan) ?? []].flat();
  return marks.length === 0 ? engine : `${engine} (${marks.join(', ')})`;
}

function rowOf(
  context: ReportContext,
  clock: Verdict['clock'],
  { cell, arm, summary }: ArmSamples,
): LlamaBenchRow {
  const engine = context.plan.arms.find(({ name }) => name === arm)?.engine ?? '';
  const machine = machineSchema.safeParse(context.machine).data;
  const session = context.entries.find((entry): entry is EntryOf<'session'> => entry.kind === 'session');
  const launched = new Set(
    context.entries.flatMap((entry) => (entry.kind === 'launch' && entry.arm === arm ? [entry.launch] : [])),
  );
  const ready = context.entries.find(
    (entry): entry is EntryOf<'ready'> => entry.kind === 'ready' && launched.has(entry.launch),
  );
  const model = modelOf(context);
  const samplesNs = summary.samples.map((rate) => Math.round((1e9 * timedTokens(cell)) / rate));
  const spread = (values: number[]): number => (values.length < 2 ? 0 : sampleStandardDeviation(values));
  const isPrefill = cell.phase === 'prefill';
  return {
    build_commit: llamaBenchBuilds(context).get(arm) ?? '',
    build_number: context.plan.arms.findIndex(({ name }) => name === arm),
    cpu_info: machine?.cpu.model ?? '',
    gpu_info: machine?.gpus?.flatMap(({ name }) => name ?? []).join(', ') ?? '',
    backends: backendsOf(context.plan, engine, clock),
    model_filename: model.filename,
    model_type: model.type,
    model_size: model.size,
    model_n_params: 0,
    n_batch: cell.chunk,
    n_ubatch: cell.chunk,
    n_threads: ready?.witness.threads ?? 0,
    cpu_mask: '',
    cpu_strict: false,
    poll: 0,
    type_k: '',
    type_v: '',
    n_gpu_layers: 0,
    n_cpu_moe: 0,
    split_mode: '',
    main_gpu: 0,
    no_kv_offload: false,
    flash_attn: -1,
    devices: '',
    tensor_split: '',
    tensor_buft_overrides: '',
    load_mode: '',
    embeddings: false,
    no_op_offload: 0,
    no_host: false,
    fit_target: 0,
    fit_min_ctx: 0,
    n_prompt: isPrefill ? cell.promptTokens : 0,
    n_gen: isPrefill ? 0 : cell.generatedTokens,
    n_depth: isPrefill ? 0 : cell.promptTokens,
    test_time: session?.startedAt ?? '',
    avg_ns: Math.round(mean(samplesNs)),
    stddev_ns: Math.round(spread(samplesNs)),
    avg_ts: mean(summary.samples),
    stddev_ts: spread(summary.samples),
    samples_ns: samplesNs,
    samples_ts: summary.samples,
    arm,
  };
}

/** Rows of every cell and arm whose rates are proved, in the order of matrix and plan. */
export const llamaBenchRows = (verdict: Verdict, context: ReportContext): LlamaBenchRow[] =>
  armSamplesOf(verdict, context).map((samples) => rowOf(context, verdict.clock, samples));

/** An array of rows, with the samples, as `llama-bench -o json`. */
export const renderLlamaBenchJson = (verdict: Verdict, context: ReportContext): string =>
  `${JSON.stringify(llamaBenchRows(verdict, context), null, 2)}\n`;

/** Table and rows as `llama-bench -o sql`, which has no samples; comments name the arms. Quotes are doubled, as SQL wants it. */
export function renderLlamaBenchSql(verdict: Verdict, context: ReportContext): string {
  const rows = llamaBenchRows(verdict, context);
  const literal = (value: LlamaBenchRow[Column]): string => {
    const text = typeof value === 'boolean' ? String(Number(value)) : String(value);
    return `'${plainText(text).replaceAll("'", "''")}'`;
  };
  const table = columns.map((name) => `  ${name} ${COLUMNS[name]}`).join(',\n');
  const arms = rows.map(
    (row) =>
      `-- build_commit ${row.build_commit}, build_number ${row.build_number}: arm ${plainText(row.arm)}`,
  );
  const inserts = rows.map(
    (row) =>
      `INSERT INTO llama_bench (${columns.join(', ')}) VALUES (${columns.map((name) => literal(row[name])).join(', ')});`,
  );
  const lines = rows.length === 0 ? ['-- No cell has proved rates.'] : [...new Set(arms), ...inserts];
  return `CREATE TABLE IF NOT EXISTS llama_bench (\n${table}\n);\n\n${lines.join('\n')}\n`;
}
