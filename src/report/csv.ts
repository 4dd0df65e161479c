/** The retained samples as CSV (RFC 4180), one a line. */
import type { Verdict } from '../verdict/schema.js';
import type { ReportContext } from './context.js';
import { csvField } from './escape.js';
import { clockMark } from './simulated.js';

const heading = [
  'session',
  'cell',
  'phase',
  'prompt_tokens',
  'chunk',
  'arm',
  'round',
  'sample',
  'tok_per_s',
  'clock',
  'verdict',
];

/** Samples in order of execution; rounds and samples count from 1. Refused cells have no line: nothing unproved is told. */
export function renderCsv(verdict: Verdict, context: ReportContext): string {
  const clock = clockMark(verdict.clock, context.plan);
  const perLaunch = context.plan.protocol.samples;
  const lines = verdict.cells.flatMap((cell) =>
    Object.entries(cell.arms).flatMap(([arm, summary]) =>
      summary.samples.map((tokPerSec, index) => [
        verdict.session,
        cell.id,
        cell.phase,
        cell.promptTokens,
        cell.chunk,
        arm,
        Math.floor(index / perLaunch) + 1,
        (index % perLaunch) + 1,
        tokPerSec,
        clock,
        cell.verdict,
      ]),
    ),
  );
  return [heading, ...lines].map((line) => `${line.map(csvField).join(',')}\r\n`).join('');
}
