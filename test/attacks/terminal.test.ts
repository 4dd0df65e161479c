/**
 * Text that others chose (titles, revisions, names of processes and stages, answers, keys of JSON) and that drives a terminal, a CI
 * service, a spreadsheet or a web page when it is shown. In every output that there is.
 */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { analyse } from '../../src/analysis/analyse.js';
import { describeError } from '../../src/cli/describe-error.js';
import { inert, printable } from '../../src/cli/output.js';
import { QualifyError } from '../../src/errors.js';
import { renderCtrf } from '../../src/gate/ctrf.js';
import type { GateDecision } from '../../src/gate/decision.js';
import { renderSummary } from '../../src/gate/github/render.js';
import { renderJunit } from '../../src/gate/junit.js';
import { renderGateText } from '../../src/gate/text.js';
import { entrySchema } from '../../src/journal/entries.js';
import { parseMatrix } from '../../src/matrix/parse.js';
import { planSchema } from '../../src/plan/schema.js';
import type { ReportContext } from '../../src/report/context.js';
import { renderCsv } from '../../src/report/csv.js';
import { csvField, markdownText, plainText } from '../../src/report/escape.js';
import { formats, type Render } from '../../src/report/formats.js';
import { renderMarkdown } from '../../src/report/markdown.js';
import { renderTable } from '../../src/report/table.js';
import { judge } from '../../src/verdict/judge.js';
import type { Verdict } from '../../src/verdict/schema.js';
import { makeDecision } from '../fixtures/github-decision.js';
import { sampleRun } from '../fuzz/sample-run.js';
import { Home } from '../support/run-cli.js';
import { linesOf, MANIFEST, writeLines } from './attack.js';
import { copyWithout, type Guard, importWithout } from './without-guard.js';

/** Clears the screen, sets its title, turns the text around, and gives a runner orders in each of the ways that it takes. */
const HOSTILE = [
  '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e',
  '\n::error file=x::pwned\n::set-output name=result::pass\r::stop-commands::x\n  ::add-mask::a',
  '##[error]pwned ##vso[task.setvariable variable=a]b',
  '<img src=x onerror=alert(1)> </details> [link](javascript:alert(1)) @everyone | ` ]]> --> "\' ;--',
].join(' ');
/** No longer than a title may be. */
const HOSTILE_TITLE = HOSTILE.slice(0, 200);

/** Commands that a runner of GitHub registers; it looks at no others. */
const COMMANDS =
  /^(error|warning|notice|debug|group|endgroup|set-output|set-env|add-path|add-mask|save-state|stop-commands|echo|add-matcher|remove-matcher)$/i;

/** What a runner reads out of a log: `::name …::` where a line begins, `##[name …]` anywhere, as its sources have it. */
function commandsIn(output: string): string[] {
  return output.split(/\r\n|\r|\n/).flatMap((line) => {
    const named = /^::([^\s:]+)(?: .*?)?::/.exec(line.replace(/^[\s\u0085]+/, ''))?.[1];
    const bracketed = /##\[([^\s\]]+)[^\]]*\]/.exec(line)?.[1];
    const ofAzure = /##vso\[([^\s\]]+)/.exec(line)?.[1];
    const known = [named, bracketed].filter((name) => name !== undefined && COMMANDS.test(name));
    return [...known, ofAzure].filter((name) => name !== undefined);
  });
}

/** Characters that a terminal obeys: all of C0 but the ends of lines and tabs, C1, and what turns text around. */
const STEERING = /(?![\t\n])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

const lineFeeds = (text: string): string => text.replaceAll('\r\n', '\n');
const HTML_OF_OTHERS = /<img src=x|<\/details> \[link\]/;

/** What makes unsafe characters of others visible, wherever it is asked to. */
const NO_ESCAPES: Guard = {
  module: 'report/escape',
  guard: 'text.replaceAll(unsafe,',
  instead: 'text.replaceAll(/(?!)/gu,',
};
/** What makes markup of others text: it lets it through. What it was goes to a name that nobody asks for. */
const noMarkup = (name: string): Guard => ({
  module: 'report/escape',
  guard: `export const ${name} = (text) => plainText(text)`,
  instead: `export const ${name} = (text) => text; export const was_${name} = (text) => plainText(text)`,
});

const sample = await sampleRun({ rounds: 6 });

