/** Formats of other tools: benchstat's and llama-bench's. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mean } from 'simple-statistics';
import { z } from 'zod';
import type { Entry, Revision } from '../../../src/journal/entries.js';
import type { Plan } from '../../../src/plan/schema.js';
import { renderBenchstat } from '../../../src/report/benchstat.js';
import { renderCsv } from '../../../src/report/csv.js';
import {
  llamaBenchRows,
  renderLlamaBenchJson,
  renderLlamaBenchSql,
} from '../../../src/report/llama-bench.js';
import { llamaBenchBuilds } from '../../../src/report/llama-bench-builds.js';
import {
  alterAnswers,
  type JournalOptions,
  makeJournal,
  makePlan,
  SWITCH,
  verdictOf,
} from '../../fixtures/journal.js';

const plan = makePlan({
  cells: [
    { promptTokens: 400, chunk: 512 },
    { phase: 'decode', promptTokens: 64, chunk: 32, generatedTokens: 4 },
  ],
});
const options: JournalOptions = { ms: ({ arm, round }) => (arm === 'base' ? 4000 : 2000) + round };
const context = { plan, entries: makeJournal(plan, options) };
const verdict = verdictOf(plan, options);
const warm: JournalOptions = {
  ...options,
  alter: alterAnswers(
    () => true,
    () => ({ cacheN: 16 }),
  ),
};
const refused = { verdict: verdictOf(plan, warm), context: { plan, entries: makeJournal(plan, warm) } };

describe('benchstat text', () => {
  const text = renderBenchstat(verdict, context);
  const lines = text.split('\n');

  test('is configuration, units and results, as the format of Go has them', () => {
    for (const line of lines.filter((one) => one !== '')) {
      assert.match(line, /^(?:[a-z]\S*: \S.*|Unit \S+( \S+=\S+)+|Benchmark\S+\t\d+(\t[\d.e+-]+ \S+)+)$/);
    }
  });

  test('has one line a launch: its median, and the time of one request', () => {
    const base = text.slice(text.indexOf('arm: base'), text.indexOf('arm: head'));
    const results = base.split('\n').filter((line) => line.startsWith('BenchmarkPrefill/'));
    assert.equal(results.length, plan.rounds.length);
    assert.match(
      results[0] ?? '',
      /^BenchmarkPrefill\/cell=400_512\/tokens=400\/chunk=512\t\d+\t4000000000 ns\/op\t100 tok\/s$/,
    );
  });

  test('names arms once for each cell, so that benchstat -col arm tells them apart', () => {
    assert.deepEqual(
      lines.filter((line) => line.startsWith('arm: ')),
      ['arm: base', 'arm: head', 'arm: base', 'arm: head'],
    );
  });

  test('has no line of a refused cell', () => {
    assert.doesNotMatch(renderBenchstat(refused.verdict, refused.context), /^Benchmark/m);
  });
});

/** The digits of arms, with these changes of the revision that an arm asks for. */
function buildsOf(
  arms: Record<string, Partial<Plan['arms'][number]>>,
  revisions: Record<string, Partial<Revision>> = {},
): Record<string, string> {
  const own = Object.entries(arms).map(([name, arm]): Plan['arms'][number] => ({
    ...{ engine: 'embedded', revision: 'worktree', switches: {}, arguments: [] },
    ...arm,
    name,
  }));
  const ofThese = { ...plan, arms: own };
  const entries = makeJournal(ofThese, { rounds: 0 }).map(
    (entry): Entry =>
      entry.kind === 'build'
        ? { ...entry, revision: { ...entry.revision, ...revisions[entry.revision.requested] } }
        : entry,
  );
  return Object.fromEntries(llamaBenchBuilds({ plan: ofThese, entries }));
}

