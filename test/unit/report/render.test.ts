import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renderCsv } from '../../../src/report/csv.js';
import { renderMarkdown } from '../../../src/report/markdown.js';
import { renderTable } from '../../../src/report/table.js';
import {
  alterAnswers,
  type Draft,
  type JournalOptions,
  makeJournal,
  makePlan,
  verdictOf,
} from '../../fixtures/journal.js';
import { reports } from '../../fixtures/reports.js';

/** The figures of the source pull request: 94.59 → 178.98 and 329.16 → 298.97 tok/s. */
const seed = {
  '401/512': { base: 94.59, head: 178.98 },
  '2048/2048': { base: 329.16, head: 298.97 },
} as const;
const twoCells = {
  cells: [
    { promptTokens: 401, chunk: 512 },
    { promptTokens: 2048, chunk: 2048 },
  ],
};
const plan = makePlan(twoCells);
const wall = { clock: 'wall' as const };
const options: JournalOptions = {
  ms: ({ arm, cell, round, index }) => {
    const rates = seed[cell.id as keyof typeof seed];
    const noise = 1 + 0.001 * (index - 1) + (arm === 'head' ? 1e-5 * (round - 2.5) : 0);
    return (1000 * cell.promptTokens) / rates[arm as 'base' | 'head'] / noise;
  },
  stages: (arm) => ({ attention: 400, moe_gate_up: arm === 'base' ? 6791.6 : 1661.2, router: 0.5 }),
};
const context = { plan, entries: makeJournal(plan, options) };
const verdict = verdictOf(plan, options);
const lines = (text: string): string[] => text.split('\n');

describe('the table', () => {
  const text = renderTable(verdict, context);

  test('has the figures of the source pull request', () => {
    for (const figure of [
      '94.59 tok/s',
      '178.98 tok/s',
      '+89.2 %',
      '(1.89x)',
      '329.16 tok/s',
      '298.97 tok/s',
      '-9.17 %',
    ]) {
      assert.ok(text.includes(figure), `${figure} is not in\n${text}`);
    }
  });

  test('says with the headline that cells were left out, since those that are there may all pass', () => {
    const narrowed = { ...makePlan(), leftOut: ['2048/2048'] };
    const even = { ms: () => 100 };
    const run = { plan: narrowed, entries: makeJournal(narrowed, even) };
    const told = renderTable(verdictOf(narrowed, even), run);
    const [, top = ''] = told.split('\n\n');
    const said =
      /^INCONCLUSIVE \(exit 11\): 1 of 1 required cells pass narrowed to some cells: without 2048\/2048 .* \[narrowed\]$/;
    assert.match(top.replaceAll(/\s+/g, ' '), said);
    assert.equal(told.match(/\[narrowed\]/g)?.length, 1);
  });

  test('shows the losing cell first, here and in Markdown', () => {
    for (const rendered of [text, renderMarkdown(verdict, context)]) {
      assert.ok(rendered.indexOf('2048-token') < rendered.indexOf('401-token'));
    }
  });

  for (const [kind, make] of Object.entries(reports)) {
    test(`is at most 80 columns wide: ${kind}`, () => {
      const { verdict: own, context: its } = make();
      for (const line of lines(renderTable(own, its))) assert.ok(line.length <= 80, line);
    });
  }

  test('says where the time went', () => {
    assert.match(text, /time +moe_gate_up +6791\.6 -> 1661\.2 ms +4\.09x faster/);
  });

  test('has no table of stages when one engine tells none', () => {
    const stages = { stages: (arm: string) => (arm === 'base' ? {} : { attention: 400 }) };
    const plain = makePlan();
    const run = { plan: plain, entries: makeJournal(plain, stages) };
    assert.doesNotMatch(renderTable(verdictOf(plain, stages), run), /attention/);
  });

  test('says of a decode cell that the stages are those of its prefill', () => {
    const decoding = makePlan({
      cells: [{ phase: 'decode', promptTokens: 64, chunk: 32, generatedTokens: 4 }],
    });
    const stages = { stages: () => ({ attention: 400 }) };
    const run = { plan: decoding, entries: makeJournal(decoding, stages) };
    const judged = verdictOf(decoding, stages);
    assert.match(renderTable(judged, run), /^ {2}prefill stages\n +attention +400\.0 -> 400\.0 ms +same/m);
    assert.match(renderMarkdown(judged, run), /^\| Prefill stage /m);
  });

  test('names machine, model, builds, protocol and the command that checks it', () => {
    for (const label of [
      'session ',
      'machine ',
      'model ',
      'arm base ',
      'arm head ',
      'protocol ',
      'manifest ',
    ]) {
      assert.ok(
        lines(text).some((line) => line.startsWith(label)),
        label,
      );
    }
    assert.ok(text.endsWith('verify: qualify verify .qualify/runs/test-session'));
    assert.ok(renderTable(verdict, { ...context, runFolder: 'x/y' }).endsWith('verify: qualify verify x/y'));
  });

  test('describes the machine as far as it is known', () => {
    const machine = {
      cpu: { model: 'A CPU', logical: 2 },
      memory: { totalBytes: String(8 * 2 ** 30) },
      system: { kernel: '6.1' },
    };
    assert.ok(
      renderTable(verdict, { ...context, machine }).includes('2 x A CPU, 8 GiB, Linux, 6.1 (machine '),
    );
    assert.ok(renderTable(verdict, { ...context, machine: 'nonsense' }).includes('machine   machine '));
  });
});

