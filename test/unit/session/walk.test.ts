import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { makeRunFolder, sessionName } from '../../../src/session/run-folder.js';
import { progressLine } from '../../../src/session/walk.js';
import { scratchFolder } from '../../support/folder.js';

describe('progress of a session', () => {
  test('says when the next look is due, at the pace so far', () => {
    assert.equal(progressLine({ launches: 0, elapsedMs: 0 }, 12, 0, 6), 'round 1 of 6');
    assert.equal(
      progressLine({ launches: 4, elapsedMs: 20_000 }, 12, 2, 6),
      'round 3 of 6, about 40 s to the look',
    );
    assert.equal(
      progressLine({ launches: 1, elapsedMs: 60_000 }, 4, 0, 2),
      'round 1 of 2, about 3 min to the look',
    );
  });
});

describe('the run folder', () => {
  test('is named by the time in UTC and chance', () => {
    assert.equal(sessionName(new Date('2026-11-29T21:30:05.999Z'), '3fa9c1'), '20261129-213005-3fa9c1');
    assert.match(sessionName(new Date()), /^\d{8}-\d{6}-[0-9a-f]{6}$/);
  });

  test('is new, in its default place or where it is told', async (t) => {
    const folder = await scratchFolder(t);
    assert.equal(makeRunFolder('s', undefined, folder), join(folder, '.qualify/runs/s'));
    assert.ok(existsSync(join(folder, '.qualify/runs/s')));
    assert.equal(makeRunFolder('s', 'out', folder), join(folder, 'out'));
    assert.throws(() => makeRunFolder('s', '.qualify', folder), {
      code: 'ERR_QUALIFY_RUN_FOLDER',
      exit: 'usage',
    });
    writeFileSync(join(folder, 'file'), '');
    assert.throws(() => makeRunFolder('s', 'file/none', folder), {
      code: 'ERR_QUALIFY_RUN_FOLDER',
      exit: 'infrastructure',
    });
  });
});
