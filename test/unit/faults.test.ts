/** How every file that is no good says what is wrong with it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { conform } from '../../src/faults.js';
import { readDecision } from '../../src/gate/read-decision.js';
import { readChallenge } from '../../src/manifest/challenge-file.js';
import { parseTrustPolicy } from '../../src/manifest/trust-file.js';
import { scratchFolder } from '../support/folder.js';
import { refusal } from '../support/refusal.js';

const schema = z.strictObject({
  name: z.string(),
  rounds: z.int().min(6),
  machine: z.union([z.strictObject({ id: z.string() }), z.strictObject({ cpu: z.string(), cores: z.int() })]),
  list: z.array(z.strictObject({ key: z.string() })).optional(),
});

const faults = (value: unknown): string => {
  try {
    conform(schema, value, (text) => new Error(text));
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('it was taken');
};

const good = { name: 'a', rounds: 6, machine: { id: 'x' } };

test('one fault stands on the line, with its path and what would be right', () => {
  assert.deepEqual(conform(schema, good, Error), good);
  assert.equal(faults({ ...good, rounds: 2 }), ' rounds: must be at least 6');
  assert.equal(faults({ ...good, rouns: 2 }), ' unknown key "rouns": did you mean "rounds"?');
  assert.equal(faults({ ...good, name: undefined }), ' name: is missing');
  assert.equal(faults([]), ' must be a map of keys, is a list');
});

test('the nearest form of several is what is told of', () => {
  assert.equal(faults({ ...good, machine: { cpu: 'x' } }), ' machine.cores: is missing');
});

test('of many faults five are told, a line each, and how many more there are', () => {
  const many = { ...good, list: Array.from({ length: 12 }, () => ({ key: 1 })) };
  const lines = faults(many).split('\n');
  assert.equal(lines.length, 7);
  assert.deepEqual([lines[0], lines[1]], ['', "  list.0.key: is a number: quote it, '1'"]);
  assert.equal(lines.at(-1), '  and 7 more');
  const two = faults({ ...good, name: 1, rounds: 'x' }).split('\n');
  assert.deepEqual(two.slice(1), [
    "  name: is a number: quote it, '1'",
    '  rounds: must be a number, is the text "x"',
  ]);
});

test('what a stranger wrote is cut where it is quoted, and compared with nothing when it is long', () => {
  const long = 'x'.repeat(1_000_000);
  assert.ok(faults({ ...good, rounds: long }).length < 200);
  assert.ok(faults({ ...good, [long]: 1 }).length < 200);
  const name = 'n'.repeat(70);
  assert.throws(
    () => conform(z.strictObject({ [name]: z.string().optional() }), { [`${name.slice(1)}m`]: 1 }, Error),
    ({ message }: Error) => message.includes(`": known here: ${name}`) && !message.includes('did you mean'),
  );
});

test('decisions, challenges and trust policies are refused in a few lines with their own remedy', async (t) => {
  const folder = await scratchFolder(t);
  const path = join(folder, 'x.json');
  const readers: [(path: string) => unknown, RegExp][] = [
    [readDecision, /is no decision of a gate:/],
    [readChallenge, /is no challenge:/],
    [(file) => parseTrustPolicy(readFileSync(file), file), /is no trust policy:/],
  ];
  for (const [read, words] of readers)
    for (const text of ['{"a":1}', '{"a":', '\u00ff', `${'['.repeat(40)}${']'.repeat(40)}`]) {
      await writeFile(path, Buffer.from(text, 'latin1'));
      const { message, hint, exit } = await refusal(Promise.resolve().then(() => read(path)));
      assert.equal(exit, 'usage');
      assert.ok(message.split('\n').length <= 7, message);
      assert.doesNotMatch(message, /✖|Invalid input|Unrecognized/);
      // The file is named once.
      assert.equal(message.split('x.json').length, 2, message);
      assert.doesNotMatch(hint ?? '', /rely on this run/);
      if (text === '{"a":1}') assert.match(message, words);
    }
});
