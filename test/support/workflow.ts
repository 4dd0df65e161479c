/** Workflows and the action as data, and their scripts run as a runner would. */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { harnessFolder } from '../../src/harness.js';

const stepSchema = z.object({
  name: z.string().optional(),
  id: z.string().optional(),
  if: z.string().optional(),
  uses: z.string().optional(),
  run: z.string().optional(),
  env: z.record(z.string(), z.string()).default({}),
  with: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
});
export type Step = z.infer<typeof stepSchema>;

const permissionsSchema = z.record(z.string(), z.enum(['read', 'write', 'none']));

const jobSchema = z.object({
  'runs-on': z.union([z.string(), z.array(z.string())]).optional(),
  permissions: permissionsSchema.optional(),
  environment: z.string().optional(),
  needs: z.union([z.string(), z.array(z.string())]).optional(),
  if: z.string().optional(),
  uses: z.string().optional(),
  with: z.record(z.string(), z.string()).default({}),
  secrets: z.unknown().optional(),
  steps: z.array(stepSchema).default([]),
});
export type Job = z.infer<typeof jobSchema>;

const workflowSchema = z.object({
  on: z.record(z.string(), z.unknown()),
  permissions: permissionsSchema.optional(),
  jobs: z.record(z.string(), jobSchema),
});
export type Workflow = z.infer<typeof workflowSchema>;

const actionSchema = z.object({
  inputs: z.record(z.string(), z.object({ default: z.string().optional() })),
  outputs: z.record(z.string(), z.object({ value: z.string() })),
  runs: z.object({ using: z.literal('composite'), steps: z.array(stepSchema) }),
});

export const fileText = (path: string): string => readFileSync(join(harnessFolder, path), 'utf8');
export const parseWorkflow = (text: string): Workflow => workflowSchema.parse(parse(text));
export const readAction = (): z.infer<typeof actionSchema> =>
  actionSchema.parse(parse(fileText('action.yml')));

/** The step of that name. */
export function stepCalled(steps: readonly Step[], name: string): Step {
  const found = steps.find((step) => step.name === name);
  if (found === undefined) throw new Error(`there is no step "${name}"`);
  return found;
}

/** Runs a step's script with the options of `shell: bash`. What its `env` holds must be in `environment`. */
export function runStep(
  step: Step,
  cwd: string,
  environment: Record<string, string>,
): SpawnSyncReturns<string> {
  for (const name of Object.keys(step.env))
    if (environment[name] === undefined) throw new Error(`the step wants ${name}`);
  return spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step.run ?? 'false'], {
    cwd,
    env: environment,
    encoding: 'utf8',
  });
}
