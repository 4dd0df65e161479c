/** Models as people read them: `qualify model inspect`, `quantize` and `audit`. */
import type { ModelDescription, QuantizedModel } from '../engine/addon.js';
import type { AuditReport } from '../engine/model-audit.js';

const LONGEST_LIST = 8;

/** Columns padded to their widest cell; the columns named in `right` are right-aligned. */
function columns(rows: string[][], right: ReadonlySet<number>): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: string[]) =>
    row.map((cell, column) =>
      right.has(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    );
  return rows.map((row) => line(row).join('  ').trimEnd()).join('\n');
}

function metadataValue(value: ModelDescription['metadata'][string]): string {
  if (!Array.isArray(value)) return JSON.stringify(value);
  const shown = value.slice(0, LONGEST_LIST).map((item) => JSON.stringify(item));
  return `[${shown.join(', ')}${value.length > LONGEST_LIST ? `, … ${value.length} in all` : ''}]`;
}

/** Sum of bytes and number of tensors by type, largest first. */
function byType(tensors: ModelDescription['tensors']): string[][] {
  const sums = new Map<string, { tensors: number; bytes: number }>();
  for (const { type, sizeBytes } of tensors) {
    const sum = sums.get(type) ?? { tensors: 0, bytes: 0 };
    sums.set(type, { tensors: sum.tensors + 1, bytes: sum.bytes + sizeBytes });
  }
  const rows = [...sums].sort(([, a], [, b]) => b.bytes - a.bytes);
  return rows.map(([type, sum]) => [type, String(sum.tensors), String(sum.bytes)]);
}

/** Metadata, tensors and sums of a model file. */
export function describeModel(path: string, sha256: string, model: ModelDescription): string {
  const tensorRows = model.tensors.map((tensor) => [
    tensor.name,
    tensor.type,
    tensor.dimensions.join(' x '),
    String(tensor.sizeBytes),
    String(tensor.offsetBytes),
  ]);
  return [
    `file      ${path}`,
    `sha256    ${sha256}`,
    `bytes     ${model.sizeBytes}`,
    `alignment ${model.alignment}`,
    '',
    columns(
      [
        ['key', 'value'],
        ...Object.entries(model.metadata).map(([key, value]) => [key, metadataValue(value)]),
      ],
      new Set(),
    ),
    '',
    columns([['tensor', 'type', 'dimensions', 'bytes', 'offset'], ...tensorRows], new Set([3, 4])),
    '',
    columns([['type', 'tensors', 'bytes'], ...byType(model.tensors)], new Set([1, 2])),
  ].join('\n');
}

/** Types whose values are those of training, as far as anybody knows. */
const FLOATS = new Set(['f32', 'f16', 'bf16']);

/** The loss of an earlier rounding cannot be told from its result. */
function roundedBefore(tensors: QuantizedModel['quantized']): string[] {
  const types = new Set(tensors.map(({ from }) => from).filter((type) => !FLOATS.has(type)));
  if (types.size === 0) return [];
  return [`NMSE      against the values of the input, which ${[...types].join(', ')} has rounded before`];
}

/** What quantising a model changed, tensor by tensor. */
export function describeQuantized(made: QuantizedModel & { path: string; sha256: string }): string {
  const rows = made.quantized.map((tensor) => [
    tensor.name,
    `${tensor.from} -> ${tensor.to}${tensor.weighted ? ' (imatrix)' : ''}`,
    String(tensor.fromBytes),
    String(tensor.toBytes),
    tensor.nmse === 0 ? '0' : tensor.nmse.toExponential(2),
  ]);
  const sum = (key: 'fromBytes' | 'toBytes') =>
    made.quantized.reduce((total, tensor) => total + tensor[key], 0);
  return [
    columns([['tensor', 'type', 'bytes', 'after', 'NMSE'], ...rows], new Set([2, 3, 4])),
    '',
    ...roundedBefore(made.quantized),
    `file      ${made.path}`,
    `sha256    ${made.sha256}`,
    `bytes     ${made.sizeBytes}`,
    `quantised ${made.quantized.length} of ${made.tensors} tensors, ${sum('fromBytes')} -> ${sum('toBytes')} bytes`,
  ].join('\n');
}

/** The margins of a model. */
export function describeAudit(path: string, report: AuditReport): string {
  return [
    `file             ${path}`,
    `positions        ${report.positions} of ${report.prompts} built-in prompts, vocabulary ${report.vocabulary}`,
    `margin, least    ${report.marginMinimum.toPrecision(4)}`,
    `margin, 1 %      ${report.marginOnePercent.toPrecision(4)}`,
    `margin, median   ${report.marginMedian.toPrecision(4)}`,
    `largest |logit|  ${report.logitMaximum.toPrecision(4)}`,
    `distinct outputs ${report.distinctBest}`,
  ].join('\n');
}
