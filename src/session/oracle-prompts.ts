/** The prompts that are graded: those of a matrix that parity compares, or a file of the user's. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { tokenize } from '../engine/tokenizer.js';
import { QualifyError } from '../errors.js';
import { conform } from '../faults.js';
import { generatedTokens } from '../plan/generated-tokens.js';
import { promptTokens } from '../plan/prompts.js';
import type { Plan, Prompt } from '../plan/schema.js';

/** A request whose output is graded. */
export interface AskedPrompt {
  id: string;
  tokens: readonly number[];
  chunk: number;
  generatedTokens: number;
  /** It generates at least as many tokens as an output must have. */
  long: boolean;
}

/** Prompts that are graded together, as a run compares them. */
export interface AskedCell {
  cell: string;
  required: boolean;
  prompts: AskedPrompt[];
}

/** The parity prompt of each cell and its first sample; all samples with `all`. Warm-ups and the control are not compared. */
export function promptsOfPlan(plan: Plan, all: boolean): AskedCell[] {
  const minimum = plan.protocol.minimumOutputTokens;
  const isGraded = ({ kind, index }: Prompt): boolean =>
    kind === 'parity' || (kind === 'sample' && (all || index === 0));
  return plan.cells.map((cell) => ({
    cell: cell.id,
    required: cell.required,
    prompts: plan.prompts
      .filter((prompt) => prompt.cell === cell.id && isGraded(prompt))
      .map((prompt) => {
        const asked = generatedTokens(plan, cell, prompt.kind);
        const tokens = [...promptTokens(plan, prompt.id)];
        return {
          id: prompt.id,
          tokens,
          chunk: cell.chunk,
          generatedTokens: asked,
          long: prompt.kind === 'parity' || asked >= minimum,
        };
      }),
  }));
}

const fileSchema = z
  .array(z.union([z.string().min(1), z.array(z.int().min(0)).min(1)]))
  .min(1)
  .max(1000);

const unreadable = (path: string, why: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_PROMPTS_FILE', `cannot read prompts:${why}`, {
    exit: 'usage',
    hint: 'the file holds a JSON array of texts and of arrays of token ids, or text with one prompt a line',
    where: path,
    cause,
  });

function readFile(path: string): z.infer<typeof fileSchema> {
  try {
    const text = readFileSync(path, 'utf8');
    const isJson = text.trimStart().startsWith('[');
    const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
    return conform(fileSchema, isJson ? JSON.parse(text) : lines, (faults) => unreadable(path, faults));
  } catch (error) {
    if (error instanceof QualifyError) throw error;
    throw unreadable(path, ` ${(error as Error).message}`, error);
  }
}

/**
 * The prompts of a file as one cell: a JSON array of texts and arrays of ids, else one text a line. Each generates as many tokens as
 * an output must have, with the chunk of the matrix's first cell.
 * @throws QualifyError `ERR_QUALIFY_PROMPTS_FILE` (exit 64)
 */
export function promptsOfFile(plan: Plan, path: string): AskedCell[] {
  const prompts = readFile(path).map((prompt, index): AskedPrompt => {
    const tokens = typeof prompt === 'string' ? tokenize(prompt) : prompt;
    const beyond = tokens.find((id) => id >= plan.vocabulary);
    if (beyond !== undefined) {
      throw unreadable(`${path}[${index}]`, ` id ${beyond} is beyond the vocabulary of ${plan.vocabulary}`);
    }
    return {
      id: `prompt-${index + 1}`,
      tokens,
      chunk: plan.cells[0]?.chunk ?? tokens.length,
      generatedTokens: plan.protocol.minimumOutputTokens,
      long: true,
    };
  });
  return [{ cell: 'file', required: true, prompts }];
}