/** The value with every text changed whose field others choose. */
function poison<T>(value: T, fields: RegExp): T {
  const change = (inner: unknown, name: string): unknown => {
    if (typeof inner === 'string') return fields.test(name) ? `${inner} ${HOSTILE}` : inner;
    if (Array.isArray(inner)) return inner.map((item) => change(item, name));
    if (typeof inner !== 'object' || inner === null) return inner;
    const entries = Object.entries(inner).map(([key, item]) => {
      const isStage = name === 'stages' && fields.test('stages');
      return [isStage ? `${key} ${HOSTILE}` : key, change(item, key)];
    });
    return Object.fromEntries(entries);
  };
  return change(value, '') as T;
}

function hostileReport(): { verdict: Verdict; context: ReportContext } {
  const plan = planSchema.parse(poison(sample.json('plan.json'), /^title$/));
  const entries = sample
    .read('journal.jsonl')
    .trimEnd()
    .split('\n')
    .map((line) => entrySchema.parse(JSON.parse(line)))
    .map((entry) => poison(entry, /^(stages|name|requested|toolchain|cmake|message)$/));
  const machine = poison(sample.json('evidence/machine.json'), /^(model|kernel|distribution|governor)$/);
  const sealed = { indexSha256: 'a'.repeat(64), signer: sample.sealed.keyId };
  const verdict = judge(plan, analyse(plan, entries));
  // No plan takes such a name; benchstat's form shows no other text.
  const name = `${verdict.matrix.name} ${HOSTILE}`;
  return {
    verdict: { ...verdict, matrix: { ...verdict.matrix, name } },
    context: { plan, entries, machine, sealed, runFolder: `runs/${HOSTILE}` },
  };
}

const renderers = {
  table: formats.table,
  markdown: formats.markdown,
  HTML: formats.html,
  csv: formats.csv,
  benchstat: formats.benchstat,
  'llama-bench as JSON': formats['llama-bench-json'],
  'llama-bench as SQL': formats['llama-bench-sql'],
  JSON: formats.json,
} satisfies Record<string, Render>;

for (const [name, render] of Object.entries(renderers)) {
  test(`a report as ${name} steers neither terminal nor runner`, async () => {
    const { verdict, context } = hostileReport();
    const output = await render(verdict, context);
    const written = inert(output);
    assert.doesNotMatch(lineFeeds(written), STEERING);
    assert.deepEqual(commandsIn(written), []);
    // JSON leaves C1 and marks of direction as they are: what writes it does not.
    if (name.includes('JSON')) assert.match(output, STEERING);
    else assert.doesNotMatch(lineFeeds(output), STEERING);
    if (name === 'HTML') assert.doesNotMatch(output, HTML_OF_OTHERS);
    if (name.includes('JSON')) assert.deepEqual(JSON.parse(inert(output)), JSON.parse(output));
  });
}

test('without their guard, reports in every form steer the terminal and give orders', async (context) => {
  const report = hostileReport();
  assert.match(report.verdict.matrix.title, STEERING);
  const { formats: lax } = await importWithout<typeof import('../../src/report/formats.js')>(
    context,
    'report/formats',
    NO_ESCAPES,
    noMarkup('htmlText'),
    noMarkup('markdownText'),
  );
  // Rows of CSV have no text that others choose freely: ids, arms and session are held to letters and digits by their schemas.
  const { csv, ...forms } = lax;
  assert.doesNotMatch(lineFeeds(csv(report.verdict, report.context)), STEERING);
  for (const [name, render] of Object.entries(forms)) {
    const output = await render(report.verdict, report.context);
    assert.match(lineFeeds(output), STEERING, name);
    assert.ok(commandsIn(output).length > 0, name);
    if (name === 'html') assert.match(output, HTML_OF_OTHERS);
    if (name === 'markdown') assert.match(output, /<img src=x onerror/);
    // What writes the answer is a guard of its own, before which only what colours is spared.
    assert.deepEqual(commandsIn(inert(output)), [], name);
  }
});

test('a table breaks its lines where the text likes: only what writes them can keep a command from beginning one', () => {
  const title = `${'a '.repeat(37)}::error title=x::the gate has failed; ##[warning]all is lost`;
  const { verdict, context } = hostileReport();
  const output = renderTable({ ...verdict, matrix: { ...verdict.matrix, title } }, context);
  assert.ok(
    ['error', 'warning'].every((name) => commandsIn(output).includes(name)),
    output,
  );
  assert.deepEqual(commandsIn(inert(output)), []);
});

