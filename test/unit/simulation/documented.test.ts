/** The error rates in the documents are those of this code: some of their lines are counted again. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { harnessFolder } from '../../../src/harness.js';
import { errorRatesMarkdown } from '../../../src/report/error-rates.js';
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

for (const [interval, documents] of [
  ['t', ['method.md', 'error-rates.md']],
  ['walsh', ['error-rates.md']],
] as const) {
  test(`${documents.join(' and ')}: noise alone, CV 1 %, ${interval}`, () => {
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
    for (const document of documents) {
      const text = read(document);
      for (const line of lines) assert.ok(text.includes(line), `${document} lacks ${line}`);
    }
  });
}
