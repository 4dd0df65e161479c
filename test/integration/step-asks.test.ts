/** The steps of workflows that decide who may ask and gather what was asked, run by bash; `gh` and the remote of git are stand-ins. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { runner, standInForGh } from '../support/runner.js';
import { fileText, parseWorkflow, runStep, stepCalled } from '../support/workflow.js';

standInForGh();

describe('the step that gathers what was asked and answered', () => {
  const { steps = [] } = parseWorkflow(fileText('docs/examples/github/qualify-report.yml')).jobs.report ?? {};
  const head = 'a'.repeat(40);
  const gather = (artifacts: [id: number, run: number, name: string, expired?: boolean][]) => {
    const { temp, environment } = runner({ GH_TOKEN: 'none', HEAD: head });
    for (const name of ['api', 'asked', 'offered']) mkdirSync(join(temp, name));
    writeFileSync(join(temp, 'asked/challenge.json'), 'of now');
    const api = (url: string): string => join(temp, 'api', url.replaceAll('/', '_'));
    const list = artifacts.map(([id, run, name, expired = false]) => ({
      ...{ id, name, expired, workflow_run: { id: run } },
    }));
    const listed = api('repos/o/r/actions/artifacts?per_page=100.json');
    writeFileSync(listed, JSON.stringify({ artifacts: list }));
    for (const [id, run] of artifacts) {
      writeFileSync(join(temp, 'qualification.tar'), `answer ${id}`);
      writeFileSync(join(temp, 'challenge.json'), `question ${id}`);
      const zip = api(`repos/o/r/actions/artifacts/${id}/zip`);
      const made = spawnSync('zip', ['-q', zip, 'qualification.tar', 'challenge.json'], { cwd: temp });
      assert.equal(made.status, 0, 'zip');
      renameSync(`${zip}.zip`, zip);
      // Runs from 90 on are of a workflow that a change from a fork brought along.
      const path = `.github/workflows/qualify-request.yml${run === 5 ? '@refs/heads/main' : ''}`;
      writeFileSync(
        api(`repos/o/r/actions/runs/${run}.json`),
        JSON.stringify({ event: run < 90 ? 'issue_comment' : 'pull_request', path }),
      );
    }
    const step = stepCalled(steps, 'Every question and answer for this head');
    const done = runStep(step, temp, environment);
    const read = (name: string): string[] =>
      readdirSync(join(temp, name))
        .toSorted()
        .map((file) => `${file}: ${readFileSync(join(temp, name, file), 'utf8')}`);
    return { done, read, temp, output: readFileSync(join(temp, 'output'), 'utf8'), environment, step };
  };

  test('finds those of earlier runs, of this head and of this workflow alone', () => {
    const { done, read, temp, output } = gather([
      [1, 5, `qualify-${head}-answer-5-1`],
      [2, 5, `qualify-${head}-answer-5-2`],
      [3, 5, `qualify-${head}-asked-5`],
      [4, 7, `qualify-${head}-answer-7-1`],
      [5, 7, `qualify-${head}-asked-7`],
      [6, 6, `qualify-${'b'.repeat(40)}-answer-6-1`],
      [7, 6, `qualify-${head}-answer-6-1`, true],
      [8, 91, `qualify-${head}-asked-91`],
      [9, 92, `qualify-${head}-answer-92-1`],
      // A measuring job may put any name into its own run, and this is the question of another.
      [10, 8, `qualify-${head}-asked-5`],
    ]);
    assert.equal(done.status, 0, done.stderr);
    assert.deepEqual(read('offered'), ['1.tar: answer 1', '2.tar: answer 2', '4.tar: answer 4']);
    assert.deepEqual(read('asked'), ['5.json: question 3', 'challenge.json: of now']);
    const files = ['5.json', 'challenge.json'].map((name) => join(temp, 'asked', name)).join('\n');
    assert.equal(output, `asked<<qualify-end-of-list\n${files}\nqualify-end-of-list\n`);
  });

  test('fails when an answer cannot be fetched, and offers what is no answer', () => {
    const { temp, environment, step } = gather([[1, 5, `qualify-${head}-answer-5-1`]]);
    const zip = join(temp, 'api', 'repos_o_r_actions_artifacts_1_zip');
    writeFileSync(zip, 'no zip');
    const bad = runStep(step, temp, environment);
    assert.deepEqual([bad.status, bad.stdout], [0, '::warning::1 holds no qualification.tar\n']);
    assert.equal(readFileSync(join(temp, 'offered/1.tar'), 'utf8'), '');
    rmSync(zip);
    assert.notEqual(runStep(step, temp, environment).status, 0);
  });

  test('has names that no second answer replaces, and no request ends another', () => {
    const upload = (file: string) =>
      Object.values(parseWorkflow(fileText(`docs/examples/github/${file}`)).jobs)
        .flatMap((job) => job.steps)
        .find(({ uses }) => uses?.startsWith('actions/upload-artifact@'))?.with ?? {};
    const answer = upload('qualify-run.yml');
    for (const part of ['inputs.head', 'github.run_id', 'github.run_attempt'])
      assert.ok(String(answer.name).includes(part), part);
    assert.ok(!('overwrite' in answer));
    assert.equal(upload('qualify-report.yml').overwrite, true);
    const request = fileText('docs/examples/github/qualify-request.yml');
    assert.match(request, /cancel-in-progress: false/);
  });
});

describe('the step that decides who may ask', () => {
  const { steps = [] } =
    parseWorkflow(fileText('docs/examples/github/qualify-request.yml')).jobs.request ?? {};
  const head = 'a'.repeat(40);
  const ask = (
    more: Record<string, string> = {},
    { permission = 'write', pull = {} }: { permission?: string; pull?: Record<string, unknown> } = {},
  ) => {
    const { temp, environment } = runner({
      GITHUB_EVENT_NAME: 'issue_comment',
      GH_TOKEN: 'none',
      DEFAULT_BRANCH: 'main',
      ACTOR: 'Some-Body1',
      COMMENT: `/qualify ${head}`,
      NUMBER: '12',
      GROUP_HEAD: '',
      GROUP_BASE: '',
      GITHUB_RUN_ATTEMPT: '1',
      ...more,
    });
    mkdirSync(join(temp, 'api'));
    const answers = {
      'repos_o_r_collaborators_Some-Body1_permission': { permission },
      'repos_o_r_collaborators_x_.._Some-Body1_permission': { permission },
      repos_o_r_pulls_12: { head: { sha: head }, state: 'open', base: { ref: 'main' }, ...pull },
    };
    for (const [name, value] of Object.entries(answers))
      writeFileSync(join(temp, 'api', `${name}.json`), JSON.stringify(value));
    const done = runStep(stepCalled(steps, 'Who asks, and for which commit'), temp, environment);
    return { done, temp, output: readFileSync(join(temp, 'output'), 'utf8') };
  };

  test('takes a request by somebody who may write, for the head as it is', () => {
    for (const permission of ['write', 'admin']) {
      const { done, output } = ask({}, { permission });
      assert.equal(done.status, 0, done.stdout);
      assert.equal(output, `head=${head}\nnumber=12\n`);
    }
    assert.equal(ask({ COMMENT: `/qualify  ${head}\r\n` }).done.status, 0);
  });

  test('refuses everybody and everything else, and hands on nothing', () => {
    const other = 'b'.repeat(40);
    for (const [name, refused] of [
      ['asked again in its place', ask({ GITHUB_RUN_ATTEMPT: '2' })],
      ['reads only', ask({}, { permission: 'read' })],
      ['none', ask({}, { permission: 'none' })],
      ['account', ask({ ACTOR: 'x/../Some-Body1' })],
      ['short', ask({ COMMENT: `/qualify ${head.slice(0, 12)}` })],
      ['other head', ask({ COMMENT: `/qualify ${other}` })],
      ['pushed meanwhile', ask({}, { pull: { head: { sha: other } } })],
      ['more', ask({ COMMENT: `/qualify ${head}\nx=$(touch owned)` })],
      ['shell', ask({ COMMENT: `/qualify ${head} && touch owned` })],
      ['closed', ask({}, { pull: { state: 'closed' } })],
      ['other base', ask({}, { pull: { base: { ref: 'weak' } } })],
      ['no such pull request', ask({ NUMBER: '13' })],
      ['no such account', ask({ ACTOR: 'Nobody' })],
    ] as const) {
      assert.notEqual(refused.done.status, 0, name);
      assert.equal(refused.output, '', name);
      assert.ok(!existsSync(join(refused.temp, 'owned')), name);
    }
  });

  test('takes a group of the merge queue of the default branch alone', () => {
    const group = { GITHUB_EVENT_NAME: 'merge_group', GROUP_HEAD: head, NUMBER: '', COMMENT: '', ACTOR: '' };
    assert.equal(ask({ ...group, GROUP_BASE: 'refs/heads/main' }).output, `head=${head}\nnumber=\n`);
    assert.equal(ask({ ...group, GROUP_BASE: 'refs/heads/weak' }).output, '');
  });
});
