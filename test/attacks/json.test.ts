/** JSON that two parsers read differently, or that no parser should be made to read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statementSchema } from '../../src/manifest/statement.js';
import { parseStrictJson } from '../../src/manifest/strict-json.js';
import { sampleRun } from '../fuzz/sample-run.js';
import { type Guard, importWithout } from './without-guard.js';

type Reader = typeof import('../../src/manifest/strict-json.js');
const limits = { file: 'x.json', maximumBytes: 32 * 2 ** 20, maximumDepth: 32 };

interface Attack {
  what: string;
  bytes: string | Buffer;
  /** In `manifest/strict-json`, where no other module is named. */
  guards: [text: string, instead: string, module?: string][];
  /** What the reader without the guard takes it for. */
  taken: (value: unknown) => boolean;
  why: RegExp;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
const noGuard = 'if (false)';
const duplicates: [string, string] = ['if (keys?.has(key))', noGuard];
const attacks: Attack[] = [
  {
    what: 'a key twice: the first is read by one parser, the last by another',
    bytes: '{"result": "fail", "result": "pass"}',
    guards: [duplicates],
    taken: (value) => isRecord(value) && value.result === 'pass',
    why: /has the key "result" twice, again at offset 19/,
  },
  {
    what: 'a key twice, once in disguise',
    bytes: '{"a": 1, "\\u0061": 2}',
    guards: [duplicates],
    taken: (value) => isRecord(value) && value.a === 2,
    why: /has the key "a" twice/,
  },
  {
    what: 'a key twice, deep inside',
    bytes: '{"a": [{"b": {"c": 1, "\\u0063": 2}}]}',
    guards: [duplicates],
    taken: (value) => JSON.stringify(value) === '{"a":[{"b":{"c":2}}]}',
    why: /has the key "c" twice/,
  },
  ...['{"__proto__": {"verified": true}}', '{"a": {"\\u005f_proto__": {"verified": true}}}'].map((bytes) => ({
    what: `__proto__, which becomes a prototype when it is copied: ${bytes}`,
    bytes,
    guards: [["if (key === '__proto__')", noGuard]] as [string, string][],
    taken: (value: unknown) =>
      JSON.stringify(Object.assign({}, value)).length > 0 &&
      isRecord(value) &&
      ('verified' in Object.assign({}, value) || 'verified' in Object.assign({}, value.a)),
    why: /has a key "__proto__"/,
  })),
  {
    what: 'a number that is no number of JavaScript',
    bytes: '{"n": 1e999}',
    guards: [["if (typeof value === 'number' && !Number.isFinite(value))", noGuard]],
    taken: (value) => isRecord(value) && value.n === Number.POSITIVE_INFINITY,
    why: /has a number beyond any double at offset 6/,
  },
  {
    what: 'a lone surrogate, which no UTF-8 can say',
    bytes: '["\\ud800"]',
    guards: [["if (typeof value === 'string' && LONE_SURROGATE.test(value))", noGuard]],
    taken: (value) => Array.isArray(value) && value[0] === '\ud800',
    why: /has a string with a lone surrogate/,
  },
  {
    what: 'a lone surrogate as a key',
    bytes: '{"\\udfff": 1}',
    guards: [['if (LONE_SURROGATE.test(key))', noGuard]],
    taken: isRecord,
    why: /has a key with a lone surrogate/,
  },
  {
    what: 'a byte order mark, so that two files say the same',
    bytes: '\ufeff{"a":1}',
    guards: [[', ignoreBOM: true', '', 'utf8']],
    taken: (value) => isRecord(value) && value.a === 1,
    why: /is not JSON/,
  },
  {
    what: 'bytes that are no UTF-8, which are replaced by one and the same character',
    bytes: Buffer.from([0x22, 0xff, 0x22]),
    guards: [['fatal: true', 'fatal: false', 'utf8']],
    taken: (value) => value === '\ufffd',
    why: /is not UTF-8/,
  },
  {
    what: 'an overlong spelling of a quotation mark',
    bytes: Buffer.from([0x22, 0xc0, 0xa2, 0x22]),
    guards: [['fatal: true', 'fatal: false', 'utf8']],
    taken: (value) => value === '\ufffd\ufffd',
    why: /is not UTF-8/,
  },
  {
    what: 'a hundred thousand levels, for a reader that calls itself',
    bytes: '['.repeat(100_000) + ']'.repeat(100_000),
    // The parser itself has a loop; what walks the value afterwards does not.
    guards: [
      ['checkDepth(text, limits.maximumDepth, refuse);', ''],
      ['checkContents(text, value, refuse);', ''],
    ],
    taken: Array.isArray,
    why: /nests deeper than 32 levels at offset 32/,
  },
  {
    what: '33 levels',
    bytes: '['.repeat(33) + ']'.repeat(33),
    guards: [['checkDepth(text, limits.maximumDepth, refuse);', '']],
    taken: Array.isArray,
    why: /nests deeper than 32 levels/,
  },
  {
    what: 'more than 32 MiB',
    bytes: Buffer.alloc(32 * 2 ** 20 + 1, ' ').fill('1', 0, 1),
    guards: [['if (bytes.length > limits.maximumBytes)', noGuard]],
    taken: (value) => value === 1,
    why: /is 33554433 bytes long; at most 33554432 are read/,
  },
];

for (const { what, bytes, guards, taken, why } of attacks) {
  test(what, async (context) => {
    const input = Buffer.from(bytes);
    const places = guards.map(
      ([guard, instead, module = 'manifest/strict-json']): Guard => ({ module, guard, instead }),
    );
    const lax = await importWithout<Reader>(context, 'manifest/strict-json', ...places);
    assert.ok(taken(lax.parseStrictJson(input, limits)));
    assert.throws(() => parseStrictJson(input, limits), { exit: 'invalid', where: 'x.json', message: why });
  });
}

test('what is JSON to nobody: here the parser of the runtime is the guard', () => {
  for (const text of [
    'NaN',
    '[Infinity]',
    '[-Infinity]',
    '{a: 1}',
    "{'a': 1}",
    '[1,]',
    '// a\n1',
    '0x10',
    '[01]',
    '',
  ]) {
    assert.throws(() => parseStrictJson(Buffer.from(text), limits), {
      exit: 'invalid',
      message: /is not JSON/,
    });
  }
});

test('names of what every object has are fields like any other, and no schema takes them', async () => {
  const { statement } = (await sampleRun()).sealed;
  for (const key of ['constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
    const text = JSON.stringify({ ...statement, [key]: { prototype: { verified: true } } });
    const value = parseStrictJson(Buffer.from(text), limits);
    assert.ok(isRecord(value) && Object.hasOwn(value, key));
    const { error } = statementSchema.safeParse(value);
    assert.match(error?.message ?? '', new RegExp(`Unrecognized key: .*${key}`));
    assert.equal(Reflect.get({}, 'verified'), undefined);
  }
});

test('more than 1024 cells, each of which costs prompts to make again', async (context) => {
  const { statement } = (await sampleRun()).sealed;
  const [cell] = statement.predicate.cells;
  const many = { ...statement, predicate: { ...statement.predicate, cells: Array(1025).fill(cell) } };
  const guard = {
    module: 'manifest/statement',
    guard: 'z.array(cellSchema).max(1024)',
    instead: 'z.array(cellSchema)',
  };
  const lax = await importWithout<typeof import('../../src/manifest/statement.js')>(
    context,
    'manifest/statement',
    guard,
  );
  assert.ok(lax.statementSchema.safeParse(many).success);
  assert.match(statementSchema.safeParse(many).error?.message ?? '', /<=1024 items/);
});
