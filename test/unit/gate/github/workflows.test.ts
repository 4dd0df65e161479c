/** What keeps a stranger's change away from tokens and secrets is the shape of the workflows; this holds it. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { harnessFolder } from '../../../../src/harness.js';
import { fileText, parseWorkflow, readAction } from '../../../support/workflow.js';
import { dangersOf, EXPRESSION, expression, PINNED, stepsOf } from '../../../support/workflow-dangers.js';

const EXAMPLES = 'docs/examples/github';
const paths = [EXAMPLES, '.github/workflows'].flatMap((folder) =>
  readdirSync(join(harnessFolder, folder)).map((name) => join(folder, name)),
);

describe('the workflows', () => {
  test('are safe in shape', () => {
    assert.equal(paths.length, 4);
    assert.deepEqual(
      paths.flatMap((path) => dangersOf(path, fileText(path))),
      [],
    );
  });

  for (const [name, from, to] of [
    ['run', 'workflow_call:', 'pull_request_target:'],
    ['run', '    permissions: {}', '    permissions: {contents: read}'],
    ['run', 'persist-credentials: false', 'persist-credentials: true'],
    ['run', 'actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a', 'actions/upload-artifact@v7'],
    [
      'run',
      'git fetch --no-tags origin "$HEAD"',
      `git fetch --no-tags origin "${expression('inputs.head')}"`,
    ],
    ['report', `ref: ${expression('inputs.tip')}`, `ref: ${expression('inputs.head')}`],
    ['request', 'permissions: {}\ndefaults', 'permissions: {contents: write}\ndefaults'],
    [
      'request',
      `ACTOR: ${expression('github.event.comment.user.login')}`,
      `ACTOR: ${expression('secrets.TOKEN')}`,
    ],
    [
      'request',
      'run: |\n          refuse() {',
      `run: |\n          echo ${expression('github.event.comment.body')}\n          refuse() {`,
    ],
  ] as const)
    test(`would not be with "${to.slice(0, 60).replace('\n', ' ')}" in qualify-${name}`, () => {
      const path = join(EXAMPLES, `qualify-${name}.yml`);
      const text = fileText(path);
      assert.ok(text.includes(from), from);
      assert.notDeepEqual(dangersOf(path, text.replace(from, to)), []);
    });

  test('call each other with every input, and use outputs that there are', () => {
    const request = parseWorkflow(fileText(join(EXAMPLES, 'qualify-request.yml')));
    for (const name of ['run', 'report']) {
      const text = fileText(join(EXAMPLES, `qualify-${name}.yml`));
      const called = parseWorkflow(text).on.workflow_call as {
        inputs: Record<string, { required: boolean }>;
      };
      assert.deepEqual(
        Object.keys(request.jobs[name]?.with ?? {}).toSorted(),
        Object.keys(called.inputs).toSorted(),
      );
      assert.ok(Object.values(called.inputs).every(({ required }) => required));
      assert.equal(request.jobs[name]?.uses, `./.github/workflows/qualify-${name}.yml`);
      for (const [, input = ''] of text.matchAll(/\binputs\.([a-z]+)/g))
        assert.ok(input in called.inputs, input);
    }
  });

  test('give the job that reports what the workflow of it asks for, and the one that runs nothing', () => {
    const request = parseWorkflow(fileText(join(EXAMPLES, 'qualify-request.yml')));
    const report = parseWorkflow(fileText(join(EXAMPLES, 'qualify-report.yml')));
    assert.deepEqual(request.jobs.report?.permissions, report.jobs.report?.permissions);
    assert.deepEqual(request.jobs.run?.permissions, {});
    assert.deepEqual(request.jobs.run?.needs, 'request');
  });

  test('name no trust policy of their own', () => {
    for (const path of paths) assert.doesNotMatch(fileText(path), /qualify\.trust\.json/, path);
  });

  test('use inputs of the action that there are', () => {
    const { inputs } = readAction();
    const used = paths
      .flatMap((path) => stepsOf(parseWorkflow(fileText(path))))
      .filter(({ uses }) => uses === './');
    assert.equal(used.length, 3);
    for (const step of used) for (const name of Object.keys(step.with)) assert.ok(name in inputs, name);
  });
});

test('the action has every list of files and folders that a gate takes', () => {
  const gate = fileText('src/cli/gate.ts');
  const { inputs, runs } = readAction();
  const script = runs.steps.find(({ id }) => id === 'gate')?.run ?? '';
  const lists = [...gate.matchAll(/'(--[a-z]+) <(?:file|folder)\.\.\.>'/g)].map(([, flag = '']) => flag);
  assert.deepEqual(lists.toSorted(), ['--attestations', '--challenge', '--manifests', '--waivers']);
  for (const flag of lists) {
    const [, variable = ''] = new RegExp(`^ *add ${flag} "\\$([A-Z]+)"$`, 'm').exec(script) ?? [];
    assert.ok(variable.toLowerCase() in inputs, flag);
  }
});

test('the action takes nothing from outside into a script, is pinned, and shares no cache', () => {
  const { runs, outputs } = readAction();
  for (const { uses, run, with: given } of runs.steps) {
    if (uses !== undefined) assert.match(uses, PINNED);
    if (uses?.startsWith('actions/setup-node@')) assert.equal(given['package-manager-cache'], false);
    assert.ok(!run?.includes(EXPRESSION));
  }
  const gate = runs.steps.find(({ id }) => id === 'gate')?.run ?? '';
  for (const { value } of Object.values(outputs)) {
    const [, name = ''] = /^\$\{\{ steps\.gate\.outputs\.([a-z-]+) \}\}$/.exec(value) ?? [];
    assert.ok(gate.includes(`${name}=`) || gate.includes('outputs.txt'), name);
  }
});
