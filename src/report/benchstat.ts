/**
 * Go's benchmark format (golang.org/design/14313-benchmark-format), for `benchstat -col arm FILE`. One line a launch, of its median: samples
 * of one launch are no independent measurements, and benchstat takes lines for that.
 */
import { median } from 'simple-statistics';
import type { Verdict } from '../verdict/schema.js';
import { armSamplesOf, timedTokens } from './arm-samples.js';
import type { ReportContext } from './context.js';
import { plainText } from './escape.js';
import { clockMark } from './simulated.js';

/** A value of a configuration line: one line, whatever it is made of. */
const value = (text: string): string => plainText(text).trim();

/** A part of a benchmark's name: no space and no slash, which divide names. */
const part = (text: string): string => plainText(text).replaceAll(/[\s/]+/g, '_');

/** The whole file, ending with a line feed. Refused cells have no line. */
export function renderBenchstat(verdict: Verdict, context: ReportContext): string {
  const { plan } = context;
  const head = [
    `pkg: ${value(verdict.matrix.name)}`,
    `session: ${value(verdict.session)}`,
    `clock: ${value(clockMark(verdict.clock, plan))}`,
    'Unit tok/s better=higher assume=nothing',
  ];
  const blocks = armSamplesOf(verdict, context).map(({ cell, arm, launches }) => {
    const phase = cell.phase === 'prefill' ? 'Prefill' : 'Decode';
    const generated = cell.phase === 'prefill' ? '' : `/generated=${cell.generatedTokens}`;
    const name = `Benchmark${phase}/cell=${part(cell.id)}/tokens=${cell.promptTokens}/chunk=${cell.chunk}${generated}`;
    const lines = launches.map((samples) => {
      const rate = median([...samples]);
      const ns = (1e9 * timedTokens(cell)) / rate;
      return `${name}\t${samples.length}\t${Math.round(ns)} ns/op\t${rate} tok/s`;
    });
    return [`arm: ${value(arm)}`, ...lines].join('\n');
  });
  return `${[head.join('\n'), ...blocks].join('\n\n')}\n`;
}
