import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { type Output, vacuityOf } from '../../../src/analysis/vacuity.js';
import { harnessFolder } from '../../../src/harness.js';

const realOutputs = join(harnessFolder, 'test', 'fixtures', 'oracle', 'real-outputs.json');

const output = (prompt: string, tokens: number[], long = true): Output => ({
  prompt,
  tokens,
  long,
  logitsSha256: `logits of ${prompt}`,
});
/** Ids without a pattern that depend on a word. */
const idsOf = (word: string, count = 16): number[] =>
  [...createHash('sha512').update(word).digest()].slice(0, count);
const circle = (ids: readonly number[], count = 16): number[] =>
  Array.from({ length: count }, (_, i) => ids[i % ids.length] ?? 0);
const counting = Array.from({ length: 16 }, (_, i) => i + 1);
const words = ['a', 'b', 'c', 'd', 'e', 'f'];

test('outputs that depend on their prompts prove something', () => {
  for (const level of ['exact', 'tokens', 'bounded'] as const) {
    const elsewhere = [output('z', idsOf('z'))];
    assert.equal(vacuityOf([output('a', idsOf('a'))], level, 16, elsewhere), null);
    assert.equal(
      vacuityOf(
        words.map((word) => output(word, idsOf(word))),
        level,
        16,
        elsewhere,
      ),
      null,
    );
  }
});

/** What engines that do not compute can still say, each for six prompts of a cell, or for one prompt in each of six cells. */
const empty: [string, (word: string, index: number) => number[], RegExp][] = [
  ['one output for every prompt', () => idsOf('constant'), /the same output/],
  ['the counting of a counting prompt', () => counting, /the same output|counts on/],
  ['two ids in turn', () => circle([7, 9]), /2 different tokens|in a circle/],
  [
    'two ids in turn, others for each prompt',
    (_, i) => circle([2 * i, 2 * i + 1]),
    /in a circle|2 different tokens/,
  ],
  ['one id for each prompt', (_, i) => circle([i]), /repeat themselves|1 different tokens/],
  ['a circle of five', () => circle(idsOf('circle', 5)), /repeat themselves|in a circle/],
  ['a circle of five of its own', (word) => circle(idsOf(word, 5)), /in a circle/],
  ['equal up to the last id', (_, i) => [...idsOf('constant', 15), i], /agree at 94 % of their positions/],
  ['equal from the third id on', (_, i) => [i, i + 9, ...idsOf('constant', 14)], /agree at 88 %/],
  ['two outputs for all prompts', (_, i) => idsOf(String(i % 2)), /6 prompts give 2 outputs/],
  ['counting on from an id of its own', (_, i) => counting.map((id) => id + 20 * i), /counts on/],
  ['counting down in steps of three', (_, i) => counting.map((id) => 900 - 3 * id - 50 * i), /counts on/],
];

for (const level of ['tokens', 'bounded'] as const) {
  for (const [name, make, message] of empty) {
    test(`${name} proves nothing by ${level}, within a cell and over cells`, () => {
      const outputs = words.map((word, index) => output(word, make(word, index)));
      assert.match(vacuityOf(outputs, level, 16)?.message ?? '', message);
      const [own, ...elsewhere] = outputs;
      assert.ok(own !== undefined);
      assert.match(vacuityOf([own], level, 16, elsewhere)?.message ?? '', message);
    });
  }
}

test('an output that repeats a piece of its prompt proves nothing, unless others do not', () => {
  const echoes = words.map((word) => ({ ...output(word, idsOf(word)), echo: true }));
  assert.match(vacuityOf(echoes, 'tokens', 16)?.message ?? '', /repeats the beginning or the end/);
  assert.equal(vacuityOf([...echoes, output('g', idsOf('g'))], 'tokens', 16), null);
});

test('one logits digest for the prompts of all cells proves nothing at level exact', () => {
  const constant = (prompt: string): Output => ({ ...output(prompt, idsOf(prompt)), logitsSha256: 'same' });
  assert.match(
    vacuityOf([constant('a')], 'exact', 16, [constant('b')])?.message ?? '',
    /does not depend on the prompt/,
  );
  assert.equal(vacuityOf([constant('a')], 'exact', 16, [output('b', idsOf('b'))]), null);
});

test('what the small models really said is not refused by tokens', () => {
  const real = z
    .array(z.object({ model: z.string(), cell: z.string(), tokens: z.array(z.int()) }))
    .parse(JSON.parse(readFileSync(realOutputs, 'utf8')));
  const names = [...new Set(real.map(({ model, cell }) => `${model} ${cell}`))];
  assert.ok(names.length >= 3);
  for (const name of names) {
    const outputs = real.filter(({ model, cell }) => name === `${model} ${cell}`);
    for (let first = 0; first + 5 <= outputs.length; first += 1) {
      const some = outputs.slice(first, first + 5).map(({ tokens }, i) => output(String(i), tokens));
      assert.equal(vacuityOf(some, 'tokens', 16), null, `${name} from ${first}`);
    }
  }
});

test('equal outputs of different prompts prove nothing by tokens, and something by logits', () => {
  const same = [output('a', idsOf('a')), output('b', idsOf('a'))];
  assert.match(vacuityOf(same, 'tokens', 16)?.message ?? '', /does not depend on the prompt/);
  assert.equal(vacuityOf(same, 'exact', 16), null);
  const constant = same.map((one) => ({ ...one, logitsSha256: 'constant' }));
  assert.match(vacuityOf(constant, 'exact', 16)?.message ?? '', /does not depend on the prompt/);
});

test('a single short output of many long ones is too short', () => {
  assert.match(
    vacuityOf([output('a', idsOf('a')), output('b', [1, 2, 3, 4])], 'tokens', 16)?.message ?? '',
    /4 tokens/,
  );
});

test('fewer than four different tokens are too few', () => {
  const three = Array.from({ length: 16 }, (_, i) => i % 3);
  assert.match(vacuityOf([output('a', three)], 'tokens', 16)?.message ?? '', /3 different tokens/);
  assert.equal(
    vacuityOf(
      [
        output(
          'a',
          Array.from({ length: 16 }, (_, i) => i % 4),
        ),
      ],
      'exact',
      16,
    ),
    null,
  );
});

test('a long circle repeats itself', () => {
  assert.match(
    vacuityOf([output('a', circle([0, 1, 2, 3, 4, 5], 100))], 'exact', 16)?.message ?? '',
    /repeat themselves/,
  );
  assert.equal(vacuityOf([output('a', circle(idsOf('a', 60), 100))], 'tokens', 16), null);
});
