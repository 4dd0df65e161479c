/** Replays a simulated session: each launch was told what the plan says, and every time that it claims follows from that. */
import { isDeepStrictEqual } from 'node:util';
import type { Answer, Entry, EntryOf } from '../journal/entries.js';
import { findPrompt } from '../plan/find-prompt.js';
import { generatedTokens } from '../plan/generated-tokens.js';
import { promptTokens } from '../plan/prompts.js';
import type { Plan } from '../plan/schema.js';
import { SimulatedEngine } from '../simulation/engine.js';
import { simulatedLaunch } from '../simulation/rate.js';
import { invalidLine } from './invalid-line.js';

/** Of logarithms and cosines in other versions of Node; times themselves are rounded to the nanosecond. */
const tolerance = 1e-9;
const nanosecond = 1e-6;

const near = (a: number | null, b: number): boolean =>
  a !== null && Math.abs(a - b) <= nanosecond + tolerance * Math.abs(b);

/** Throws a `QualifyError` (exit `invalid`) at the first launch or time that the plan's noise does not make. */
export function replaySimulation(plan: Plan, entries: readonly Entry[]): void {
  if (plan.simulation === undefined) return;
  let engine: SimulatedEngine | undefined;
  const check = (entry: EntryOf<'sample'> | EntryOf<'control'>, answer: Answer): void => {
    const prompt = findPrompt(plan, entry.prompt);
    const cell = plan.cells.find(({ id }) => id === prompt?.cell);
    if (prompt === undefined || cell === undefined || engine === undefined)
      throw invalidLine(entry, 'is of no launch, or of no prompt of the plan');
    const made = engine.answer({
      tokens: [...promptTokens(plan, prompt.id, entry.launch)],
      generatedTokens: generatedTokens(plan, cell, prompt.kind),
      chunk: cell.chunk,
      reuseCache: entry.kind === 'control',
    });
    const times = near(answer.promptMs, made.promptMs) && near(answer.predictedMs, made.predictedMs);
    if (!times || !isDeepStrictEqual(answer.tokens, made.tokens))
      throw invalidLine(entry, 'has times or outputs that the noise of the plan does not make');
  };
  for (const entry of entries) {
    if (entry.kind === 'launch') {
      const told = simulatedLaunch(plan, entry);
      if (entry.argv[entry.argv.indexOf('--simulation') + 1] !== JSON.stringify(told))
        throw invalidLine(entry, `launches ${entry.arm} with another noise than the plan has`);
      engine = new SimulatedEngine(told, plan.vocabulary);
    }
    if (entry.kind === 'control') for (const answer of [entry.first, entry.second]) check(entry, answer);
    if (entry.kind === 'sample') check(entry, entry.answer);
  }
}
