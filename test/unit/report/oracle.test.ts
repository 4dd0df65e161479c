import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gradeOracle, type OraclePrompt } from '../../../src/analysis/oracle.js';
import { perFault } from '../../../src/plan/planted-faults.js';
import { describeOracle } from '../../../src/report/oracle.js';

const ids = (first: number) => Array.from({ length: 16 }, (_, i) => (first + i * i * 7) % 500);

const prompt = (id: string, struck: number): OraclePrompt => ({
  prompt: id,
  promptTokens: 2048,
  long: true,
  healthy: { tokens: ids(1), logitsSha256: `healthy ${id}` },
  faulty: perFault((fault) => ({
    tokens: ids(1),
    logitsSha256: fault === 'expert-scale' ? `healthy ${id}` : fault,
    struck: fault === 'dropped-topk-entry' ? 0 : struck,
  })),
});

const rule = { level: 'exact', minimumOutputTokens: 16 } as const;

test('the table has a row for each cell and prompt, a mark for each fault, and fits into 80 columns', () => {
  const cell = 'a-cell-whose-name-is-very-long-0123456789';
  const prompts = [prompt(`${cell}#parity-0`, 9), prompt(`${cell}#sample-0`, 0)];
  const graded = gradeOracle(rule, [{ cell, required: true, prompts }]);
  const text = describeOracle({ ...graded, notRun: [] }, { name: 'a-matrix', seed: 'f'.repeat(64) });
  const lines = text.split('\n');
  for (const line of lines) assert.ok(line.length <= 80, line);
  assert.match(lines[0] ?? '', /^a-matrix: partial at parity exact$/);
  const row = (name: RegExp) => lines.find((line) => name.test(line))?.split(/\s{2,}/) ?? [];
  assert.deepEqual(row(/^ {2}parity-0/).slice(-6), ['caught', 'caught', '-', 'caught', 'MISSED', 'partial']);
  assert.deepEqual(row(/^ {2}sample-0/).slice(-6), ['-', '-', '-', '-', '-', 'vacuous']);
  assert.match(text, /cell a-cell.*\s*.*does not see fault expert-scale/);
  assert.match(text, /Fault dropped-topk-entry strikes no prompt here/);
  assert.match(text, /--seed\s+makes the same prompts again/);
});

test('at level bounded each cell tells what of the limits is taken, and by how much faults are beyond them', () => {
  const named = (shift: number) =>
    ids(1).map((id) =>
      Array.from({ length: 10 }, (_, rank): [number, number] => [id + 500 * rank, -0.5 - rank - shift]),
    );
  const healthy = { tokens: ids(1), logitsSha256: null, probabilities: named(0) };
  const given = {
    ...prompt('a#parity-0', 1),
    healthy,
    arms: { head: { ...healthy, probabilities: named(0.001) } },
    faulty: perFault(() => ({ ...healthy, probabilities: named(0.25), struck: 1 })),
  };
  const bounded = { top1: 0.9, common: 0.9, meanLogProbability: 0.1 };
  const graded = gradeOracle({ ...rule, level: 'bounded', bounded }, [
    { cell: 'a', required: true, prompts: [given] },
  ]);
  const text = describeOracle({ ...graded, notRun: [] }, { name: 'm', seed: 's' });
  for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
  const flat = text.replaceAll(/\s+/g, ' ');
  assert.match(
    flat,
    /Distance in limits; beyond 1 parity fails: a healthy: head 0\.01; faults: route 2\.5, window 2\.5,/,
  );
});

test('arms that were not run are named, with the reason', () => {
  const graded = gradeOracle(rule, [{ cell: 'a', required: true, prompts: [prompt('a#parity-0', 1)] }]);
  const told = (notRun: string[]) =>
    describeOracle({ ...graded, notRun }, { name: 'm', seed: 's' }).replaceAll(/\s+/g, ' ');
  assert.match(told(['head', 'other']), /Not run: head, other\. .* of another revision than the reference/);
  assert.doesNotMatch(told([]), /Not run/);
});

test('names cannot steer the terminal', () => {
  const graded = gradeOracle(rule, [
    { cell: 'a\u001b[2J', required: false, prompts: [prompt('p\u0007', 1)] },
  ]);
  const text = describeOracle({ ...graded, notRun: [] }, { name: 'm\u009b', seed: 's\u001b' });
  for (const character of ['\u001b', '\u0007', '\u009b']) assert.ok(!text.includes(character));
});
