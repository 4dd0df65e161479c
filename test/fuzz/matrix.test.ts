/** Matrices, which people write by hand and pull requests bring along. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { canonicalJson } from '../../src/digest.js';
import { builtInNames, builtInPath } from '../../src/matrix/built-in.js';
import { parseMatrix } from '../../src/matrix/parse.js';
import { buildPlan } from '../../src/plan/build.js';
import { planSchema } from '../../src/plan/schema.js';
import { fuzzTest } from './fuzz.js';
import { damagedText, damagedValue } from './mutations.js';

const texts = builtInNames().map((name) => readFileSync(builtInPath(name), 'utf8'));
const matrices = texts.map((text) => parseMatrix(text, 'x.yaml'));

/** Words of the grammar, at the indents at which matrices have them. */
const pieces = [
  ...[
    'cells:\n',
    '  - promptTokens: 32\n',
    '    chunk: 16\n',
    '    phase: decode\n',
    '    required: false\n',
  ],
  ...['arms:\n', '  head:\n', '    switches: {A: "1"}\n', '    revision: main\n', '    control: lever-off\n'],
  ...['protocol:\n', '  looks: [6, 12]\n', '  samples: 1\n', '  nullRounds: 2\n', '  parity: bounded\n'],
  ...[
    'budgets: {prefill: 50}\n',
    'engine: {cpus: "0-1"}\n',
    'model: {preset: unit}\n',
    '&a ',
    '*a',
    '<<: ',
    '? ',
  ],
];

/** A matrix that is taken means the same when its defaults are written out, and has a plan of its schema unless that is too long. */
function readsTheSame(text: string): void {
  const matrix = parseMatrix(text, 'x.yaml');
  assert.equal(canonicalJson(parseMatrix(JSON.stringify(matrix), 'x.yaml')), canonicalJson(matrix));
  const tokens = matrix.cells.reduce((sum, cell) => sum + cell.promptTokens, 0);
  if (tokens * (matrix.protocol.samples + matrix.protocol.warmups) > 100_000) return;
  planSchema.parse(buildPlan(matrix, { session: 'fuzz-session', seed: 'a'.repeat(64) }));
}

fuzzTest('a matrix damaged as text', damagedText(texts, pieces), readsTheSame, { share: 2 });

fuzzTest(
  'a matrix damaged by meaning',
  damagedValue(matrices, 2).map((value) => JSON.stringify(value) ?? ''),
  readsTheSame,
  { share: 2 },
);

fuzzTest(
  'a matrix made of the words of matrices',
  fc.oneof(
    fc.array(fc.constantFrom(...pieces), { maxLength: 20 }).map((words) => words.join('')),
    fc.constantFrom(...texts),
  ),
  readsTheSame,
);
