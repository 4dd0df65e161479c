/** Reasons that repeat in every cell are one line. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byCell, reasonsByRow } from '../../../src/report/notes.js';
import { rowsOf } from '../../../src/report/rows.js';
import { reports } from '../../fixtures/reports.js';

const ids = ['64/32', '96/32', '300/128', '401/512', '512/512'];
const messages = (list: readonly [string, string][]): string[] =>
  byCell(
    list.map(([code, message]) => ({ code, message })),
    ids,
  ).map(({ code, message }) => `${code} ${message}`);

test('equal warnings of cells are one, with the cells; those of more than four cells count them', () => {
  const slot = ids.map((id): [string, string] => ['slow', `${id}, apart`]);
  assert.deepEqual(messages(slot.slice(0, 2)), ['slow 64/32, 96/32: apart']);
  assert.deepEqual(messages(slot), ['slow 5 cells: apart']);
});

test('where the figures differ, those of the first cell are told', () => {
  assert.deepEqual(
    messages([
      ['clocks-apart', '64/32: apart in 3 of 9'],
      ['other', 'of the session'],
      ['clocks-apart', '300/128: apart in 1 of 9'],
    ]),
    ['clocks-apart 64/32, 300/128; first, 64/32: apart in 3 of 9', 'other of the session'],
  );
});

test('a warning of one cell, and those of the session, stay as they are', () => {
  assert.deepEqual(
    messages([
      ['a', '64/32: one'],
      ['b', 'two'],
      ['b', 'three'],
    ]),
    ['a 64/32: one', 'b two', 'b three'],
  );
});

test('reasons follow the rows, whatever the order of the cells is', () => {
  const { verdict } = reports.failed();
  const losing = rowsOf(verdict).map(({ cell }) => cell.id);
  assert.equal(losing.length, 2);
  const ofSession = { code: 'narrowed', message: 'narrowed to some cells' };
  for (const reasons of [verdict.reasons, verdict.reasons.toReversed()]) {
    const told = reasonsByRow({ ...verdict, reasons: [...reasons, ofSession] });
    const cellsTold = told.map(
      ({ message }) => losing.find((id) => message.startsWith(`${id}, `)) ?? 'session',
    );
    assert.deepEqual([...new Set(cellsTold)], ['session', ...losing]);
  }
});
