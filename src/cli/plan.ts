/** `qualify plan`: what a matrix would run, in what order, how long and with how much disk. Runs nothing. */
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { requirePeer } from '../engine/adapters/peer-package.js';
import { QualifyError } from '../errors.js';
import { loadMatrix } from '../matrix/load.js';
import { narrow } from '../matrix/narrow.js';
import { switchWarnings } from '../matrix/switch-names.js';
import { buildPlan, planDigest } from '../plan/build.js';
import { estimate } from '../plan/estimate.js';
import { seedOf } from '../plan/seed.js';
import { describePlan } from '../report/plan.js';
import { cellOption, wholeNumber } from './options.js';
import { answer, answerJson } from './output.js';

interface PlanFlags {
  seed?: string;
  rounds?: number;
  cell?: string[];
  json?: true;
}

const mostRounds = 96;

/** What a run would stop at, where an arm is the peer's and its package is not there. */
function missingPeer(engines: readonly string[]): string[] {
  if (!engines.includes('node-llama-cpp')) return [];
  try {
    requirePeer();
    return [];
  } catch (error) {
    if (!(error instanceof QualifyError)) throw error;
    return [[error.message, error.hint].join(' ')];
  }
}

function show(name: string, flags: PlanFlags): void {
  const { matrix, leftOut } = narrow(loadMatrix(name).matrix, flags.cell);
  const plan = buildPlan(matrix, {
    session: 'plan-only',
    leftOut,
    seed: seedOf(flags.seed ?? randomBytes(32).toString('hex')),
    ...(flags.rounds !== undefined && { rounds: flags.rounds }),
  });
  const cost = estimate(plan);
  const warnings = [
    ...switchWarnings(matrix.arms, matrix.design),
    ...missingPeer(plan.arms.map(({ engine }) => engine)),
  ];
  if (flags.json) answerJson({ planDigest: planDigest(plan), estimate: cost, warnings, plan });
  else answer(describePlan(plan, cost, warnings));
}

export function register(program: Command): void {
  program
    .command('plan')
    .description('what a matrix would run, in what order, how long, how much disk; runs nothing')
    .argument('<matrix>', 'a built-in matrix or a YAML file')
    .option('--rounds <n>', 'plan exactly so many rounds and one look', wholeNumber(1, mostRounds))
    .addOption(cellOption())
    .option('--seed <text>', 'seed of prompts and order (default: drawn at random, as in a run)')
    .option('--json', 'the whole plan as JSON')
    .action(show);
}
