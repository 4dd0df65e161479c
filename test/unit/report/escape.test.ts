import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { csvField, markdownCode, markdownText, plainText } from '../../../src/report/escape.js';

test('control characters cannot reach the terminal', () => {
  assert.equal(plainText('a\u001b[2Jb\u0007\r\nc'), 'a\\u{1b}[2Jb\\u{7}\\u{d}\\u{a}c');
  assert.equal(plainText('\u202egnp\u2066'), '\\u{202e}gnp\\u{2066}');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) =>
      assert.doesNotMatch(plainText(text), /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u),
    ),
  );
});

test('Markdown of others formats, links, mentions and closes nothing', () => {
  assert.equal(markdownText('a|b'), 'a\\|b');
  assert.equal(markdownText('**x** `y` [z](w) ~s~'), '\\*\\*x\\*\\* \\`y\\` \\[z\\](w) \\~s\\~');
  assert.equal(markdownText('<img src=x>'), '&lt;img src=x&gt;');
  assert.equal(markdownText('@someone #12'), '&#64;<!-- -->someone &#35;<!-- -->12');
  assert.equal(markdownText('moe_gate_up'), 'moe_gate_up');
  assert.equal(markdownText('_x_'), '\\_x\\_');
  assert.equal(markdownText('https://x.y'), 'https:<!-- -->//x.y');
  assert.equal(markdownText('www.x.y WWW.z'), 'www<!-- -->.x.y WWW<!-- -->.z');
  assert.equal(markdownText('fixes GH-12, gh-x'), 'fixes GH-<!-- -->12, gh-x');
  assert.equal(markdownText(':white_check_mark: :+1:'), ':<!-- -->white_check_mark: :<!-- -->+1:');
  assert.equal(markdownText('at 12:01:00Z, a: b'), 'at 12:01:00Z, a: b');
  assert.equal(markdownText('$\\frac{1}{2}$'), '&#36;<!-- -->\\\\frac{1}{2}&#36;<!-- -->');
  assert.equal(markdownText('two\nlines'), 'two\\\\u{a}lines');
});

test('code spans stay one span in one cell', () => {
  assert.equal(markdownCode('a`b|c'), "`a'b/c`");
});

test('fields of CSV are quoted where they must be, and are never a formula', () => {
  assert.equal(csvField('a,b'), '"a,b"');
  assert.equal(csvField('say "hi"'), '"say ""hi"""');
  assert.equal(csvField('=1+1'), "'=1+1");
  assert.equal(csvField(-1.5), '-1.5');
});