/** By what the compare script of llama.cpp joins rows of two builds. */
const JOINED_BY = [
  ...['cpu_info', 'gpu_info', 'backends', 'n_gpu_layers', 'n_cpu_moe', 'tensor_buft_overrides'],
  ...['model_filename', 'model_type', 'n_batch', 'n_ubatch', 'embeddings', 'cpu_mask', 'cpu_strict'],
  ...['poll', 'n_threads', 'type_k', 'type_v', 'load_mode', 'no_kv_offload', 'split_mode', 'main_gpu'],
  ...['tensor_split', 'flash_attn', 'n_prompt', 'n_gen', 'n_depth', 'fit_target', 'fit_min_ctx'],
];

/** What that script makes of rows: commits cut to the shortest, rows of both builds joined, speeds averaged, one line a test. */
function compared(
  rows: readonly Record<string, unknown>[],
  base: string,
  head: string,
): { test: string; speedUp: number }[] {
  const shortest = Math.min(...rows.map(({ build_commit }) => String(build_commit).length));
  const cut = (commit: unknown): string => String(commit).slice(0, shortest);
  const keyOf = (row: Record<string, unknown>): string =>
    JSON.stringify(
      JOINED_BY.map((name) => {
        assert.ok(name in row, name);
        return row[name];
      }),
    );
  const speedsOf = (build: string, key: string): number[] =>
    rows
      .filter((row) => cut(row.build_commit) === cut(build) && keyOf(row) === key)
      .map(({ avg_ts }) => Number(avg_ts));
  return [...new Set(rows.map(keyOf))].map((test) => ({
    test,
    speedUp: mean(speedsOf(head, test)) / mean(speedsOf(base, test)),
  }));
}

