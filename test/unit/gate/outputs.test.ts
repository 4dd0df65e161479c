/** Every output of a decision says the same: both numbers of both cells, the losing one first, a waiver before all else. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { renderCtrf } from '../../../src/gate/ctrf.js';
import { decide } from '../../../src/gate/decide.js';
import { type GateDecision, gateDecisionSchema } from '../../../src/gate/decision.js';
import { gather } from '../../../src/gate/gate.js';
import { renderSummary } from '../../../src/gate/github/render.js';
import { renderJunit } from '../../../src/gate/junit.js';
import { renderGateText } from '../../../src/gate/text.js';
import { sharedSite } from '../../fixtures/gate-input.js';
import { makeCell, makeDecision, makeRequirement } from '../../fixtures/github-decision.js';

/** The reports by the names of their options. */
const renders = {
  text: renderGateText,
  markdown: (decision: GateDecision) => renderSummary(decision),
  junit: renderJunit,
  ctrf: renderCtrf,
  json: (decision: GateDecision) => JSON.stringify(decision, null, 2),
};

/** A CTRF report as its documentation has it: no other keys, whole milliseconds, counts that add up. */
const statusSchema = z.enum(['passed', 'failed', 'skipped', 'pending', 'other']);
const count = z.int().min(0);
const ctrfSchema = z.strictObject({
  reportFormat: z.literal('CTRF'),
  specVersion: z.string().regex(/^\d+\.\d+\.\d+$/),
  timestamp: z.iso.datetime(),
  generatedBy: z.string(),
  results: z.strictObject({
    tool: z.strictObject({ name: z.string().min(1), version: z.string() }),
    summary: z
      .strictObject({
        ...{ tests: count, passed: count, failed: count, skipped: count, pending: count, other: count },
        ...{ suites: count, start: count, stop: count },
        extra: z.record(z.string(), z.unknown()),
      })
      .refine((all) => all.tests === all.passed + all.failed + all.skipped + all.pending + all.other),
    tests: z.array(
      z.strictObject({
        name: z.string().min(1),
        status: statusSchema,
        duration: count,
        rawStatus: z.string(),
        suite: z.array(z.string()).min(1),
        message: z.string(),
        tags: z.array(z.string()).optional(),
        stdout: z.array(z.string()),
      }),
    ),
  }),
});
const ctrfOf = (decision: GateDecision) => ctrfSchema.parse(JSON.parse(renderCtrf(decision)));

const site = await sharedSite({ cells: [401, 2048] });
await site.run('mixed', { headShare: (tokens) => (tokens === 401 ? 1 / 1.89 : 1.1) });
const mixed = await gather(site.options());
await site.waive('2048/32', { reason: 'slower | until <b>#647</b> lands\u001b[31m' });
const waived = await gather(site.options());

describe('a change with +89 % at 401 and -9 % at 2048', () => {
  test('is a fail', () => {
    const decision = decide(mixed);
    assert.deepEqual([decision.result, decision.exitCode], ['fail', 10]);
    assert.deepEqual(gateDecisionSchema.parse(JSON.parse(renders.json(decision))), decision);
    const cells = decision.requirements[0]?.cells.map(({ id, result, deltaPercent }) => [
      id,
      result,
      Math.round(deltaPercent ?? 0),
    ]);
    assert.deepEqual(cells, [
      ['2048/32', 'fail', -9],
      ['401/32', 'pass', 89],
    ]);
  });

  for (const [name, render] of Object.entries(renders))
    test(`shows both cells in ${name}, the losing one first, with both rates`, () => {
      const output = render(decide(mixed));
      const found = ['2048/32', '998.', '907.7', '401/32', '1887.1'].map((text) => output.indexOf(text));
      assert.ok(
        found.every((at) => at >= 0),
        `${found.join()}\n${output}`,
      );
      const [losing = 0, , slower = 0, winning = 0] = found;
      assert.ok(losing < winning && slower < winning);
      assert.match(output, /-9\.09/);
      assert.match(output, /\+89\.0 %|"deltaPercent": (89|88\.9)/);
    });

  test('fails one case of JUnit and CTRF and passes the other', () => {
    const xml = renderJunit(decide(mixed));
    assert.match(xml, /<testsuites [^>]*tests="2" failures="1" errors="0"/);
    const [failing = '', passing = ''] = xml.split('<testcase ').slice(1);
    assert.match(
      failing,
      /name="2048\/32"[\s\S]*<failure message="[^"]*998\.50[^"]*907\.73[^"]*" type="fail"/,
    );
    assert.doesNotMatch(passing, /<failure|<error/);
    const { tests, summary } = ctrfOf(decide(mixed)).results;
    assert.deepEqual(
      tests.map(({ status }) => status),
      ['failed', 'passed'],
    );
    assert.equal(summary.extra.exitCode, 10);
  });
});