test('Markdown shows what others wrote as text: no element, link, mention or end of a cell', () => {
  const { verdict, context } = hostileReport();
  const own = /<(?:details|\/details|summary|\/summary)>|<!-- -->/g;
  const output = renderMarkdown(verdict, context);
  assert.match(output, /&lt;img src=x onerror/);
  // In code nothing is markup; it ends at the next backquote, of which none is theirs.
  const outside = output.replaceAll(own, '').replaceAll(/`[^`\n]*`/g, '');
  assert.doesNotMatch(outside, /<|@everyone|(?<!\\)\[link\]\(/);
  const rows = output.split('\n').filter((line) => line.startsWith('| '));
  const bars = new Set(rows.slice(0, 3).map((line) => line.replaceAll('\\|', '').split('|').length));
  assert.equal(bars.size, 1);
  assert.match(HOSTILE, /<img/);
  assert.doesNotMatch(markdownText(HOSTILE), /<img|@everyone/);
});

test('a field of CSV is no formula', async (context) => {
  const lax = await importWithout<typeof import('../../src/report/escape.js')>(context, 'report/escape', {
    module: 'report/escape',
    guard: '/^[=+\\-@\\t\\r]/.test(value)',
    instead: 'false',
  });
  for (const formula of ['=cmd|"/c calc"!A1', '+1+1', '-2+3', '@SUM(A1)', '\t=1', '\r=1']) {
    assert.match(lax.csvField(formula).replace(/^"/, ''), /^[=+\-@\t\r]/);
    assert.match(csvField(formula).replace(/^"/, ''), /^'/);
  }
  const { verdict, context: report } = hostileReport();
  const text = /^[=+\-@]/;
  for (const line of renderCsv(verdict, report).trimEnd().split('\r\n'))
    assert.ok(!line.split(',').some((field) => text.test(field) && Number.isNaN(Number(field))), line);
});

type GateRender = (decision: GateDecision) => string;
const gateRenderers = {
  text: renderGateText,
  Markdown: (of: GateDecision) => renderSummary(of),
  JUnit: renderJunit,
  CTRF: renderCtrf,
} satisfies Record<string, GateRender>;

const hostileDecision = (): GateDecision =>
  poison(
    makeDecision('fail'),
    /^(title|path|branch|detail|message|session|matrix|machine|id|arm|against|reason|signer|trust)$/,
  );

/** Where code and character data end, nothing of theirs goes on. */
function markupOf(name: string, output: string): string {
  return output.replaceAll(name === 'JUnit' ? /<!\[CDATA\[[\s\S]*?\]\]>/g : /`[^`\n]*`/g, '');
}

for (const [name, render] of Object.entries(gateRenderers)) {
  test(`a decision of the gate as ${name} steers neither terminal nor runner`, () => {
    const output = render(hostileDecision());
    assert.doesNotMatch(inert(output), STEERING);
    assert.deepEqual(commandsIn(inert(output)), []);
    if (name === 'CTRF') assert.match(output, STEERING);
    else assert.doesNotMatch(output, STEERING);
    if (name === 'Markdown' || name === 'JUnit') assert.doesNotMatch(markupOf(name, output), /<img/);
  });
}

test('without their guards, decisions of the gate in every form steer the terminal and give orders', async (context) => {
  const decision = hostileDecision();
  const guards = [
    NO_ESCAPES,
    noMarkup('markdownText'),
    { module: 'gate/junit', guard: ".replaceAll(']]>', ']] >')", instead: '' },
  ];
  const lax = copyWithout(context, ...guards);
  const { renderGateText: text } = await lax<typeof import('../../src/gate/text.js')>('gate/text');
  const { renderJunit: JUnit } = await lax<typeof import('../../src/gate/junit.js')>('gate/junit');
  const { renderCtrf: CTRF } = await lax<typeof import('../../src/gate/ctrf.js')>('gate/ctrf');
  const { renderSummary: summary } =
    await lax<typeof import('../../src/gate/github/render.js')>('gate/github/render');
  const renderers: typeof gateRenderers = { text, Markdown: (of) => summary(of), JUnit, CTRF };
  for (const [name, render] of Object.entries(renderers)) {
    const output = render(decision);
    assert.match(output, STEERING, name);
    assert.ok(commandsIn(output).length > 0, name);
    if (name === 'Markdown' || name === 'JUnit') assert.match(markupOf(name, output), /<img/, name);
  }
});

test('an error shows names of files and what they hold, and neither steers the terminal', async (context) => {
  const error = new QualifyError('ERR_QUALIFY_INVALID', `x holds ${HOSTILE}`, {
    ...{ exit: 'invalid', where: `matrices/${HOSTILE}.yaml`, hint: `qualify matrix check ${HOSTILE}` },
  });
  const output = describeError(error);
  assert.doesNotMatch(output, STEERING);
  assert.ok(commandsIn(output).length > 0);
  assert.deepEqual(commandsIn(inert(output)), []);
  const lax = await importWithout<typeof import('../../src/cli/describe-error.js')>(
    context,
    'cli/describe-error',
    {
      module: 'cli/describe-error',
      guard: 'printable(error.where)',
      instead: 'error.where',
    },
  );
  assert.match(lax.describeError(error), STEERING);
});

test('a matrix of a pull request gives no order by being refused', () => {
  const text = `${JSON.stringify({ schemaVersion: 1, '\n::error::pwned': 1, '##[error]pwned': 2 })}\n`;
  try {
    parseMatrix(text, 'x.yaml');
    assert.fail('taken');
  } catch (error) {
    assert.ok(error instanceof QualifyError);
    const output = describeError(error);
    assert.ok(commandsIn(output).length > 0, output);
    assert.deepEqual(commandsIn(inert(output)), []);
  }
});

test('what is made harmless stays readable, and what is harmless stays as it is', () => {
  const orders = '::error::a\n  ::group::b\r::notice::c\u0085\n\u0085::debug::d ##[add-mask]e ##vso[task.x]f';
  assert.equal(commandsIn(orders).length, 6);
  assert.deepEqual(commandsIn(inert(orders)), []);
  assert.equal(inert('::error::a'), '\\u003a:error::a');
  for (const text of [
    'std::vector<int>',
    'a ::b',
    '[::1]:80',
    '## [a](b)',
    '# [a]',
    '{"a": "::error::"}',
    'a##*[',
  ])
    assert.equal(inert(text), text);
  assert.equal(printable(plainText('\u001b[2J')), '\\u{1b}[2J');
});

test('the command line: a sealed run whose title, revision and envelope give orders', async (context) => {
  const home = new Home();
  context.after(() => home.remove());
  const { run } = await sampleRun({
    revisions: { base: 'main', head: `pr ${HOSTILE}` },
    alterPlan: (plan) => {
      plan.matrix.title = HOSTILE_TITLE;
    },
  });
  const calls = [
    ['verify', run],
    ['verify', run, '--json'],
    ['verify', run, '--explain'],
    ...['table', 'markdown', 'csv', 'json', 'html', 'benchstat', 'llama-bench-json'].map((format) => [
      'report',
      run,
      '--format',
      format,
    ]),
    ['verify', `${run}${HOSTILE}`],
    ['report', run, `--format=${HOSTILE}`],
    ['simulate', '--rounds', HOSTILE],
    [HOSTILE],
  ];
  for (const call of calls) {
    const { stdout, stderr, exitCode } = await home.run(...call.map((word) => word.replaceAll('\0', '')));
    const what = `${call.join(' ')}: ${stdout}${stderr}`;
    assert.ok([0, 16, 64].includes(exitCode ?? -1), `${exitCode} ${what}`);
    for (const output of [stdout, stderr]) {
      assert.doesNotMatch(output.replaceAll('\r\n', '\n'), STEERING, what);
      assert.deepEqual(commandsIn(output), [], what);
    }
  }
  const [first, second] = linesOf(run);
  writeLines(run, '', first.replace('{', '{"\\n::error::pwned":1,'), second);
  const { stderr, exitCode } = await home.run('verify', run);
  assert.equal(exitCode, 16);
  assert.match(stderr, /error::pwned/);
  assert.deepEqual(commandsIn(stderr), [], stderr);
  rmSync(join(run, MANIFEST));
  writeFileSync(join(run, '\u001b[2Jx'), '');
  assert.doesNotMatch((await home.run('verify', run)).stderr, STEERING);
});
