import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QualifyError } from '../../../src/errors.js';
import { parseStrictJson } from '../../../src/manifest/strict-json.js';

const limits = { file: 'a.json', maximumBytes: 4096, maximumDepth: 8 };
const parse = (text: string | Buffer) => parseStrictJson(Buffer.from(text), limits);

/** Asserts that the text is refused with exit 16, naming the file and the reason. */
function refuses(text: string | Buffer, why: RegExp): void {
  assert.throws(
    () => parse(text),
    (error) => {
      assert.ok(error instanceof QualifyError);
      assert.equal(error.exitCode, 16);
      assert.equal(error.where, 'a.json');
      assert.match(error.message, why);
      return true;
    },
  );
}

test('parses what is strict', () => {
  const value = { a: [1, -2.5e3, true, null, 'x\u00e9 \u{1F600}'], b: { a: '"[{' } };
  assert.deepEqual(parse(JSON.stringify(value)), value);
});

test('refuses a duplicate key', () =>
  refuses('{"a":1,"b":{"a":2},"a":3}', /the key "a" twice, again at offset 19/));
test('refuses a duplicate key that is spelt with an escape', () =>
  refuses('{"a":1,"\\u0061":2}', /key "a" twice/));
test('refuses a duplicate key in an object of an array', () => refuses('[{"a":1,"a":2}]', /key "a" twice/));
test('takes the same key in sibling objects', () => {
  assert.deepEqual(parse('[{"a":1},{"a":2}]'), [{ a: 1 }, { a: 2 }]);
});
test('refuses __proto__', () => refuses('{"x":{"__proto__":{"y":1}}}', /__proto__/));
test('refuses __proto__ in disguise', () => refuses('{"\\u005f_proto__":1}', /__proto__/));
test('refuses deep nesting at its limit', () => {
  assert.ok(parse('['.repeat(8) + ']'.repeat(8)));
  refuses('['.repeat(9) + ']'.repeat(9), /deeper than 8 levels at offset 8/);
});
test('does not overflow the stack on a file of brackets', () => {
  const bytes = Buffer.from('['.repeat(2_000_000));
  assert.throws(() => parseStrictJson(bytes, { ...limits, maximumBytes: 1e7 }), /deeper than 8/);
});
test('does not count brackets in strings', () => assert.ok(parse(JSON.stringify(`${'['.repeat(99)}\\"[`))));
test('refuses a file over the size limit', () => refuses(' '.repeat(5000), /5000 bytes long; at most 4096/));
test('refuses comments', () => refuses('{"a":1 /* x */}', /not JSON/));
test('refuses a trailing comma', () => refuses('{"a":1,}', /not JSON/));
test('refuses text after the value', () => refuses('{} {}', /not JSON/));
test('refuses an empty file', () => refuses('', /not JSON/));
test('refuses a byte order mark', () => refuses('\uFEFF{}', /not JSON/));
test('refuses bytes that are not UTF-8', () => refuses(Buffer.from([0x22, 0xff, 0x22]), /not UTF-8/));
test('refuses a lone surrogate in a string', () => refuses('["\\ud800"]', /lone surrogate at offset 1/));
test('refuses a lone surrogate in a key', () => refuses('{"\\udc00":1}', /lone surrogate/));
test('refuses a number beyond any double', () => refuses('[1e999]', /beyond any double/));
test('refuses NaN', () => refuses('[NaN]', /not JSON/));