describe('what a report leaves out', () => {
  const shown = (own: JournalOptions, of = plan): { text: string; markdown: string } => {
    const run = { plan: of, entries: makeJournal(of, own) };
    return { text: renderTable(verdictOf(of, own), run), markdown: renderMarkdown(verdictOf(of, own), run) };
  };
  const load = (foreignCpuShare: number) => ({
    ...options,
    alter: (draft: Draft): Draft => (draft.kind === 'load' ? { ...draft, foreignCpuShare } : draft),
  });

  test('are stages in a terminal, where CPU time decides and others used the machine', () => {
    const busy = shown(load(0.6));
    assert.match(busy.text, /foreign-load/);
    assert.doesNotMatch(busy.text, /moe_gate_up|Times of stages/);
    assert.match(busy.text.replaceAll('\n', ' '), /Stages are left out: they are by wall time/);
    assert.match(busy.markdown, /moe_gate_up/);
    const calm = shown(load(0.01));
    assert.match(calm.text, /moe_gate_up/);
    assert.doesNotMatch(calm.text, /Stages are left out/);
  });

  test('is what the rates are, where none are shown', () => {
    const warm = alterAnswers(
      () => true,
      () => ({ cacheN: 16 }),
    );
    const refused = shown({ ...options, alter: warm });
    for (const text of Object.values(refused)) assert.doesNotMatch(text, /Rates are medians/);
    for (const text of Object.values(shown(options))) assert.match(text, /Rates are medians/);
  });

  test('are rounds that would decide what is decided', () => {
    const ms: JournalOptions['ms'] = ({ arm, round }) => (arm === 'head' ? 102 + ((round % 3) - 1) : 100);
    const { text } = shown({ ms });
    assert.match(text, /slower-not-cleared/);
    assert.doesNotMatch(text.replaceAll(/\s+/g, ' '), /more rounds/);
  });

  test('is a warning of each cell by itself', () => {
    const slow = alterAnswers(
      () => true,
      ({ answer }) => ({ clientMs: answer.clientMs * 1.2 }),
    );
    const { text } = shown({ alter: slow }, makePlan({ ...twoCells, protocol: wall }));
    assert.equal(text.match(/clocks-apart/g)?.length, 1);
    assert.match(text, /warning: 401\/512, 2048\/2048: client and server clocks differ/);
  });

  test('are a temperature that nobody knows, and arguments that there are not', () => {
    const cool = (draft: Draft): Draft => (draft.kind === 'telemetry' ? { ...draft, highestC: null } : draft);
    const { text } = shown({ ...options, alter: cool });
    assert.doesNotMatch(text, /temperature unknown|degrees/);
    assert.match(text, /telemetry used at most 0\.01 % of the CPU time/);
    const bare = makePlan({
      arms: { base: { engine: 'node-llama-cpp' }, head: { engine: 'node-llama-cpp' } },
    });
    const { text: external } = shown({}, bare);
    assert.doesNotMatch(external, /no arguments|, $/m);
  });
});

describe('Markdown', () => {
  const text = renderMarkdown(verdict, context);

  test('has one row a cell, as in the source pull request', () => {
    const row = lines(text).find((line) => line.startsWith('| 401-token prefill, chunk=512'));
    assert.match(
      row ?? '',
      /94\.59 tok\/s \(MAD 0\.\d\d\) .* 178\.98 tok\/s \(MAD 0\.\d\d\) .* \+89\.2 % \(1\.89x\) .* pass, improved .* exact, identical .* proved/,
    );
  });

  test('keeps every table whole when an engine names its stages to break it', () => {
    const hostile = {
      ...options,
      stages: () => ({ 'a|b`c\n| x |': 50, '\u001b[31m<script>': 40, '@all': 10 }),
    };
    const rendered = renderMarkdown(verdictOf(plan, hostile), { plan, entries: makeJournal(plan, hostile) });
    const tables = lines(rendered).filter((line) => line.startsWith('|'));
    const columns = new Set(tables.map((line) => line.replaceAll('\\|', '').split('|').length - 2));
    assert.deepEqual(columns, new Set([8, 4]));
    assert.ok(!rendered.includes('\u001b'));
    const table = renderTable(verdictOf(plan, hostile), { plan, entries: makeJournal(plan, hostile) });
    assert.ok(!table.includes('\u001b'));
  });

  test('is the same to the byte for the same run folder', () => {
    const again = {
      plan: JSON.parse(JSON.stringify(plan)),
      entries: JSON.parse(JSON.stringify(context.entries)),
    };
    assert.equal(renderMarkdown(verdict, again), text);
  });
});

