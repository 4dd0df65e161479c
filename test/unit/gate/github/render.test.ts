import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { type GateDecision, gateDecisionSchema, gateResults } from '../../../../src/gate/decision.js';
import { LIMITS } from '../../../../src/gate/github/limits.js';
import { markerOf, renderGithub } from '../../../../src/gate/github/render.js';
import { conclusionOf } from '../../../../src/gate/github/words.js';
import {
  makeCell,
  makeDecision,
  makeRequirement,
  makeRun,
  makeWaiver,
} from '../../../fixtures/github-decision.js';

/** What the API takes, as its documentation has it. */
const checkRunSchema = z.strictObject({
  name: z.string().min(1),
  head_sha: z.string().regex(/^[0-9a-f]{40}$/),
  status: z.literal('completed'),
  conclusion: z.enum(['success', 'failure', 'neutral', 'action_required']),
  completed_at: z.iso.datetime(),
  details_url: z.url().optional(),
  output: z.strictObject({
    title: z.string().min(1),
    summary: z.string().max(65_535),
    annotations: z
      .array(
        z.strictObject({
          path: z.string().min(1),
          start_line: z.int(),
          end_line: z.int(),
          annotation_level: z.enum(['notice', 'warning', 'failure']),
          title: z.string().max(255),
          message: z.string().min(1).max(65_536),
        }),
      )
      .max(50),
  }),
});

const checkRunOf = (decision: GateDecision) =>
  checkRunSchema.parse(JSON.parse(renderGithub(decision)['check-run.json']));

const texts = (decision: GateDecision): string[] => {
  const files = renderGithub(decision);
  return [
    files['summary.md'],
    files['comment.md'],
    files['annotations.txt'],
    checkRunOf(decision).output.title,
  ];
};

