/** What is wrong with a workflow, for the tests that hold every one of them safe in shape. */
import { type Job, parseWorkflow, type Step, type Workflow } from './workflow.js';

export const PINNED = /^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/;
/** Of the checked out base, which is not the change. */
const LOCAL = /^\.\/(\.github\/workflows\/qualify-(run|report)\.yml)?$/;

export const stepsOf = (workflow: Workflow): Step[] =>
  Object.values(workflow.jobs).flatMap(({ steps }) => steps);
const usesOf = (workflow: Workflow): string[] =>
  [...Object.values(workflow.jobs), ...stepsOf(workflow)].flatMap(({ uses }) => uses ?? []);

/** How an expression begins. */
export const EXPRESSION = '$'.concat('{{');
export const expression = (text: string): string => `${EXPRESSION} ${text} }}`;

/** Everything that is wrong with one workflow; empty when it is safe. */
export function dangersOf(path: string, text: string): string[] {
  const workflow = parseWorkflow(text);
  const dangers: string[] = [];
  const say = (danger: string): void => void dangers.push(`${path}: ${danger}`);
  if ('pull_request_target' in workflow.on) say('runs for strangers with the rights of the base');
  if ('workflow_run' in workflow.on) say('takes over what another workflow left');
  if (workflow.permissions === undefined) say('leaves permissions to the repository');
  for (const [scope, right] of Object.entries(workflow.permissions ?? {}))
    if (right === 'write') say(`gives ${scope}: write to every job`);
  for (const uses of usesOf(workflow))
    if (!PINNED.test(uses) && !LOCAL.test(uses)) say(`"${uses}" is not pinned`);
  if (/\bsecrets\b/.test(text.replaceAll(/#.*/g, ''))) say('passes on secrets');
  for (const step of stepsOf(workflow)) {
    if (step.run?.includes(EXPRESSION)) say(`"${step.name}" has an expression in its script`);
    if (step.uses?.startsWith('actions/checkout@') && step.with['persist-credentials'] !== false)
      say('a checkout leaves its token on the disk');
    if (step.uses?.startsWith('actions/cache')) say('shares a cache');
  }
  for (const [name, job] of Object.entries(workflow.jobs)) {
    if (!runsCodeOfChange(job)) continue;
    const rights = Object.entries(job.permissions ?? workflow.permissions ?? { everything: 'write' });
    // CI of pull requests may read: GitHub gives those of forks nothing else.
    const allowed = 'pull_request' in workflow.on ? ['read'] : [];
    for (const [scope, right] of rights)
      if (!allowed.includes(right)) say(`${name} runs code of the change and has ${scope}: ${right}`);
    if (
      Object.keys(job.permissions ?? workflow.permissions ?? {}).length > 0 &&
      job.environment !== undefined
    )
      say(`${name} runs code of the change with permissions in an environment`);
  }
  return dangers;
}

/** A job does, when it measures a change, or checks out what a pull request brings. */
const runsCodeOfChange = ({ steps }: Job): boolean =>
  steps.some(
    ({ run, uses, with: given }) =>
      /\bqualify (pr|run|compare)\b|npm (ci|test)|\.ci\/run/.test(run ?? '') ||
      (uses?.startsWith('actions/checkout@') && /head/.test(String(given.ref ?? ''))),
  );
