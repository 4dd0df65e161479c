import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { it } from 'node:test';
import { formatBytes, inert, printable, startProgress, wantsColour } from '../../../src/cli/output.js';
import { refusedArchive } from '../../../src/manifest/extract-archive.js';
import { invalid } from '../../../src/manifest/invalid.js';
import { untrusted } from '../../../src/manifest/untrusted.js';
import { plainText } from '../../../src/report/escape.js';

it('colours terminals, unless NO_COLOR or a dumb terminal forbids it, and others on FORCE_COLOR', () => {
  assert.equal(wantsColour(true, {}), true);
  assert.equal(wantsColour(false, {}), false);
  assert.equal(wantsColour(true, { NO_COLOR: '1' }), false);
  assert.equal(wantsColour(true, { NO_COLOR: '' }), true);
  assert.equal(wantsColour(true, { TERM: 'dumb' }), false);
  assert.equal(wantsColour(false, { FORCE_COLOR: '1' }), true);
  assert.equal(wantsColour(true, { FORCE_COLOR: '0' }), false);
  assert.equal(wantsColour(false, { FORCE_COLOR: '1', NO_COLOR: '1' }), false);
});

it('makes what could drive a terminal visible and leaves text alone', () => {
  assert.equal(printable('a\u001b[2J\u009b\u202eb\r'), 'a\\u001b[2J\\u009b\\u202eb\\u000d');
  assert.equal(printable('zwei\nZeilen\tß €'), 'zwei\nZeilen\tß €');
});

it('lets no mark through that hides, reverses or breaks text, in answers and in messages alike', () => {
  const marks = '\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\u0085\u007f';
  for (const mark of marks) {
    const spelt = `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`;
    assert.equal(printable(`a${mark}b`), `a${spelt}b`);
    assert.equal(inert(JSON.stringify(`a${mark}b`)), `"a${spelt}b"`);
    assert.equal(plainText(`a${mark}b`).includes(mark), false);
    for (const error of [
      invalid('f', `a${mark}b`),
      untrusted('unknown-key', `a${mark}b`, 'trust.json'),
      refusedArchive('f', `a${mark}b`),
    ])
      assert.match(error.message, /a\?b$/, spelt);
  }
  assert.match(invalid('f', 'a\nb').message, /a\nb$/);
  assert.equal(inert('\u001b[31mred\u001b[39m\tand\n'), '\u001b[31mred\u001b[39m\tand\n');
});

it('writes bytes as people read them', () => {
  assert.deepEqual([0, 999, 1500, 2_500_000].map(formatBytes), ['0 B', '999 B', '1.5 kB', '2.5 MB']);
});

/** A stream that keeps what is written, a terminal or not. */
function fakeStream(isTTY: boolean): NodeJS.WriteStream & { text: string } {
  const stream = new Writable({
    write(piece, _encoding, done) {
      Object.assign(stream, { text: `${(stream as unknown as { text: string }).text}${piece}` });
      done();
    },
  });
  return Object.assign(stream, { isTTY, columns: 30, text: '' }) as unknown as NodeJS.WriteStream & {
    text: string;
  };
}

it('writes a line every quarter of the work into a log', () => {
  const stream = fakeStream(false);
  const progress = startProgress(stream);
  for (let step = 0; step <= 100; step += 1) progress.update(`step ${step}`, step / 100);
  progress.end('done');
  assert.equal(stream.text, 'step 0\nstep 25\nstep 50\nstep 75\nstep 100\ndone\n');
});

it('rewrites one line on a terminal, cut to its width, and takes it away at the end', () => {
  const stream = fakeStream(true);
  const progress = startProgress(stream);
  progress.update('x'.repeat(100));
  progress.end();
  assert.equal(stream.text, `\r\u001b[2K${'x'.repeat(29)}\r\u001b[2K`);
});

it('begins to count again when the next piece of work begins', () => {
  const stream = fakeStream(false);
  const progress = startProgress(stream);
  for (const share of [0, 1]) progress.update(`base ${share}`, share);
  for (const share of [0.1, 1]) progress.update(`head ${share}`, share);
  assert.equal(stream.text, 'base 0\nbase 1\nhead 0.1\nhead 1\n');
});