describe('a refused cell', () => {
  const alter = alterAnswers(
    ({ cell }) => cell === '2048/2048',
    () => ({ cacheN: 9 }),
  );
  const refused = verdictOf(plan, { ...options, alter });
  const rendered = [
    renderTable(refused, context),
    renderMarkdown(refused, context),
    renderCsv(refused, context),
    JSON.stringify(refused),
  ];

  test('shows no rate in any rendering, and says why', () => {
    for (const text of rendered) {
      assert.ok(!text.includes('329.1') && !text.includes('298.9'), text);
      assert.ok(text.includes('94.59') || text.includes('94.5'));
    }
    assert.ok(rendered[0]?.includes('[cache-hit]'));
    assert.ok(rendered[1]?.includes('(cache-hit)'));
  });
});

test('CSV has a line for each retained sample, with its round', () => {
  const rows = renderCsv(verdict, context).trimEnd().split('\r\n');
  assert.equal(rows.length, 1 + 2 * 2 * 18);
  assert.equal(rows[0], 'session,cell,phase,prompt_tokens,chunk,arm,round,sample,tok_per_s,clock,verdict');
  assert.match(rows[18] ?? '', /^test-session,401\/512,prefill,401,512,base,6,3,94\.68\d+,cpu,pass$/);
});

test('three arms are told apart by name', () => {
  const stacked = makePlan({
    arms: { main: { revision: 'a' }, one: { revision: 'b' }, both: { revision: 'c' } },
  });
  const text = renderTable(verdictOf(stacked), { plan: stacked, entries: makeJournal(stacked) });
  assert.match(text, /│ reference +│ arm +│/);
  assert.match(text, /│ main +│ one +│/);
  assert.match(text, /│ main +│ both +│/);
});

test('a session in which nothing was measured has a report', () => {
  const alter: JournalOptions['alter'] = (draft) => (draft.kind === 'session' ? draft : null);
  const nothing = verdictOf(plan, { alter });
  const text = renderTable(nothing, { plan, entries: makeJournal(plan, { alter }) });
  assert.match(text, /NOT-MEASURED \(exit 12\): 0 of 2 required cells pass/);
  assert.match(text, /rounds-missing/);
});

describe('Markdown for a pull request', () => {
  const text = renderMarkdown(verdict, {
    ...context,
    sealed: { indexSha256: 'a'.repeat(64), signer: 'SHA256:x' },
  });
  const [shown = '', folded = ''] = text.split('<details>');

  test('has under its table what shows it: parity, coldness, evidence, machine, commits, and how to check it', () => {
    const order = [
      '\n| 2048-token',
      '\n- parity: identical outputs in all 2 comparisons',
      '\n- cold: every retained request proved',
      '\n- evidence: evidence.sha256 aaaa',
      '\n- machine: ',
      '\n- model: ',
      '\n- arm base: ',
      '\n- arm head: ',
      '\nCheck it: `qualify verify RUN`',
    ];
    const places = order.map((part) => shown.indexOf(part));
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    );
    assert.ok(
      places.every((at) => at > 0),
      `${places}`,
    );
  });

  test('folds the rest away, and names no folder of the machine', () => {
    for (const part of [
      'Controls of the session:',
      '#### 401-token prefill',
      '- protocol: ',
      '- plan: sha256 ',
    ]) {
      assert.ok(folded.includes(part), part);
    }
    assert.doesNotMatch(text, /\.qualify\/runs/);
  });

  test('says how many comparisons are identical where not all are, and counts no pairs of none', () => {
    const [cell, ...cells] = verdict.cells;
    assert.ok(cell);
    const comparisons = cell.comparisons.map((one) => ({
      ...one,
      parity: { ...one.parity, status: 'different' as const },
    }));
    const half = renderMarkdown({ ...verdict, cells: [{ ...cell, comparisons }, ...cells] }, context);
    assert.match(half, /^- parity: identical outputs in 1 of 2 comparisons \(\d+ pairs/m);
    const none = renderMarkdown({ ...verdict, cells: [{ ...cell, comparisons }] }, context);
    assert.match(none, /^- parity: identical outputs in 0 of 1 comparison$/m);
  });
});
