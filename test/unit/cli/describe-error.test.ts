/** How a failure reads, for people and for programs. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { describeError } from '../../../src/cli/describe-error.js';
import { QualifyError } from '../../../src/errors.js';

const path = `/srv/${'a-long-folder/'.repeat(7)}run`;
const error = new QualifyError(
  'ERR_QUALIFY_X',
  'A sentence that goes on for more than a terminal is wide, as those of builds that fail do.\n  and a line',
  {
    exit: 'usage',
    where: path,
    hint: `Look at \`the code span of several words\` and then see what is there to be done; to go on: qualify resume ${path} --wait`,
  },
);

describe('a failure', () => {
  test('is as wide as a terminal there, but for what is copied', () => {
    const lines = stripVTControlCharacters(describeError(error, true)).split('\n');
    assert.equal(lines[0], 'qualify: A sentence that goes on for more than a terminal is wide, as those of');
    assert.equal(lines[1], '         builds that fail do.');
    assert.equal(lines[2], '           and a line');
    assert.ok(lines.includes(`  at:   ${path}`));
    assert.ok(lines.includes(`        qualify resume ${path} --wait`), lines.join('\n'));
    assert.ok(lines.some((line) => line.includes('`the code span of several words`')));
    assert.deepEqual(
      lines.filter((line) => line.length > 80 && !line.includes(path)),
      [],
    );
    assert.equal(lines.at(-1), '  code: ERR_QUALIFY_X');
  });

  test('is a line a part elsewhere', () => {
    const text = describeError(error, false);
    assert.ok(text.includes(error.message));
    assert.ok(text.includes(`  next: ${error.hint}\n`));
  });
});