describe('rows of llama-bench', () => {
  const rows = llamaBenchRows(verdict, context);
  const [first, second, decode] = rows;

  test('are one a cell and arm, with the fields in the order of llama-bench', () => {
    assert.equal(rows.length, 4);
    const names = Object.keys(first ?? {});
    // The last is ours: which arm it is.
    assert.equal(names.pop(), 'arm');
    assert.equal(names.length, 42);
    const [table] = renderLlamaBenchSql(verdict, context).split(';');
    const inTable = [...(table ?? '').matchAll(/^ {2}(\w+) (?:TEXT|INTEGER|REAL),?$/gm)].map(
      ([, name]) => name,
    );
    assert.deepEqual(inTable, names.slice(0, -2));
    assert.deepEqual(names.slice(0, 3), ['build_commit', 'build_number', 'cpu_info']);
    assert.deepEqual(names.slice(-10), [
      ...['n_prompt', 'n_gen', 'n_depth', 'test_time', 'avg_ns', 'stddev_ns', 'avg_ts', 'stddev_ts'],
      ...['samples_ns', 'samples_ts'],
    ]);
  });

  test('have every retained sample, and a decode cell as tokens at a depth', () => {
    const samples = z.array(z.number()).parse(first?.samples_ts);
    assert.equal(samples.length, plan.rounds.length * plan.protocol.samples);
    assert.equal(first?.n_prompt, 400);
    assert.deepEqual([decode?.n_prompt, decode?.n_gen, decode?.n_depth], [0, 4, 64]);
    const [ns] = z.array(z.number()).parse(first?.samples_ns);
    assert.equal(ns, 4_000_000_000);
  });

  test('say where the time is not of the wall', () => {
    const byCpu = verdict.clock === 'cpu';
    assert.equal(first?.backends, `embedded${byCpu ? ' (CPU time)' : ''}`);
    const other = llamaBenchRows({ ...verdict, clock: byCpu ? 'wall' : 'cpu' }, context);
    assert.equal(other[0]?.backends, `embedded${byCpu ? '' : ' (CPU time)'}`);
  });

  /** The rows with these revisions of base and head. */
  const rowsOf = (...revisions: { commit: string | null; dirty: boolean }[]) =>
    llamaBenchRows(verdict, {
      ...context,
      entries: context.entries.flatMap((entry): Entry[] =>
        entry.kind !== 'build'
          ? [entry]
          : revisions.map((revision, at) => ({
              ...entry,
              arms: [['base', 'head'][at] ?? ''],
              revision: { ...entry.revision, ...revision },
            })),
      ),
    });
  const [clean, dirty] = [false, true].map((isDirty) => ({ commit: 'c'.repeat(40), dirty: isDirty }));
  assert.ok(clean && dirty);
  const prebuilt = { commit: null, dirty: false };
  const kinds = {
    'one commit with other switches': rows,
    'a commit and the same with changes': rowsOf(clean, dirty),
    'the same in the other order': rowsOf(dirty, clean),
    'one dirty tree': rowsOf(dirty, dirty),
    'two commits that begin alike': rowsOf(clean, { commit: `${'c'.repeat(39)}d`, dirty: false }),
    'two commits': rowsOf(clean, { commit: 'd'.repeat(40), dirty: false }),
    'folders that others built': rowsOf(prebuilt, prebuilt),
  };
  for (const [kind, own] of Object.entries(kinds))
    test(`keep arms apart for the compare script of llama.cpp: ${kind}`, () => {
      const [base, head] = ['base', 'head'].map((arm) => own.find((row) => row.arm === arm)?.build_commit);
      assert.match(`${base} ${head}`, /^[0-9a-f]{8} [0-9a-f]{8}$/);
      const found = compared(own, String(base), String(head));
      assert.equal(found.length, 2);
      for (const { speedUp } of found) assert.ok(speedUp > 1.9 && speedUp < 2.1, String(speedUp));
    });

  test('have the digits of a commit for an arm that is nothing else', () => {
    // All of these have a switch.
    for (const { build_commit } of Object.values(kinds).flat())
      assert.doesNotMatch(String(build_commit), /^(?:c{8}|d{8})$/);
    const builds = buildsOf({ base: {}, head: { revision: 'other' } }, { other: { commit: 'd'.repeat(40) } });
    assert.deepEqual(builds, { base: 'cccccccc', head: 'dddddddd' });
  });

  test('have digits of what an arm is, whatever else is in its run and in which order', () => {
    const off = { switches: { [SWITCH]: '0' } };
    const on = { switches: { [SWITCH]: '1' } };
    const one = buildsOf({ base: off, head: on });
    const turned = buildsOf({ base: on, head: off });
    assert.deepEqual([turned.base, turned.head], [one.head, one.base]);
    assert.ok(!Object.values(one).includes('cccccccc'), JSON.stringify(one));
    const plain = buildsOf({ base: off, head: {} });
    assert.deepEqual(plain, { base: one.base, head: 'cccccccc' });
    assert.deepEqual(buildsOf({ base: {}, head: off }), { base: 'cccccccc', head: one.base });
    const others = [
      buildsOf({ base: {}, head: { arguments: ['--x'] } }).head,
      buildsOf({ base: {}, head: { plantedSlowdownPercent: 3 } }).head,
      buildsOf({ base: {}, head: { telemetry: false } }).head,
    ];
    assert.equal(new Set([...others, ...Object.values(plain), one.head]).size, 6, others.join());
  });

  test('tell trees with changes of one commit apart in two runs', () => {
    const ofTree = (tree: string) =>
      buildsOf({ base: {}, head: { revision: 'other' } }, { other: { tree, dirty: true } });
    assert.notEqual(ofTree('one').head, ofTree('two').head);
    assert.equal(ofTree('one').head, ofTree('one').head);
  });

  test('tell the null arm from the reference that it is once more', () => {
    const builds = buildsOf({ base: {}, head: { switches: { [SWITCH]: '0' } }, null: { control: 'null' } });
    assert.equal(new Set(Object.values(builds)).size, 3);
    assert.equal(builds.base, 'cccccccc');
  });

  test('tell which arm a build is, by name and by its place in the plan', () => {
    assert.deepEqual(
      rows.map(({ arm, build_number }) => `${arm} ${build_number}`),
      ['base 0', 'head 1', 'base 0', 'head 1'],
    );
    const sql = renderLlamaBenchSql(verdict, context);
    assert.match(sql, new RegExp(`^-- build_commit ${first?.build_commit}, build_number 0: arm base$`, 'm'));
    assert.match(sql, new RegExp(`^-- build_commit ${second?.build_commit}, build_number 1: arm head$`, 'm'));
  });

  test('are JSON, and SQL whose quotes are doubled', () => {
    const parsed = z
      .array(z.looseObject({ avg_ts: z.number() }))
      .parse(JSON.parse(renderLlamaBenchJson(verdict, context)));
    assert.equal(parsed.length, 4);
    const machine = { cpu: { model: "O'Brien's CPU" }, gpus: [] };
    const sql = renderLlamaBenchSql(verdict, { ...context, machine });
    assert.match(
      sql,
      /^CREATE TABLE IF NOT EXISTS llama_bench \(\n {2}build_commit TEXT,\n {2}build_number INTEGER,/,
    );
    assert.equal(sql.match(/^INSERT INTO llama_bench \(build_commit, .*\) VALUES \('.*'\);$/gm)?.length, 4);
    assert.match(sql, /'O''Brien''s CPU'/);
    assert.doesNotMatch(sql, /samples_/);
  });

  test('are none of a refused cell', () => {
    assert.deepEqual(llamaBenchRows(refused.verdict, refused.context), []);
  });

  test('are a table without rows where no cell has its proofs, which sqlite can be given and asked', () => {
    const [table] = renderLlamaBenchSql(verdict, context).split(';');
    const sql = renderLlamaBenchSql(refused.verdict, refused.context);
    assert.equal(sql, `${table};\n\n-- No cell has proved rates.\n`);
  });
});

describe('a planted slowdown', () => {
  const arms = plan.arms.map((arm) => (arm.name === 'head' ? { ...arm, plantedSlowdownPercent: 3 } : arm));
  const planted = { ...context, plan: { ...plan, arms } };
  const mark = 'PLANTED slowdown of 3 % in head';
  const linesOf = (text: string, begin: string): string[] =>
    text.split(/\r?\n/).filter((line) => line.startsWith(begin));

  test('is told in every line of CSV, and only where there is one', () => {
    const rows = linesOf(renderCsv(verdict, planted), verdict.session);
    assert.ok(rows.length > 0);
    for (const row of rows) assert.ok(row.includes(`,${verdict.clock} (${mark}),`), row);
    assert.doesNotMatch(renderCsv(verdict, context), /PLANTED/);
  });

  test('is told in the configuration of benchstat, the same for all arms', () => {
    const text = renderBenchstat(verdict, planted);
    assert.deepEqual(linesOf(text, 'clock: '), [`clock: ${verdict.clock} (${mark})`]);
    assert.doesNotMatch(renderBenchstat(verdict, context), /PLANTED/);
  });

  test('is told in every row of llama-bench', () => {
    const rows = llamaBenchRows({ ...verdict, clock: 'cpu' }, planted);
    assert.deepEqual(
      rows.map(({ backends }) => backends),
      rows.map(() => `embedded (CPU time, ${mark})`),
    );
    const byWall = renderLlamaBenchSql({ ...verdict, clock: 'wall' }, planted);
    assert.equal(byWall.split(`'embedded (${mark})'`).length - 1, rows.length);
    assert.doesNotMatch(renderLlamaBenchSql(verdict, context), /PLANTED/);
  });

  test('of several arms is told of each', () => {
    const both = plan.arms.map((arm, at) => ({ ...arm, plantedSlowdownPercent: 3 + at }));
    assert.match(
      renderBenchstat(verdict, { ...context, plan: { ...plan, arms: both } }),
      /^clock: \w+ \(PLANTED slowdown of 3 % in base, PLANTED slowdown of 4 % in head\)$/m,
    );
  });
});
