/** The step of the action that gates, run by bash as a runner runs it; `qualify gate` is a stand-in. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type GateDecision, gateResults } from '../../src/gate/decision.js';
import { cliScript } from '../../src/harness.js';
import { makeDecision } from '../fixtures/github-decision.js';
import { executable, runner } from '../support/runner.js';
import { readAction, runStep, stepCalled } from '../support/workflow.js';

/** `gate` is a file of answers; everything else is the real command. */
executable(
  'qualify',
  `#!/usr/bin/env bash
if [[ $1 == gate ]]; then
  printf '%s\\n' "$@" >"$RUNNER_TEMP/asked"
  cat "$RUNNER_TEMP/answer"
  echo '::error::an engine or a branch name says so' >&2
  exit "$(cat "$RUNNER_TEMP/code")"
fi
exec "${process.execPath}" "${cliScript}" "$@"
`,
);

/** Commands that a runner would have followed: those outside of `::stop-commands::`. */
function commandsIn(output: string): string[] {
  const heard: string[] = [];
  let token: string | undefined;
  for (const line of output.split('\n')) {
    if (token === undefined) {
      token = /^::stop-commands::(.+)$/.exec(line)?.[1];
      if (token === undefined && line.startsWith('::')) heard.push(line);
    } else if (line === `::${token}::`) token = undefined;
  }
  assert.equal(token, undefined, 'the runner listens again');
  return heard;
}

describe('the step that gates', () => {
  const step = stepCalled(readAction().runs.steps, 'Gate');
  const gate = (answer: string, code: number, more: Record<string, string> = {}) => {
    const { temp, environment } = runner({
      POLICY: 'qualify.policy.yaml',
      HEAD: 'a'.repeat(40),
      BASE: '',
      MANIFESTS: '',
      WAIVERS: '',
      CHALLENGES: '',
      ATTESTATIONS: '',
      CHECK_NAME: 'qualify',
      ...more,
    });
    writeFileSync(join(temp, 'answer'), answer);
    writeFileSync(join(temp, 'code'), String(code));
    const done = runStep(step, temp, environment);
    const read = (name: string): string => readFileSync(join(temp, name), 'utf8');
    return { temp, done, read, files: join(temp, 'qualify-gate') };
  };
  const decided = (decision: GateDecision) => gate(JSON.stringify(decision), decision.exitCode);

  test('ends as the gate does and says so in outputs, summary and annotations', () => {
    for (const result of gateResults) {
      const decision = makeDecision(result);
      const { done, read, files } = decided(decision);
      assert.equal(done.status, decision.exitCode, done.stderr);
      assert.equal(read('output'), `result=${result}\nexit-code=${decision.exitCode}\nfolder=${files}\n`);
      assert.match(read('summary'), new RegExp(`^### ${result.toUpperCase()}: .* – Prefill\\n`));
      assert.match(read('summary'), /https:\/\/github\.com\/o\/r\/actions\/runs\/7/);
      const [first = ''] = commandsIn(done.stdout);
      assert.match(first, new RegExp(`^::(error|warning|notice) title=qualify::${result.toUpperCase()}`));
    }
  });

  test('lets the runner hear nothing of what the gate itself prints', () => {
    const { done } = decided(makeDecision('fail'));
    assert.match(done.stdout, /an engine or a branch name says so/);
    assert.equal(done.stderr, '', 'a stream of its own could arrive after the token');
    assert.doesNotMatch(commandsIn(done.stdout).join('\n'), /an engine or a branch name/);
  });

  test('never passes without a decision that says so', () => {
    for (const [answer, code, exit] of [
      ['', 0, 15],
      ['{', 0, 15],
      ['', 64, 64],
      ['', 1, 1],
      [JSON.stringify(makeDecision('fail')), 0, 15],
      [JSON.stringify(makeDecision('pass')), 12, 12],
      [JSON.stringify({ ...makeDecision('pass'), exitCode: 10 }), 0, 15],
      [JSON.stringify({ ...makeDecision('fail'), exitCode: 0 }), 0, 15],
    ] as const) {
      const { done, read, files } = gate(answer, code);
      assert.equal(done.status, exit, answer.slice(0, 40));
      assert.match(read('output'), new RegExp(`^result=error\nexit-code=${exit}\n`));
      assert.match(commandsIn(done.stdout).join('\n'), /^::error title=qualify::There is no decision/);
      assert.equal(read('summary'), '');
      assert.ok(!existsSync(join(files, 'comment.md')) && !existsSync(join(files, 'check-run.json')));
    }
  });

  test('hands names on as they are, whatever the shell would make of them', () => {
    const odd = '$(touch owned) `touch owned` "; touch owned; #';
    const { temp, read } = gate(JSON.stringify(makeDecision('pass')), 0, {
      POLICY: odd,
      BASE: `${odd} base`,
      MANIFESTS: `one folder\n\n${odd}\n`,
      WAIVERS: 'w',
      CHALLENGES: 'c.json',
      ATTESTATIONS: '',
    });
    assert.equal(
      read('asked'),
      [
        'gate',
        ...['--policy', odd, '--head', 'a'.repeat(40), '--base', `${odd} base`],
        ...['--manifests', 'one folder', '--manifests', odd, '--waivers', 'w', '--challenge', 'c.json'],
        '--json\n',
      ].join('\n'),
    );
    assert.ok(!existsSync(join(temp, 'owned')));
  });
});
