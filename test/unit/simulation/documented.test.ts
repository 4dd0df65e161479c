/** The error rates in the documents are those of this code: some of their lines are counted again. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { harnessFolder } from '../../../src/harness.js';
import { errorRatesMarkdown } from '../../../src/report/error-rates.js';
import { goalsOf } from '../../../src/simulation/goals.js';
import { simulateMatrices } from '../../../src/simulation/matrices.js';
import { scenarios, UNDISTURBED } from '../../../src/simulation/scenario.js';
import { standardProtocol } from '../../../src/simulation/standard-protocol.js';

const SEED = 'qualify';
const MATRICES = 2000;
const words = (line: string): string => line.replaceAll(/\s+/g, ' ');
const read = (name: string): string[] =>
  readFileSync(join(harnessFolder, 'docs', name), 'utf8')
    .split('\n')
    .map(words);

for (const interval of ['t', 'walsh'] as const)
  test(`docs/error-rates.md: noise alone, CV 1 %, ${interval}`, () => {
    const simulated = scenarios
      .filter((one) => one.disturbance === UNDISTURBED && one.cvPercent === 1 && one.interval === interval)
      .filter(({ effectPercent }) => [-2, -3].includes(effectPercent))
      .map((scenario) => ({
        scenario,
        tally: simulateMatrices(scenario, standardProtocol, { seed: SEED, from: 0, count: MATRICES }),
      }));
    const lines = errorRatesMarkdown({ seed: SEED, matrices: MATRICES, simulated })
      .split('\n')
      .map(words)
      .filter((line) => line.startsWith('| 1 %, '));
    assert.equal(lines.length, 2);
    const text = read('error-rates.md');
    for (const line of lines) assert.ok(text.includes(line), `error-rates.md lacks ${line}`);
  });

test('docs/method.md tells no figure of its goals that docs/error-rates.md does not have', () => {
  const [, table = ''] = read('method.md')
    .join('\n')
    .split('| goal | counted, in % (95 %) | kept |\n|---|---|---|\n');
  const counted = (table.split('\n\n')[0] ?? '').split('\n').map((line) => line.split('|')[2] ?? '');
  const figures = counted.flatMap((text) => text.match(/\d[\d.]*(?: \([^)]*\))?/g) ?? []);
  assert.ok(counted.length === 5 && figures.length > 10, figures.join('; '));
  // Goals are told as `99.85 % (99.56 % to 99.95 %)`, cells of tables as `99.85 (99.56–99.95)`.
  const known = read('error-rates.md').join('\n').replaceAll(' %', '').replaceAll(' to ', '–');
  assert.deepEqual(
    figures.filter((figure) => !known.includes(` ${figure} `) && !known.includes(` ${figure},`)),
    [],
  );
});

test('docs/error-rates.md has the goals in the words of the code', () => {
  const text = read('error-rates.md');
  const goals = goalsOf([]).map(({ goal }) => goal);
  assert.ok(goals.length > 3);
  assert.deepEqual(
    goals.filter((goal) => !text.some((line) => line.startsWith(`| ${goal} | yes |`))),
    [],
  );
});