describe('with a waiver for the losing cell', () => {
  test('is waived, exit 0', () => {
    const decision = decide(waived);
    assert.deepEqual([decision.result, decision.exitCode], ['waived', 0]);
    assert.deepEqual(
      decision.waivers.map(({ applies }) => applies),
      [true],
    );
  });

  test('says so before anything else', () => {
    const decision = decide(waived);
    assert.match(renders.text(decision), /^WAIVED \(exit 0\)/);
    assert.match(renders.markdown(decision), /^### WAIVED: /);
    assert.match(renders.junit(decision).split('\n')[1] ?? '', /name="qualify gate: WAIVED \(exit 0\)/);
    assert.equal(ctrfOf(decision).results.summary.extra.result, 'waived');
    assert.equal(decision.reasons[0]?.code, 'waived');
  });

  test('tells who, why and until when, harmlessly', () => {
    const decision = decide(waived);
    const signer = decision.waivers[0]?.signer ?? '-';
    for (const [name, render] of Object.entries(renders)) {
      const output = render(decision).replaceAll(/\n */g, '');
      assert.ok(output.replaceAll(' ', '').includes(signer), name);
      assert.match(output, /2026-12-10T00:00:00/, name);
      assert.match(output, /slower/, name);
      assert.ok(!output.includes('\u001b'), name);
    }
    assert.doesNotMatch(renders.markdown(decision), /<b>|#647/);
    assert.match(renders.junit(decision), /&lt;b&gt;|<!\[CDATA\[[\s\S]*<b>/);
  });

  test('is no plain pass in JUnit and CTRF', () => {
    const decision = decide(waived);
    const [first = ''] = renderJunit(decision).split('<testcase ').slice(1);
    assert.match(first, /<property name="waived" value="[^"]*\.waiver\.json"\/>/);
    assert.match(first, /<system-out>[\s\S]*WAIVED: 2048\/32 of fixture by SHA256:/);
    const [test] = ctrfOf(decision).results.tests;
    assert.deepEqual([test?.status, test?.rawStatus, test?.tags], ['other', 'waived', ['waived']]);
  });
});

describe('without evidence', () => {
  const missing = (): GateDecision => decide({ ...mixed, runs: [] });

  test('no report is green', () => {
    const xml = renderJunit(missing());
    const [, printed = ''] = /<system-out>([\s\S]*?)<\/system-out>/.exec(xml) ?? [];
    const lines = printed.split('\n').filter((line) => line.includes('[no-run]'));
    assert.equal(lines.length, 1, printed);
    assert.match(xml, /<testsuites [^>]*tests="1" failures="1" errors="0"/);
    assert.match(xml, /<failure message="no run of fixture on any counts[^"]*" type="no-run"/);
    const { tests, summary } = ctrfOf(missing()).results;
    assert.deepEqual([tests.length, tests[0]?.status, summary.failed], [1, 'failed', 1]);
  });

  test('a waiver changes nothing, and says why', () => {
    const decision = decide({ ...waived, runs: [] });
    assert.equal(decision.result, 'missing');
    assert.deepEqual(
      decision.waivers.map(({ applies, reasons }) => [applies, reasons[0]?.code]),
      [[false, 'other-cell']],
    );
    for (const name of ['text', 'markdown', 'json'] as const)
      assert.match(renders[name](decision), /other-cell/, name);
  });

  test('what does not verify is an error in JUnit', () => {
    const failure = { code: 'not-verified', message: 'evidence.sha256 has changed' };
    const xml = renderJunit(decide({ ...mixed, runs: [{ path: 'junk', run: null, failure }] }));
    assert.match(xml, /<testsuites [^>]*failures="0" errors="1"/);
  });
});

test('every output writes percents in one way, however large or small', () => {
  const decision = makeDecision('fail', {
    requirements: [
      makeRequirement([makeCell('401/512', 'fail', -0.00001), makeCell('402/512', 'pass', 1234)], 'fail'),
    ],
  });
  for (const [name, render] of Object.entries(renders)) {
    if (name === 'json') continue;
    const output = render(decision);
    for (const text of ['±0.00 %', '+1234.0 %', '+1233.0 %'])
      assert.ok(output.includes(text), `${name}: ${text}`);
    assert.doesNotMatch(output, /\de[+-]\d|0\.0000/, name);
  }
});

test('the text keeps within 80 columns, whatever others have called things', () => {
  const long = structuredClone(waived);
  const path = `manifests/${'a-long-name-'.repeat(12)}`;
  long.runs = long.runs.map((run) => ({ ...run, path }));
  const cell = long.runs[0]?.run?.verdict.cells[0];
  assert.ok(cell);
  cell.id = 'x'.repeat(64);
  const wide = renderGateText(decide(long))
    .split('\n')
    .filter((line) => line.length > 80);
  assert.deepEqual(wide, []);
});
