/** What the history says on a terminal. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import { NOTICE, renderHistory, sparkline } from '../../../src/history/render.js';
import { selectRuns } from '../../../src/history/select.js';
import { seriesOf } from '../../../src/history/series.js';
import { badLine, cell, goodLine } from '../../fixtures/run-lines.js';

const machine = sha256('machine');
const render = (
  lines: Parameters<typeof selectRuns>[0],
  rest: { cell?: string; last?: number; running?: string } = {},
) => {
  const selection = selectRuns(lines, { machine, cell: rest.cell });
  const series = rest.cell === undefined ? null : seriesOf(selection.runs, rest.cell);
  const running = new Set(rest.running === undefined ? [] : [rest.running]);
  return renderHistory({
    ...{ selection, series, machine, running },
    cell: rest.cell ?? null,
    last: rest.last ?? 20,
  });
};

describe('the history', () => {
  test('begins with what it is not, also when there is nothing', () => {
    assert.ok(render([]).startsWith(`${NOTICE}\n\nNo run to tell of.`));
    assert.ok(render([goodLine(1)]).startsWith(NOTICE));
    assert.match(NOTICE, /^never used for gating: rates of different sessions are not compared$/);
  });

  test('lists runs newest first, with the worst cell of each, in 80 columns', () => {
    const effect = { deltaPercent: -3, ratio: 0.97, lower: 0.96, upper: 0.98, rounds: 6 };
    const compared = [{ arm: 'head', verdict: 'fail' as const, detail: 'beyond-budget', rate: null, effect }];
    const long = { name: 'a-matrix-with-a-name-that-is-much-too-long', digest: machine };
    const text = render([
      goodLine(1),
      goodLine(2, { matrix: long, cells: [cell(1), cell(2, { compared })] }),
    ]);
    const rows = text.split('\n').filter((line) => line.startsWith('20261129'));
    assert.match(rows[0] ?? '', /^20261129-120200-abcdef +a-matrix-with-a-n… +pass +401\/512 -3\.00 %$/);
    assert.match(rows[1] ?? '', /^20261129-120100-abcdef/);
    assert.ok(text.split('\n').every((line) => line.length <= 80));
  });

  test('marks a run that says nothing of a change, and only such a one, under its row', () => {
    const text = render([goodLine(1, { simulated: true }), goodLine(2, { plantedPercent: 3 }), goodLine(3)]);
    assert.match(
      text,
      /-120200-.*\n {2}PLANTED slowdown of 3 %: no qualification\n.*-120100-.*\n {2}SIMULATED: nothing/,
    );
    assert.equal(text.match(/PLANTED|SIMULATED/g)?.length, 2);
  });

  test('says how many rows are not shown', () => {
    const lines = [1, 2, 3].map((at) => goodLine(at));
    assert.match(render(lines, { last: 2 }), /^and 1 older: --last 3$/m);
    assert.doesNotMatch(render(lines, { last: 3 }), /older/);
  });

  test('counts what is left out, and names every run that does not verify, with the reason', () => {
    const text = render([
      goodLine(1),
      goodLine(2, { evidence: sha256('evidence 1') }),
      goodLine(3, { machineId: sha256('elsewhere') }),
      badLine('.qualify/runs/odd\u001b[2J', 'journal.jsonl has changed'),
    ]);
    assert.match(
      text.replaceAll('\n', ' '),
      /1 run of other machines \(--machine all\); 1 run twice, of which one is told/,
    );
    assert.match(
      text,
      /1 run does not verify and is left out:\n {2}\.qualify\/runs\/odd\\u\{1b\}\[2J\n {4}journal\.jsonl has changed \[ERR_QUALIFY_INVALID\]/,
    );
  });

  test('tells of a run without a verdict in a sentence of its own, and whether its session goes on', () => {
    const unfinished = (name: string) => ({
      ...badLine(`.qualify/runs/${name}`, 'is not finished'),
      code: 'ERR_QUALIFY_RUN_UNFINISHED',
    });
    const text = render([unfinished('now'), unfinished('left')], { running: '.qualify/runs/now' });
    assert.match(text, /^\.qualify\/runs\/now is still running\.$/m);
    assert.match(
      text.replaceAll(/\s+/g, ' '),
      /runs\/left did not come to its end\. To go on: qualify resume \.qualify\/runs\/left/,
    );
    assert.doesNotMatch(text, /not verify/);
  });

  test('of a cell shows the change of that cell, and of one session no course', () => {
    const effect = (ratio: number) => ({ deltaPercent: 0, ratio, lower: 0.9, upper: 1.1, rounds: 6 });
    const compared = (ratio: number) => [
      { arm: 'head', verdict: 'pass' as const, detail: null, rate: null, effect: effect(ratio) },
    ];
    const cells = [
      cell(2000, { compared: compared(1.02), null: null }),
      cell(9, { id: '64/32', compared: compared(0.9) }),
    ];
    const text = render([goodLine(1, { cells })], { cell: '401/512' });
    assert.match(text, /^session +matrix +result +401\/512$/m);
    assert.match(text, /^20261129-\S+ +prefill-short +pass +\+2\.00 %$/m);
    assert.match(text, /^ {2}base {2}2000\.00 tok\/s in 1 session$/m);
    assert.doesNotMatch(text, /▁|worst cell|64\/32|Each block/);
    assert.match(text, /^All of a series ran the same build/m);
  });

  test('names the settings in which two series differ, and no others', () => {
    const settings = { warmups: '1', samples: '5', DFLASH_B: '0' };
    const other = { settings, cells: [cell(2000, { conditions: sha256('others') })] };
    const text = render([goodLine(1), goodLine(2, other)], { cell: '401/512' }).replaceAll(/\s+/g, ' ');
    assert.match(text, /wall time, samples 3, DFLASH_A=1, no DFLASH_B, prefill-short/);
    assert.match(text, /wall time, samples 5, no DFLASH_A, DFLASH_B=0, prefill-short/);
    assert.doesNotMatch(text, /warmups/);
  });

  test('draws the trend of a cell and tells of a change', () => {
    const lines = Array.from({ length: 20 }, (_, at) =>
      goodLine(at, { cells: [cell((at < 10 ? 2000 : 1800) + ((at * 7) % 5))] }),
    );
    const text = render(lines, { cell: '401/512' });
    assert.match(text, /^ {2}base {2}█{10}▁{10}$/m);
    assert.match(text, /^ {2}null {2}█{10}▁{10}$/m);
    assert.match(text, /^Each block is a session, oldest first\. All of a series/m);
    assert.match(
      text.replaceAll(/\s+/g, ' '),
      /base lower from 20261129-121000-abcdef on: 2002\.00 -> 1802\.00 tok\/s \(-10\.0 %\), 10 and 10 sessions/,
    );
    assert.ok(text.split('\n').every((line) => line.length <= 80));
    assert.match(render(lines.slice(0, 5), { cell: '401/512' }), /too few sessions/);
    assert.match(render(lines.slice(0, 10), { cell: '401/512' }), /no change of level/);
  });

  test('has a block for every height, and a blank for what was not measured', () => {
    assert.equal(sparkline([0, 1, 2, 3, 4, 5, 6, 7], [0, 8]), '▁▂▃▄▅▆▇█');
    assert.equal(sparkline([5, null, 5], [5]), '▅ ▅');
    assert.equal(sparkline([1, 2], [1, 2]), '▁█');
    assert.equal(sparkline([2000, 2000.1], [2000, 2000.1]), '▄▅', 'what is below 1 % is no step');
  });
});
