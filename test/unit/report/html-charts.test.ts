/** What the charts of the page are drawn from, and when Vega is loaded. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { harnessFolder } from '../../../src/harness.js';
import { lookRecords } from '../../../src/report/html/rounds-chart.js';
import { timelineOf } from '../../../src/report/html/timeline.js';
import { pageOf, textOf } from '../../fixtures/html-pages.js';
import { reports } from '../../fixtures/reports.js';
import { repeatedRound } from '../../fixtures/void-round.js';

test('Vega is loaded where charts are drawn, and by nothing that other commands need', () => {
  const folder = join(harnessFolder, 'src');
  const naming = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .filter((name) =>
      /^import (?!type)[^;]*'vega|import\('vega/m.test(readFileSync(join(folder, name), 'utf8')),
    );
  assert.deepEqual(naming, ['report/html/chart.ts']);
  assert.doesNotMatch(
    readFileSync(join(folder, 'report/html/chart.ts'), 'utf8'),
    /^import (?!type)[^;]*'vega/m,
  );
});

describe('the looks of the chart', () => {
  test('end in the effect of the verdict', () => {
    const { verdict, context } = reports.undecided();
    for (const { effect } of verdict.cells.flatMap(({ comparisons }) => comparisons)) {
      assert.ok(effect);
      const looks = lookRecords(effect, context.plan);
      assert.deepEqual(
        looks.map(({ rounds }) => rounds),
        [6, 12, 18, 24],
      );
      const last = looks.at(-1);
      for (const key of ['ratio', 'lower', 'upper'] as const)
        assert.ok(Math.abs((last?.[key] ?? 0) - (effect[key] ?? 1)) < 1e-9, key);
    }
  });
});

describe('the timeline', () => {
  test('has launches in order, what was watched, and the looks', () => {
    const { launches } = timelineOf(reports.passed().context.entries);
    assert.equal(launches.length, 12);
    assert.ok(launches.every((own, at) => own.fromMinutes >= (launches[at - 1]?.toMinutes ?? 0)));
    assert.equal(launches[0]?.fromMinutes, 0);
    assert.ok(Math.abs((launches[0]?.othersPercent ?? 0) - 1) < 1e-9);
    assert.equal(launches[0]?.clockMhz?.median, 3000);
  });

  test('marks the launch that was lost, and the resumption', () => {
    const { launches, events } = timelineOf(reports.resumed().context.entries);
    assert.deepEqual(launches.map(({ left }) => left).slice(0, 3), [null, 'lost', null]);
    assert.deepEqual(
      events.map(({ text }) => text),
      ['resumed'],
    );
    assert.match(textOf(pageOf('resumed')), /\(lost\)/);
  });

  test('marks the launches of a round that was measured again, and when it was void', () => {
    const { plan, entries } = reports.passed().context;
    const { launches, events } = timelineOf(repeatedRound(plan, entries, 1));
    assert.deepEqual(
      launches.slice(0, 7).map(({ round, left }) => [round, left]),
      [
        [0, null],
        [0, null],
        [1, 'void'],
        [1, 'void'],
        [1, null],
        [1, null],
        [2, null],
      ],
    );
    assert.equal(events[0]?.text, 'round 2 void');
    assert.ok((events[0]?.atMinutes ?? 0) > (launches[3]?.fromMinutes ?? 0));
    assert.ok((events[0]?.atMinutes ?? 1) < (launches[4]?.fromMinutes ?? 0));
  });

  test('says where a session was cut short', () => {
    assert.match(textOf(pageOf('interrupted')), /cut short at/);
  });
});
