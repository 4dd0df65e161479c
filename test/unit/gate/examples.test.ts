/** The policies that are shipped as examples do what they say. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { EXIT } from '../../../src/exit-codes.js';
import { decide } from '../../../src/gate/decide.js';
import type { GateDecision } from '../../../src/gate/decision.js';
import { gather } from '../../../src/gate/gate.js';
import type { GateInput, VerifiedRun } from '../../../src/gate/input.js';
import { parsePolicy } from '../../../src/gate/policy-file.js';
import { renderGateText } from '../../../src/gate/text.js';
import { harnessFolder } from '../../../src/harness.js';
import { loadMatrix } from '../../../src/matrix/load.js';
import type { Matrix } from '../../../src/matrix/schema.js';
import { withRevisions } from '../../../src/matrix/with-revisions.js';
import { buildPlan } from '../../../src/plan/build.js';
import { GateSite } from '../../fixtures/gate-site.js';
import { removeFolder } from '../../support/folder.js';
import { scratchRoot } from '../../support/scratch-root.js';

const EXAMPLES = join('docs', 'examples', 'policies');
const bytesOf = (name: string): Promise<Buffer> => readFile(join(harnessFolder, EXAMPLES, name));

const GIB = 2 ** 30;
const LENGTHS = [8192, 32_768, 131_072];
/** Of the runs that stand for such of these lengths. */
const SMALL = [64, 96, 128];

describe('matched-128gib.yaml', () => {
  let folder = '';
  let site: GateSite;
  let nothing: GateDecision;
  let input: GateInput;

  before(async () => {
    folder = await mkdtemp(join(scratchRoot, 'qualify-gate-'));
    site = await GateSite.make(folder, { cells: SMALL });
    const { repository } = site;
    repository.git('checkout', '--quiet', 'main');
    repository.write('qualify.policy.yaml', String(await bytesOf('matched-128gib.yaml')));
    site.base = repository.commit('the example, as it is shipped');
    repository.git('rebase', '--quiet', 'main', 'change');
    site.head = repository.git('rev-parse', 'HEAD');
    nothing = await site.gate();
    await site.run('even');
    await site.run('losing', { headShare: (tokens) => (tokens === SMALL[2] ? 1.1 : 1) });
    input = await gather(site.options());
    const { matrix } = loadMatrix('long-context-pr');
    assert.deepEqual(input.matrices, [matrix]);
    for (const { run } of input.runs) {
      assert.ok(run);
      sayLong(run, matrix);
    }
  });
  after(() => removeFolder(folder));

  /** The prompts of the real cells would make a gigabyte of evidence: of a run of three small ones, what a run of these three says. */
  function sayLong(run: VerifiedRun, matrix: Matrix): void {
    const revisions = { base: site.base, head: site.head };
    const arms = Object.entries(revisions).map(([name, revision]) => ({ name, revision }));
    const { session, seed } = run.plan;
    run.plan = buildPlan(withRevisions(matrix, arms).matrix, { session, seed });
    run.verdict.matrix = run.plan.matrix;
    for (const cell of run.verdict.cells) {
      const planned = run.plan.cells[SMALL.indexOf(cell.promptTokens)];
      assert.ok(planned);
      const { id, promptTokens, chunk } = planned;
      Object.assign(cell, { id, promptTokens, chunk });
    }
  }

  /** What comes of one of the runs on a machine of so much memory and of cells of these lengths. */
  function decided(gib: number, lengths: readonly number[] = LENGTHS, name = 'even'): GateDecision {
    const copy = structuredClone(input);
    const runs = copy.runs.filter(({ path }) => basename(path) === name);
    const run = runs[0]?.run as VerifiedRun;
    run.machine.memory.totalBytes = String(Math.round(gib * GIB));
    run.verdict.cells = run.verdict.cells.filter(({ promptTokens }) => lengths.includes(promptTokens));
    const leftOut = LENGTHS.filter((length) => !lengths.includes(length)).map((length) => `${length}/2048`);
    if (leftOut.length > 0) run.plan.leftOut = leftOut;
    return decide({ ...copy, runs });
  }
  const codes = ({ requirements }: GateDecision): string[] =>
    requirements.flatMap(({ reasons }) => reasons.map(({ code }) => code));

  test('as the policy of a base, with nothing offered, it is missing', () => {
    assert.deepEqual([nothing.result, nothing.exitCode], ['missing', EXIT.notMeasured]);
    assert.deepEqual(codes(nothing), ['no-run']);
    assert.deepEqual(
      [nothing.policy.path, nothing.policy.commit, nothing.policy.title],
      ['qualify.policy.yaml', site.base, 'Matched 8K/32K/128K prefill on the 128 GiB target'],
    );
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

  test('where only 128K loses it fails, and shows the losing cell first and the others beside it', () => {
    const decision = decided(125, LENGTHS, 'losing');
    assert.deepEqual([decision.result, decision.exitCode], ['fail', EXIT.overBudget]);
    const cells = decision.requirements[0]?.cells ?? [];
    assert.deepEqual(
      cells.map(({ promptTokens, result }) => [promptTokens, result]),
      [
        [131_072, 'fail'],
        [8192, 'pass'],
        [32_768, 'pass'],
      ],
    );
    const text = renderGateText(decision);
    for (const { id, baseMedian, headMedian } of cells) {
      assert.ok(baseMedian !== null && headMedian !== null);
      const [base, head] = [baseMedian, headMedian].map((rate) => `${rate.toFixed(2)} tok/s`);
      assert.match(text, new RegExp(`^ {2}${id} +${base} +${head}`, 'm'));
    }
  });

  test('of 8K and 32K alone it is missing', () => {
    const decision = decided(125, [8192, 32_768]);
    assert.deepEqual([decision.result, decision.exitCode], ['missing', EXIT.notMeasured]);
    assert.ok(codes(decision).includes('left-out'));
    assert.ok(codes(decision).includes('cell-missing'));
  });
});

test('prefill.yaml parses, and asks for two machines and a challenge', async () => {
  const policy = parsePolicy(await bytesOf('prefill.yaml'), join(EXAMPLES, 'prefill.yaml'));
  assert.equal(policy.challenge, 'required');
  assert.equal(policy.require[0]?.machinesAtLeast, 2);
  assert.equal(loadMatrix(policy.require[0]?.matrix ?? '').matrix.name, 'prefill-short-pr');
});
