import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { SuiteCase, SuiteLine } from '../../../src/kernels/lines.js';
import { describeBench, describeFaults, describeSuiteTest } from '../../../src/report/kernels.js';

const HEADER: SuiteLine = { type: 'header', version: 1, seed: '7', threads: 2, cases: 3 };

function one(name: string, isa: SuiteCase['isa'], outcome: SuiteCase['outcome'], more = {}): SuiteCase {
  return { type: 'case', group: 'mmid/field', name, isa, class: 'exact', outcome, ...more };
}

it('counts what ran, never what could not run, and lists the cases of each group', () => {
  const lines = [
    HEADER,
    one('width 2', 'avx2', 'passed'),
    one('width 2', 'avx512', 'unsupported'),
    one('width 4', 'avx2', 'passed'),
    one('width 4', 'avx512', 'unsupported'),
  ];
  const text = describeSuiteTest(lines, { brief: false });
  assert.match(text, /^seed 7, 2 threads/);
  assert.match(text, /^mmid\/field +exact +avx2 2\/2 +avx512 unsupported$/m);
  assert.match(text, /^ {4}width 2; width 4$/m);
  assert.match(text, /^avx2 +2\/2$/m);
  assert.match(text, /^avx512 +not run: .* 2 cases are not proved$/m);
  assert.doesNotMatch(describeSuiteTest(lines, { brief: true }), /width 4/);
});

it('tells a failure with its case, instruction set, words and figures', () => {
  const failure = 'scores: NMSE 1e-3 above 1e-12';
  const text = describeSuiteTest(
    [
      HEADER,
      one('plain', 'avx2', 'passed'),
      one('fused', 'avx2', 'failed', { failure, nmse: 1e-3, maxAbs: null, cosineDistance: 0.5 }),
    ],
    { brief: true },
  );
  assert.match(text, /avx2 1\/2/);
  assert.match(
    text,
    /^FAILED mmid\/field\/fused on avx2: scores: NMSE 1e-3 above 1e-12 \(NMSE 1\.0e-3, max abs not finite, 1 - cosine 5\.0e-1\)$/m,
  );
});

it('says of each fault which case caught it, or that it survived', () => {
  const fault = {
    name: 'stale lane',
    why: 'old sums',
    file: 'cpu/a.h',
    text: 'a',
    replacement: 'b',
    filter: '',
  };
  const text = describeFaults([
    { fault, caughtBy: [one('width 2', 'avx2', 'failed'), one('width 4', 'avx2', 'failed')] },
    { fault: { ...fault, name: 'none' }, caughtBy: [] },
    { fault: { ...fault, name: 'wild' }, caughtBy: [], crash: 'the suite ended by SIGSEGV\noh no' },
  ]);
  assert.match(text, /^caught {3}stale lane {2}mmid\/field\/width 2 and 1 more$/m);
  assert.match(text, /^SURVIVED none {8}old sums \(kernels\/cpu\/a\.h\)$/m);
  assert.match(text, /^caught {3}wild {8}the suite ended by SIGSEGV$/m);
  assert.match(text, /^2\/3 planted faults are caught$/m);
});

it('shows ceilings and one line a measurement', () => {
  const lines: SuiteLine[] = [
    { type: 'header', version: 1, threads: 2, quick: true },
    { type: 'ceiling', name: 'int8 dot', isa: 'avx2', unit: 'GOPS', one: 80.04, all: 150, threads: 2 },
    {
      type: 'measure',
      op: 'experts',
      shape: 'mini, 32 tokens',
      isa: 'avx2',
      threads: 2,
      us: 1234.5,
      rate: 61.25,
      unit: 'GOPS',
      ofCeiling: 0.408,
      against: 'serial',
      speedup: 1.237,
    },
    {
      type: 'measure',
      op: 'exp',
      shape: '9',
      isa: 'avx2',
      threads: 1,
      us: 0.5,
      rate: 1,
      unit: 'GFLOPS',
      ofCeiling: null,
    },
    { type: 'end' },
  ];
  const text = describeBench(lines, { status: 'ok', found: '0.10' });
  assert.match(text, /^ceiling int8 dot \(avx2\): 80\.0 GOPS on one thread, 150\.0 on 2$/m);
  assert.match(text, /^experts, mini, 32 tokens +2 wall +1235 +61\.3 GOPS +41 % +1\.24 x serial$/m);
  assert.match(text, /^exp, 9 +1 cpu +0\.50 +1\.0 GFLOPS$/m);
  assert.doesNotMatch(text, /busy/);
  assert.match(
    describeBench(lines, { status: 'warn', found: '4.60 over the last minute on 2 CPUs' }),
    /\n\nbusy machine: load 4\.60 over the last minute on 2 CPUs; .*$/,
  );
});
