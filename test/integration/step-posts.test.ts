/** The steps of the report's workflow that post, run by bash as a runner runs them; `gh` is a stand-in. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { runner, standInForGh } from '../support/runner.js';
import { fileText, parseWorkflow, runStep, stepCalled } from '../support/workflow.js';

standInForGh();

/** Comments as the API lists them, cut down to what matters. */
const comment = (id: number, login: string, type: string, body: string) => ({
  id,
  user: { login, type },
  body,
});

describe('the steps that post', () => {
  const { steps = [] } = parseWorkflow(fileText('docs/examples/github/qualify-report.yml')).jobs.report ?? {};
  const marker = '<!-- qualify:qualify.policy.yaml -->';
  const post = (name: string, comments: unknown[]) => {
    const { temp, environment } = runner({ GH_TOKEN: 'none', NUMBER: '12' });
    mkdirSync(join(temp, 'qualify-gate'));
    mkdirSync(join(temp, 'api'));
    writeFileSync(join(temp, 'qualify-gate/comment.md'), `${marker}\n\nnew\n`);
    writeFileSync(join(temp, 'qualify-gate/check-run.json'), '{"name":"qualify"}');
    writeFileSync(join(temp, 'api/repos_o_r_issues_12_comments.json'), JSON.stringify(comments));
    const done = runStep(stepCalled(steps, name), temp, environment);
    const sent = join(temp, 'sent');
    return {
      done,
      sent: existsSync(sent) ? readFileSync(sent, 'utf8').trimEnd().split('\n') : [],
      body: () => readFileSync(join(temp, 'body'), 'utf8'),
      temp,
      environment,
    };
  };

  test('replace the comment of this policy by this account, and no other', () => {
    const others = [
      comment(1, 'stranger', 'User', `${marker}\n\nPASS`),
      comment(2, 'github-actions[bot]', 'Bot', 'of another workflow'),
      comment(3, 'github-actions[bot]', 'Bot', '<!-- qualify:other.yaml -->\n\nPASS'),
      comment(4, 'github-actions[bot]', 'Bot', `quoting ${marker}`),
      comment(5, 'github-actions', 'User', `${marker}\n`),
    ];
    const fresh = post('Comment', others);
    assert.equal(fresh.done.status, 0, fresh.done.stderr);
    assert.equal(fresh.sent.at(-1), 'body POST repos/o/r/issues/12/comments');
    assert.equal(fresh.body(), `${marker}\n\nnew\n`);
    const mine = [6, 8].map((id) => comment(id, 'github-actions[bot]', 'Bot', `${marker}\n\nold`));
    const known = post('Comment', [...others, ...mine]);
    assert.equal(known.sent.at(-1), 'body PATCH repos/o/r/issues/comments/6');
  });

  test('fail, and post nothing twice, when the list of comments cannot be read', () => {
    const { temp, environment } = post('Comment', []);
    rmSync(join(temp, 'api'), { recursive: true });
    rmSync(join(temp, 'sent'));
    const done = runStep(stepCalled(steps, 'Comment'), temp, environment);
    assert.notEqual(done.status, 0);
    assert.deepEqual(readFileSync(join(temp, 'sent'), 'utf8'), 'GET repos/o/r/issues/12/comments\n');
  });

  test('send the check run as it was written', () => {
    const { sent, body, done } = post('Check run', []);
    assert.equal(done.status, 0, done.stderr);
    assert.deepEqual(sent, ['POST repos/o/r/check-runs']);
    assert.equal(body(), '{"name":"qualify"}');
  });
});