describe('a decision on GitHub', () => {
  test('every result is named first, in capitals, in every output', () => {
    for (const result of gateResults) {
      const decision = gateDecisionSchema.parse(makeDecision(result));
      const word = result.toUpperCase();
      for (const text of texts(decision)) {
        assert.ok(text.includes(`${word}:`), `${result}: ${text.slice(0, 200)}`);
        for (const other of gateResults)
          if (other !== result && other !== 'pass')
            assert.doesNotMatch(text, new RegExp(`\\b${other.toUpperCase()}\\b`), `${result} says ${other}`);
        if (result !== 'pass') assert.doesNotMatch(text, /\bPASS\b/, result);
      }
    }
  });

  test('only a pass is a success, a waiver is neutral, and whatever blocks concludes as what GitHub blocks', () => {
    const blocking = ['failure', 'action_required'];
    for (const result of gateResults) {
      const decision = makeDecision(result);
      const { conclusion } = checkRunOf(decision);
      assert.equal(conclusion === 'success', result === 'pass', result);
      assert.equal(conclusion === 'neutral', result === 'waived', result);
      assert.equal(blocking.includes(conclusion), decision.exitCode !== 0, result);
      assert.equal(conclusion, conclusionOf[result]);
    }
  });

  test('a pass that contradicts its exit code or its requirements is none', () => {
    assert.equal(checkRunOf(makeDecision('pass')).conclusion, 'success');
    assert.equal(checkRunOf({ ...makeDecision('pass'), exitCode: 10 }).conclusion, 'failure');
    assert.equal(checkRunOf({ ...makeDecision('fail'), exitCode: 0 }).conclusion, 'failure');
    const hidden = { ...makeDecision('pass'), requirements: [makeRequirement([], 'missing')] };
    assert.equal(checkRunOf(hidden).conclusion, 'failure');
    assert.match(renderGithub(hidden)['comment.md'], /INVALID/);
    assert.equal(renderGithub(hidden)['outputs.txt'], 'result=invalid\nexit-code=16\n');
    assert.equal(renderGithub(makeDecision('fail'))['outputs.txt'], 'result=fail\nexit-code=10\n');
    assert.equal(renderGithub(makeDecision('waived'))['outputs.txt'], 'result=waived\nexit-code=0\n');
  });

  test('a contradiction is told by the fields that it is between, and no decision of a gate has one', () => {
    const cases: [Partial<GateDecision>, string][] = [
      [{ exitCode: 10 }, 'exitCode is 10, and result is pass'],
      [{ result: 'fail', exitCode: 0 }, 'result is fail, and requirements.0.result is pass'],
      [
        { requirements: [makeRequirement([], 'pass'), makeRequirement([], 'missing')] },
        'result is pass, and requirements.1.result is missing',
      ],
    ];
    for (const [change, fields] of cases) {
      const decision = { ...makeDecision('pass'), ...change };
      const [summary = '', comment = '', annotations = ''] = texts(decision);
      const said = `the decision contradicts itself: ${fields} (contradiction)`;
      for (const text of [summary, comment, checkRunOf(decision).output.summary])
        assert.ok(text.includes(`- why: ${said}\n`), text);
      assert.ok(annotations.split('\n')[0]?.endsWith(` ${said}`), annotations);
    }
    for (const result of gateResults)
      for (const text of texts(makeDecision(result))) assert.doesNotMatch(text, /contradict/, result);
  });

  test('of a mixed change the losing cell comes first, with both numbers', () => {
    const { 'comment.md': comment, 'annotations.txt': annotations } = renderGithub(makeDecision('fail'));
    const [lost = '', won = ''] = comment.split('\n').filter((line) => /^\| \*\*FAIL|^\| pass/.test(line));
    assert.match(lost, /FAIL.*2048-token prefill.*94\.59 → 85\.92 tok\/s.*-9\.17 %/);
    assert.match(won, /pass.*401-token prefill.*94\.59 → 178\.96 tok\/s.*\+89\.2 %/);
    assert.match(comment, /FAIL: slower than the budget allows \(1 of 2 protected cells\)/);
    assert.match(annotations, /^::error title=FAIL%3A prefill-short-pr on lab::2048-token.*-9\.17 %25/m);
    assert.doesNotMatch(annotations, /401-token/);
  });

  test('the worse result comes first, whatever the speed', () => {
    const cells = [
      makeCell('1024/512', 'waived', -20),
      makeCell('401/512', 'refused', null),
      makeCell('2048/512', 'inconclusive', 1),
    ];
    const { 'summary.md': summary } = renderGithub(
      makeDecision('refused', { requirements: [makeRequirement(cells, 'refused')] }),
    );
    const results = [...summary.matchAll(/^\| \*\*([A-Z]+)/gm)].map(([, word]) => word);
    assert.deepEqual(results, ['REFUSED', 'INCONCLUSIVE', 'WAIVED']);
  });

  test('a waiver says who, why and until when, above the table', () => {
    const { 'comment.md': comment, 'annotations.txt': annotations } = renderGithub(makeDecision('waived'));
    const line = comment.split('\n').find((text) => text.startsWith('- waived: ')) ?? '';
    assert.match(
      line,
      /^- waived: 2048\/2048 of prefill-short-pr, by `SHA256:m{43}` until 2026-12-14.*fixed in the next change/,
    );
    assert.match(comment, /^\*\*1 waiver in force\. What it covers did not pass\.\*\*$/m);
    assert.ok(comment.indexOf('- waived: ') < comment.indexOf('| Result'));
    assert.match(annotations, /^::warning title=WAIVED/m);
  });

  test('a waived row says in its annotation who waived it, until when and why', () => {
    const { 'annotations.txt': annotations } = renderGithub(makeDecision('waived'));
    const row = annotations.split('\n').find((line) => line.includes('title=WAIVED')) ?? '';
    assert.match(
      row,
      /-8\.17 %25; waived by SHA256:m{43} until 2026-12-14T00:00:00\.000Z: The long prompt is fixed in the next change\.$/,
    );
  });

  test('reasons stand apart from each other, and of those that are left out every code is told', () => {
    const codes = ['first', 'second', 'third', 'fourth', 'fifth', 'fifth'];
    const reasons = codes.map((code) => ({ code, message: `it is ${code}` }));
    const decision = makeDecision('missing', {
      reasons: reasons.slice(0, 2),
      requirements: [makeRequirement([], 'missing', { reasons })],
      evidence: [makeRun({ counts: false, reasons })],
      waivers: [makeWaiver({ applies: false, reasons })],
    });
    const three =
      'it is first (first); it is second (second); it is third (third); and 3 more: fourth, fifth';
    const { 'annotations.txt': annotations, 'summary.md': summary } = renderGithub(decision);
    const [result = '', ...others] = annotations.trimEnd().split('\n');
    assert.ok(
      result.endsWith(
        'MISSING: no run counts for this head. Why: it is first (first); it is second (second)',
      ),
      result,
    );
    assert.equal(others.length, 3);
    for (const line of others) assert.ok(line.endsWith(three), line);
    assert.deepEqual(
      summary
        .split('\n')
        .filter((line) => /and 1 more: fifth$/.test(line))
        .map((line) => line.split(':')[0]),
      ['- required', '- does not count', '- waiver without effect'],
    );
  });

  test('a requirement without a run says why, and a run that does not count is told', () => {
    const decision = makeDecision('missing', {
      evidence: [
        makeRun({ counts: false, reasons: [{ code: 'stale-head', message: 'It is of another head.' }] }),
      ],
      waivers: [makeWaiver({ applies: false, reasons: [{ code: 'expired', message: 'It has expired.' }] })],
    });
    const { 'comment.md': comment, 'annotations.txt': annotations } = renderGithub(decision);
    assert.match(comment, /No run counts, of 1 run offered\./);
    assert.match(comment, /does not count: `qualification\.tar`; It is of another head\. \(stale-head\)/);
    assert.match(comment, /waiver without effect: `one\.jsonl`; It has expired\./);
    assert.match(annotations, /^::notice title=Run that does not count::.*stale-head/m);
    assert.match(annotations, /^::error title=MISSING/m);
  });

  test('a policy from disk is told, and a link only to a plain address', () => {
    const decision = makeDecision('pass');
    assert.match(renderGithub(decision)['comment.md'], /trust as of the base, `bbbbbbbbbbb/);
    decision.policy.commit = null;
    assert.match(renderGithub(decision)['comment.md'], /\*\*The policy was read from disk\*\*/);
    const runUrl = 'https://github.com/o/r/actions/runs/1';
    assert.match(renderGithub(decision, { runUrl })['comment.md'], /\[Log and files\]\(https:\/\/github/);
    for (const bad of ['javascript:alert(1)', 'https://x/a) [b](https://y', 'https://x/\n'])
      assert.throws(() => renderGithub(decision, { runUrl: bad }), TypeError);
  });

  test('a comment begins with a marker that no id can close', () => {
    assert.equal(markerOf('qualify.policy.yaml'), '<!-- qualify:qualify.policy.yaml -->');
    assert.equal(markerOf('a --> <script>'), '<!-- qualify:a-script- -->');
    assert.equal(markerOf('a\n--!>'), '<!-- qualify:a- -->');
    const { 'comment.md': comment } = renderGithub(makeDecision('pass'), { id: 'x' });
    assert.ok(comment.startsWith('<!-- qualify:x -->\n'));
  });
});

/** A decision with far more in it than GitHub takes. */
function hugeDecision(count: number, filler: string): GateDecision {
  const reasons = Array.from({ length: 20 }, () => ({ code: 'too-slow', message: filler }));
  const cells = Array.from({ length: count }, (_, index) =>
    makeCell(`c${index}`, index % 3 === 0 ? 'pass' : 'fail', -index / 100, { reasons }),
  );
  return makeDecision('fail', {
    reasons,
    requirements: Array.from({ length: 20 }, () =>
      makeRequirement(cells, 'fail', { reasons, matrix: 'm'.repeat(64), machine: 'x'.repeat(64) }),
    ),
    evidence: Array.from({ length: count }, (_, index) =>
      makeRun({ counts: index % 2 === 0, path: filler, session: filler, signer: filler, reasons }),
    ),
    waivers: Array.from({ length: count }, (_, index) =>
      makeWaiver({ applies: index % 2 === 0, reason: filler, cell: filler, reasons }),
    ),
    policy: { path: filler, title: filler, trust: filler, sha256: 'c'.repeat(64), commit: null },
    base: { branch: filler, commit: 'b'.repeat(40) },
    harness: filler,
  });
}

describe('the limits of GitHub', () => {
  for (const [name, filler] of [
    ['plain', 'word '.repeat(2000)],
    ['what escapes to much', '@#<&`|_*~'.repeat(2000)],
    ['characters of two halves', '\u{1f600}'.repeat(4000)],
  ] as const)
    test(`hold for a huge decision of ${name}, which is cut between rows`, () => {
      const files = renderGithub(hugeDecision(120, filler));
      const { 'summary.md': summary, 'comment.md': comment, 'annotations.txt': annotations } = files;
      assert.ok(Buffer.byteLength(summary) <= 2 ** 20 && summary.length > 400_000, `${summary.length}`);
      assert.ok(comment.length <= 65_536 && comment.length > 20_000, `${comment.length}`);
      const check = checkRunSchema.parse(JSON.parse(files['check-run.json']));
      assert.equal(check.output.annotations.length, LIMITS.checkAnnotations);
      for (const text of [summary, comment, check.output.summary]) {
        assert.match(text, /more rows? left out here: GitHub limits the length\./);
        assert.equal(text.split('<details>').length, text.split('</details>').length, 'details are closed');
        assert.doesNotMatch(text, /\p{Surrogate}/u, 'no half of a character');
        const lines = text.split('\n');
        // Between table and note a blank line, and every row of the table has all of its columns.
        for (const [index, line] of lines.entries()) {
          if (line.startsWith('| ')) assert.equal(line.split(/(?<!\\)\|/).length, 8, line);
          if (/left out here/.test(line)) assert.equal(lines[index - 1], '');
          assert.equal(
            line.split('`').length % 2,
            line.includes('\\`') ? line.split('`').length % 2 : 1,
            line,
          );
        }
      }
      const lines = annotations.trimEnd().split('\n');
      for (const level of ['error', 'warning', 'notice'])
        assert.ok(lines.filter((line) => line.startsWith(`::${level} `)).length <= 10, level);
      assert.match(lines.at(-1) ?? '', /^::notice title=qualify::\d+ more findings left out here/);
      const left = Number(/::(\d+) more/.exec(lines.at(-1) ?? '')?.[1]);
      // 1 for the result, 80 of 120 cells in each of 20 requirements, 60 waivers and 60 runs without effect.
      assert.equal(left + lines.length - 1, 1 + 20 * 80 + 60 + 60);
    });

  test('leave a small decision whole, with as many notices as GitHub takes', () => {
    const evidence = Array.from({ length: 10 }, () => makeRun({ counts: false }));
    const lines = (count: number): string[] =>
      renderGithub(makeDecision('fail', { evidence: evidence.slice(0, count) }))
        ['annotations.txt'].trimEnd()
        .split('\n');
    assert.equal(lines(10).length, 12);
    assert.doesNotMatch(lines(10).join(), /left out/);
    assert.doesNotMatch(renderGithub(makeDecision('fail'))['comment.md'], /left out/);
  });

  test('a comment shows twelve rows of the table and says how many of the others are no pass', () => {
    const cells = Array.from({ length: 20 }, (_, index) => makeCell(`${401 + index}/512`, 'fail', -index));
    const { 'comment.md': comment, 'summary.md': summary } = renderGithub(
      makeDecision('fail', { requirements: [makeRequirement(cells, 'fail')] }),
    );
    assert.equal(comment.match(/^\| \*\*FAIL/gm)?.length, 12);
    assert.match(comment, /8 more rows in the summary of the run, \*\*8 of them no pass\*\*\./);
    assert.equal(summary.match(/^\| \*\*FAIL/gm)?.length, 20);
  });
});
