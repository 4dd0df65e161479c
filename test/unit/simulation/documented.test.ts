/** The error rates in the documents are those of this code: some of their lines are counted again. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { harnessFolder } from '../../../src/harness.js';
import { errorRatesMarkdown } from '../../../src/report/error-rates.js';
import { goalsOf } from '../../../src/simulation/goals.js';
import { simulateMatrices } from '../../../src/simulation/matrices.js';
import { LAUNCHES, type Scenario, scenarios, UNDISTURBED } from '../../../src/simulation/scenario.js';
import { standardProtocol } from '../../../src/simulation/standard-protocol.js';

const SEED = 'qualify';
const MATRICES = 2000;
/** The disturbance that is refused, all that do not vary by launch at once, and the one that costs most. */
const DISTURBED = ['ramp 3 %', 'all of these', LAUNCHES];
const words = (line: string): string => line.replaceAll(/\s+/g, ' ');
const read = (name: string): string[] =>
  readFileSync(join(harnessFolder, 'docs', name), 'utf8')
    .split('\n')
    .map(words);

/** The lines of the table of these scenarios, counted again: cells of a line. */
function counted(of: readonly Scenario[], beginning: RegExp): string[][] {
  const simulated = of.map((scenario) => ({
    scenario,
    tally: simulateMatrices(scenario, standardProtocol, { seed: SEED, from: 0, count: MATRICES }),
  }));
  return errorRatesMarkdown({ seed: SEED, matrices: MATRICES, simulated })
    .split('\n')
    .map(words)
    .filter((line) => beginning.test(line))
    .map((line) => line.split(' | '));
}

/** A cell whose effect was not simulated is `-`, and not compared. */
const isSame = (line: readonly string[], own: readonly string[]): boolean =>
  line.length === own.length && own.every((cell, at) => cell === '-' || cell === line[at]);

/** Each of the lines stands in the document. */
function assertDocumented(lines: readonly string[][]): void {
  const text = read('error-rates.md').map((line) => line.split(' | '));
  for (const own of lines)
    assert.ok(
      text.some((line) => isSame(line, own)),
      `error-rates.md lacks ${own.join(' | ')}`,
    );
}

for (const [interval, disturbedEffects] of [
  ['t', [0, -2, -3]],
  // Cells on the margin take most of the time: those of one interval will do.
  ['walsh', [0, -3]],
] as const) {
  const own = scenarios.filter((one) => one.interval === interval && one.cvPercent === 1);
  const title = (what: string): string => `docs/error-rates.md: ${what}, CV 1 %, ${interval}`;

  test(title('noise alone'), () => {
    const alone = own.filter(
      (one) => one.disturbance === UNDISTURBED && [-2, -3].includes(one.effectPercent),
    );
    const lines = counted(alone, /^\| 1 %, /);
    assert.equal(lines.length, 2);
    assertDocumented(lines);
  });

  test(title(DISTURBED.join(', ')), () => {
    const effects: readonly number[] = disturbedEffects;
    const lines = DISTURBED.flatMap((disturbance) =>
      counted(
        own.filter((one) => one.disturbance === disturbance && effects.includes(one.effectPercent)),
        / CV 1 % \| /,
      ),
    );
    assert.deepEqual(
      lines.map(([name]) => name),
      DISTURBED.map((name) => `| ${name}, CV 1 %`),
    );
    assertDocumented(lines);
  });
}

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
