/** The scripts of the action and of the workflows, run by bash as a runner runs them; `gate`, `gh` and git's remote are stand-ins. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { type GateDecision, gateResults } from '../../src/gate/decision.js';
import { cliScript } from '../../src/harness.js';
import { makeDecision } from '../fixtures/github-decision.js';
import { fileText, parseWorkflow, readAction, runStep, stepCalled } from '../support/workflow.js';

const folder = mkdtempSync(join(tmpdir(), 'qualify-action-'));
after(() => rmSync(folder, { recursive: true }));
const bin = join(folder, 'bin');
mkdirSync(bin);

function executable(name: string, text: string): void {
  writeFileSync(join(bin, name), text);
  chmodSync(join(bin, name), 0o755);
}

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

let runs = 0;
/** A runner's folder and variables of its own. */
function runner(more: Record<string, string> = {}): { temp: string; environment: Record<string, string> } {
  runs += 1;
  const temp = join(folder, `runner-${runs}`);
  mkdirSync(temp);
  const files = { GITHUB_OUTPUT: 'output', GITHUB_STEP_SUMMARY: 'summary', GITHUB_PATH: 'path' };
  const environment: Record<string, string> = {
    PATH: [bin, process.env.PATH].join(delimiter),
    HOME: temp,
    RUNNER_TEMP: temp,
    GITHUB_SERVER_URL: 'https://github.com',
    GITHUB_REPOSITORY: 'o/r',
    GITHUB_RUN_ID: '7',
  };
  for (const [name, file] of Object.entries(files)) {
    environment[name] = join(temp, file);
    writeFileSync(join(temp, file), '');
  }
  return { temp, environment: { ...environment, ...more } };
}

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

/** Answers `gh api` from files, with real jq for `--jq`, and keeps what is sent. */
executable(
  'gh',
  `#!/usr/bin/env bash
[[ $1 == api ]] || exit 9
shift
method=GET filter= url=
while [[ $# -gt 0 ]]; do
  case $1 in
    --method) method=$2; shift ;;
    --jq) filter=$2; shift ;;
    --field) printf '%s' "\${2%%=@*} " >>"$RUNNER_TEMP/sent"; cp "\${2#*=@}" "$RUNNER_TEMP/body"; shift ;;
    --input) cp "$2" "$RUNNER_TEMP/body"; shift ;;
    --paginate | --silent) ;;
    *) url=$1 ;;
  esac
  shift
done
printf '%s %s\\n' "$method" "$url" >>"$RUNNER_TEMP/sent"
[[ $url != */zip ]] || exec cat "$RUNNER_TEMP/api/$(printf '%s' "$url" | tr / _)"
[[ $method != GET ]] || jq -r "$filter" "$RUNNER_TEMP/api/$(printf '%s' "$url" | tr / _).json"
`,
);

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
