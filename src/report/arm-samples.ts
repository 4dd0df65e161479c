/** Retained samples by cell and arm, as the formats of other tools want them. What is refused has none: nothing unproved leaves. */
import type { ArmSummary, CellVerdict, Verdict } from '../verdict/schema.js';
import type { ReportContext } from './context.js';

export interface ArmSamples {
  cell: CellVerdict;
  arm: string;
  summary: ArmSummary;
  /** tok/s of the samples of one launch each, launches in order of execution. */
  launches: readonly (readonly number[])[];
}

/** Cells in the order of the matrix, arms in the order of the plan. */
export function armSamplesOf(verdict: Verdict, { plan }: ReportContext): ArmSamples[] {
  const perLaunch = plan.protocol.samples;
  return verdict.cells.flatMap((cell) =>
    plan.arms.flatMap(({ name }) => {
      const summary = cell.arms[name];
      if (summary === undefined) return [];
      const count = Math.ceil(summary.samples.length / perLaunch);
      const launches = Array.from({ length: count }, (_, launch) =>
        summary.samples.slice(launch * perLaunch, (launch + 1) * perLaunch),
      );
      return [{ cell, arm: name, summary, launches }];
    }),
  );
}

/** Tokens whose time a sample is: of the prompt, or those generated. */
export const timedTokens = (cell: CellVerdict): number =>
  cell.phase === 'prefill' ? cell.promptTokens : cell.generatedTokens;
