/** A plan that bears more than the defaults, or does not look, says so in its verdict, its table and its report. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { analyse } from '../../../src/analysis/analyse.js';
import { renderMarkdown } from '../../../src/report/markdown.js';
import { renderTable } from '../../../src/report/table.js';
import { judge } from '../../../src/verdict/judge.js';
import { makeJournal, makePlan, verdictOf } from '../../fixtures/journal.js';

const messageOf = (plan: ReturnType<typeof makePlan>, code: string): string | undefined =>
  verdictOf(plan).warnings.find((warning) => warning.code === code)?.message;

describe('limits of protocol.invalidation', () => {
  const loose = makePlan({
    protocol: { invalidation: { foreignCpuShare: 0.9, throttles: 3, swapIns: 10 } },
  });

  test('that bear more than the defaults are a warning with each value and its default', () => {
    const message = messageOf(loose, 'limits-loosened') ?? '';
    assert.match(message, /foreignCpuShare 0\.9 \(default 0\.25\), throttles 3 \(default 0\)/);
    assert.doesNotMatch(message, /swapIns|majorFaults/);
    assert.equal(verdictOf(loose).result, 'pass');
  });

  test('are none where they are the defaults or stricter', () => {
    assert.equal(messageOf(makePlan(), 'limits-loosened'), undefined);
    const strict = makePlan({ protocol: { invalidation: { foreignCpuShare: 0.1 } } });
    assert.equal(messageOf(strict, 'limits-loosened'), undefined);
  });

  test('stand in the table and in the report', () => {
    const entries = makeJournal(loose);
    const verdict = judge(loose, analyse(loose, entries));
    const context = { plan: loose, entries, machine: {} };
    assert.match(
      renderTable(verdict, { ...context, runFolder: 'run' }).replaceAll(/\s+/g, ' '),
      /foreignCpuShare 0\.9/,
    );
    assert.match(renderMarkdown(verdict, context).replaceAll(/\s+/g, ' '), /foreignCpuShare 0\.9/);
  });
});

test('arms without telemetry are a warning that names them', () => {
  const plan = makePlan({ arms: { base: {}, head: { telemetry: false } } });
  assert.match(messageOf(plan, 'not-watched') ?? '', /while head ran/);
  assert.equal(messageOf(makePlan(), 'not-watched'), undefined);
});
