/** The policies that are shipped as examples do what they say. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { EXIT } from '../../../src/exit-codes.js';
import { decide } from '../../../src/gate/decide.js';
import type { GateDecision } from '../../../src/gate/decision.js';
import { gather } from '../../../src/gate/gate.js';
import type { GateInput, VerifiedRun } from '../../../src/gate/input.js';
import { parsePolicy } from '../../../src/gate/policy-file.js';
import { harnessFolder } from '../../../src/harness.js';
import { loadMatrix } from '../../../src/matrix/load.js';
import { withRevisions } from '../../../src/matrix/with-revisions.js';
import { buildPlan } from '../../../src/plan/build.js';
import { GateSite } from '../../fixtures/gate-site.js';
import { removeFolder } from '../../support/folder.js';
import { scratchRoot } from '../../support/scratch-root.js';

const example = async (name: string) => {
  const path = join('docs', 'examples', 'policies', name);
  return parsePolicy(await readFile(join(harnessFolder, path)), path);
};

const GIB = 2 ** 30;
const LENGTHS = [8192, 32_768, 131_072];

describe('matched-128gib.yaml', () => {
  let folder = '';
  let input: GateInput;

  before(async () => {
    folder = await mkdtemp(join(scratchRoot, 'qualify-gate-'));
    const site = await GateSite.make(folder, { cells: [64, 96, 128] });
    await site.run('run');
    input = await gather(site.options());
    input.policy = await example('matched-128gib.yaml');
    const { matrix } = loadMatrix('long-context-pr');
    input.matrices = [matrix];
    const run = input.runs[0]?.run;
    assert.ok(run);
    // The prompts of the real cells would make a gigabyte of evidence: of a run of three small ones, what a run of these three says.
    const revisions = { base: site.base, head: site.head };
    const arms = Object.entries(revisions).map(([name, revision]) => ({ name, revision }));
    const { session, seed } = run.plan;
    run.plan = buildPlan(withRevisions(matrix, arms).matrix, { session, seed });
    run.verdict.matrix = run.plan.matrix;
    for (const [index, cell] of run.verdict.cells.entries()) {
      const planned = run.plan.cells[index];
      assert.ok(planned);
      const { id, promptTokens, chunk } = planned;
      Object.assign(cell, { id, promptTokens, chunk });
    }
  });
  after(() => removeFolder(folder));

  /** What comes of a machine of so much memory and of cells of these lengths. */
  function decided(gib: number, lengths: readonly number[] = LENGTHS, isThere = true): GateDecision {
    const copy = structuredClone(input);
    const run = copy.runs[0]?.run as VerifiedRun;
    run.machine.memory.totalBytes = String(Math.round(gib * GIB));
    run.verdict.cells = run.verdict.cells.filter(({ promptTokens }) => lengths.includes(promptTokens));
    const leftOut = LENGTHS.filter((length) => !lengths.includes(length)).map((length) => `${length}/2048`);
    if (leftOut.length > 0) run.plan.leftOut = leftOut;
    return decide(isThere ? copy : { ...copy, runs: [] });
  }
  const codes = ({ requirements }: GateDecision): string[] =>
    requirements.flatMap(({ reasons }) => reasons.map(({ code }) => code));

  test('without evidence it is missing', () => {
    const decision = decided(125, LENGTHS, false);
    assert.deepEqual([decision.result, decision.exitCode], ['missing', EXIT.notMeasured]);
    assert.deepEqual(codes(decision), ['no-run']);
  });

  test('of a machine of 64 GiB it is missing, and says so', () => {
    const decision = decided(62.5);
    assert.deepEqual([decision.result, decision.exitCode], ['missing', EXIT.notMeasured]);
    assert.deepEqual(codes(decision), ['no-run', 'wrong-machine']);
    assert.match(
      decision.requirements[0]?.reasons[1]?.message ?? '',
      /its machine is no target-128gib: it has 62\.5 GiB of memory, under 120$/,
    );
  });

  test('of the target and with every cell it passes', () => {
    const decision = decided(125);
    assert.deepEqual([decision.result, decision.exitCode], ['pass', EXIT.pass]);
    assert.deepEqual(
      decision.requirements[0]?.cells.map(({ promptTokens }) => promptTokens).toSorted((a, b) => a - b),
      LENGTHS,
    );
  });

  test('of 8K and 32K alone it is missing', () => {
    const decision = decided(125, [8192, 32_768]);
    assert.deepEqual([decision.result, decision.exitCode], ['missing', EXIT.notMeasured]);
    assert.ok(codes(decision).includes('left-out'));
    assert.ok(codes(decision).includes('cell-missing'));
  });
});

test('prefill.yaml parses, and asks for two machines and a challenge', async () => {
  const policy = await example('prefill.yaml');
  assert.equal(policy.challenge, 'required');
  assert.equal(policy.require[0]?.machinesAtLeast, 2);
  assert.equal(loadMatrix(policy.require[0]?.matrix ?? '').matrix.name, 'prefill-short-pr');
});
