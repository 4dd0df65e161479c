import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { QualifyError } from '../../../src/errors.js';
import { matrixDigest } from '../../../src/matrix/digest.js';
import { parseMatrix } from '../../../src/matrix/parse.js';

const good = `schemaVersion: 1
name: mine
title: Mine
model: { preset: unit }
cells:
  - { promptTokens: 64, chunk: 32 }
arms:
  base: {}
  head: {}
`;

/** The lines that a refusal says, one a problem. */
function problems(text: string): string[] {
  try {
    parseMatrix(text, 'm.yaml');
  } catch (error) {
    assert.ok(error instanceof QualifyError);
    assert.equal(error.code, 'ERR_QUALIFY_MATRIX_INVALID');
    assert.equal(error.exitCode, 64);
    assert.ok(error.where?.startsWith('m.yaml:'));
    return error.message.split('\n');
  }
  throw new Error('the matrix was accepted');
}

describe('a matrix', () => {
  test('needs little; the protocol of the field is the default', () => {
    const matrix = parseMatrix(good, 'm.yaml');
    assert.equal(matrix.protocol.warmups, 2);
    assert.equal(matrix.protocol.samples, 5);
    assert.deepEqual(matrix.protocol.looks, [6, 12, 18, 24]);
    assert.equal(matrix.budgets.prefill, 2);
    assert.equal(matrix.cells[0]?.generatedTokens, 1);
  });

  test('may be JSON', () => {
    const json = JSON.stringify(parseMatrix(good, 'm.yaml'));
    assert.equal(matrixDigest(parseMatrix(json, 'm.json')), matrixDigest(parseMatrix(good, 'm.yaml')));
  });

  test('keeps its digest when layout and comments change, not when the reference does', () => {
    const digest = matrixDigest(parseMatrix(good, 'm.yaml'));
    const laidOut = good.replace('title: Mine', '# a comment\n\ntitle:   "Mine"');
    assert.equal(matrixDigest(parseMatrix(laidOut, 'm.yaml')), digest);
    const turned = good.replace('  base: {}\n  head: {}\n', '  head: {}\n  base: {}\n');
    assert.notEqual(matrixDigest(parseMatrix(turned, 'm.yaml')), digest);
  });
});

const peer = good
  .replace('preset: unit', 'preset: unit, experts: q4_0, roundTrips: false')
  .replace('base: {}', 'base: { engine: node-llama-cpp }')
  .concat('protocol: { parity: bounded, bounded: { top1: 0.9, common: 0.5, meanLogProbability: 0.5 } }\n');

describe('a matrix with another engine', () => {
  test('names it in an arm, and runs everything else alike', () => {
    const { arms } = parseMatrix(peer, 'm.yaml');
    assert.equal(arms.base?.engine, 'node-llama-cpp');
    assert.equal(arms.head?.engine, 'embedded');
  });
});

test('a map of switches may take in another and change it', () => {
  const merged = good
    .replace('base: {}', "base: { switches: &off { A_SWITCH: '0', B_SWITCH: '0' } }")
    .replace('head: {}', "head: { switches: { <<: *off, B_SWITCH: '1' } }");
  assert.deepEqual(parseMatrix(merged, 'm.yaml').arms.head?.switches, { A_SWITCH: '0', B_SWITCH: '1' });
});

describe('a matrix that is wrong is refused with the place and the remedy', () => {
  const cases: [string, string, RegExp][] = [
    ['a merge of what is no map', `${good}<<: x\n`, /^m\.yaml:1:1: Merge sources must be maps/],
    [
      'bits of two engines',
      peer.replace(/^protocol.*$/m, 'protocol: { parity: exact }'),
      /^m\.yaml:10:21: protocol\.parity: two engines round differently, .*use `bounded`/,
    ],
    [
      'bits of two engines by default',
      peer.replace(/^protocol.*\n/m, ''),
      /protocol\.parity: two engines round differently/,
    ],
    [
      'limits that are missing',
      peer.replace(/, bounded: {.*?}/, ''),
      /protocol\.parity: parity `bounded` needs its limits: bounded: {/,
    ],
    [
      'limits that nothing asks for',
      `${good}protocol: { bounded: { top1: 0.9, common: 0.5, meanLogProbability: 1 } }\n`,
      /protocol\.bounded: these limits are for parity `bounded` only/,
    ],
    [
      'CPUs that fall',
      `${good}engine: { cpus: 3-1 }\n`,
      /engine\.cpus: "3-1" is no list of CPUs: ranges rise/,
    ],
    ['CPUs that stand twice', `${good}engine: { cpus: '0-2,2' }\n`, /engine\.cpus: "0-2,2" is no list/],
    ['CPUs that nobody has', `${good}engine: { cpus: 0-99999 }\n`, /engine\.cpus: "0-99999" is no list/],
    ['CPUs of many digits', `${good}engine: { cpus: '123456' }\n`, /engine\.cpus: "123456" is no list/],
    ...(['readyTimeoutSeconds', 'requestTimeoutSeconds'] as const).map((field): [string, string, RegExp] => [
      `a ${field} that no timer holds`,
      `${good}protocol: { ${field}: 1000001 }\n`,
      new RegExp(`protocol\\.${field}: must be at most 1000000`),
    ]),
    [
      'more prompts than anybody draws again',
      good
        .replace('head: {}', 'head: {}\nprotocol: { samples: 1000, warmups: 100 }')
        .replace(/promptTokens: \d+/g, 'promptTokens: 1048576'),
      /protocol\.samples: all prompts together have \d+ tokens, at most 33554432 are drawn/,
    ],
    [
      'a least length that no output has',
      `${good}protocol: { minimumOutputTokens: 65537 }\n`,
      /protocol\.minimumOutputTokens: .*65536/,
    ],
    [
      'an arm that would vanish',
      good.replace('head: {}', 'head: {}\n  __proto__: {}'),
      /^m\.yaml:\d+:\d+: nothing can be called "__proto__"/,
    ],
    [
      'a switch that would vanish',
      good.replace('head: {}', "head: { switches: { __proto__: '1' } }"),
      /nothing can be called "__proto__"/,
    ],
    ['a key that would vanish', `${good}"__proto__": { a: 1 }\n`, /nothing can be called "__proto__"/],
    [
      'a revision of a package',
      peer.replace('engine: node-llama-cpp', 'engine: node-llama-cpp, revision: main'),
      /arms\.base\.revision: node-llama-cpp has one revision: leave it out/,
    ],
    [
      'switches that the peer does not have',
      peer.replace('engine: node-llama-cpp', "engine: node-llama-cpp, switches: { DFLASH_X: '1' }"),
      /arms\.base\.switches\.DFLASH_X: node-llama-cpp knows no switches/,
    ],
    [
      'experts that the peer does not read',
      peer.replace('q4_0', 'rocmfp2'),
      /model\.experts: llama\.cpp does not read rocmfp2: use one of q4_0, /,
    ],
    [
      'round trips that the peer does not make',
      peer.replace(', roundTrips: false', ''),
      /model: llama\.cpp never rounds keys.*`roundTrips: false`/,
    ],
    [
      'an engine that does not exist',
      peer.replace('node-llama-cpp', 'vllm'),
      /arms\.base\.engine: must be one of/,
    ],
    ['brackets without end', '['.repeat(100_000), /^m\.yaml:1:1: it is nested too deeply/],
    ['deep nesting', `${'['.repeat(20_000)}${']'.repeat(20_000)}`, /^m\.yaml:1:1: it is nested too deeply/],
    ['a second document', `${good}---\n${good}`, /a second document begins; a matrix file holds one/],
    [
      'arms that differ only in case',
      good.replace('  head: {}', '  head: {}\n  Head: {}'),
      /arms "head" and "Head" differ only in case/,
    ],
    [
      'an unknown key',
      good.replace('chunk: 32', 'chunk: 32, fase: decode'),
      /^m\.yaml:6:36: cells\.0: unknown key "fase": did you mean "phase"\?$/,
    ],
    [
      'an unknown key at the top',
      `${good}budget: {}\n`,
      /^m\.yaml:10:1: unknown key "budget": did you mean "budgets"\?$/,
    ],
    [
      'an unknown key of a union',
      good.replace('preset: unit', 'preset: unit, expert: q4_0'),
      /^m\.yaml:4:24: model: unknown key "expert": did you mean "experts"\?$/,
    ],
    [
      'an unknown key of an arm',
      good.replace('base: {}', 'base: { swiches: {} }'),
      /^m\.yaml:8:11: arms\.base: .*did you mean "switches"\?$/,
    ],
    ['an unknown key like no other', `${good}zzzzzzzz: 1\n`, /known here: schemaVersion, name/],
    [
      'a value out of range',
      good.replace('promptTokens: 64', 'promptTokens: 4'),
      /^m\.yaml:6:21: cells\.0\.promptTokens: must be at least 32/,
    ],
    ['a value of another type', good.replace('chunk: 32', 'chunk: many'), /^m\.yaml:6:32: cells\.0\.chunk: /],
    [
      'a preset that does not exist',
      good.replace('unit', 'huge'),
      /^m\.yaml:4:18: model\.preset: must be one of unit, mini, .*"huge"/,
    ],
    ['a key that is missing', good.replace('title: Mine\n', ''), /^m\.yaml:1:1: title: /],
    ['one arm', good.replace('  head: {}\n', ''), /^m\.yaml:8:3: arms: a comparison needs two arms or more$/],
    [
      'an arm called null',
      good.replace('head:', 'null:'),
      /^m\.yaml:8:3: arms\.: the name is empty; .*no arm may be called null$/,
    ],
    [
      'an arm named by a sentence',
      good.replace('head:', '"a b":'),
      /^m\.yaml:9:10: arms\.a b: the name may have letters, digits, dot, dash, underscore$/,
    ],
    ['an arm named by a number', good.replace('head:', '"640":'), /^m\.yaml:9:10: arms\.640: .*"pr-640"$/],
    [
      'two cells of one name',
      good.replace('arms:', '  - { promptTokens: 64, chunk: 32 }\narms:'),
      /^m\.yaml:7:5: cells\.1: cell 2 has the id "64\/32" of cell 1/,
    ],
    [
      'a decode cell of one token',
      good.replace('chunk: 32', 'chunk: 32, phase: decode'),
      /generate at least 2$/,
    ],
    ['no required cell', good.replace('chunk: 32', 'chunk: 32, required: false'), /nothing could ever fail$/],
    [
      'looks that fall',
      `${good}protocol: { looks: [12, 6] }\n`,
      /^m\.yaml:10:25: protocol\.looks\.1: looks must rise: 6 follows 12$/,
    ],
    [
      'an odd look',
      `${good}protocol: { looks: [7] }\n`,
      /^m\.yaml:10:21: protocol\.looks\.0: .*use 8 instead of 7$/,
    ],
    ['a switch in lower case', good.replace('base: {}', 'base: { switches: { path: x } }'), /^m\.yaml:8:/],
    ['YAML that does not parse', `${good}a: [1\nb: 2\n`, /^m\.yaml:11:1: /],
    ['a key twice', `${good}name: twice\n`, /^m\.yaml:10:1: Map keys must be unique/],
    ['an empty file', '', /^m\.yaml:1:1: /],
    [
      'a title that steers the terminal',
      good.replace('title: Mine', 'title: "Mine\\e[2J"'),
      /^m\.yaml:3:8: title: holds the control character U\+001B; take it out$/,
    ],
    ['a title that ends early', good.replace('title: Mine', 'title: "Mi\\0ne"'), /title: holds .* U\+0000/],
    ['a title of two lines', good.replace('title: Mine', 'title: "Mi\\nne"'), /title: holds .* U\+000A/],
    [
      'a value that no program can be given',
      good.replace('base: {}', 'base: { arguments: ["a", "b\\0"] }'),
      /^m\.yaml:8:28: arms\.base\.arguments\.1: holds the control character U\+0000; take it out$/,
    ],
    ['a list', '- 1\n', /^m\.yaml:1:1: /],
  ];
  const words: [string, string, string][] = [
    ['a missing key', good.replace(', chunk: 32', ''), 'm.yaml:6:5: cells.0.chunk: is missing'],
    [
      'a switch that is a number',
      good.replace('head: {}', 'head: { switches: { A: 0 } }'),
      "m.yaml:9:26: arms.head.switches.A: is a number: quote it, '0'",
    ],
    [
      'a text in place of a number',
      good.replace('chunk: 32', 'chunk: many'),
      'm.yaml:6:32: cells.0.chunk: must be a number, is the text "many"',
    ],
    [
      'a number that is too small',
      good.replace('chunk: 32', 'chunk: 0'),
      'm.yaml:6:32: cells.0.chunk: must be at least 1',
    ],
    [
      'a model without anything',
      good.replace('{ preset: unit }', '{}'),
      'm.yaml:4:8: model.preset: is missing',
    ],
  ];
  for (const [what, text, expected] of words) {
    test(`${what}, in plain words`, () => assert.deepEqual(problems(text), [expected]));
  }
  for (const [what, text, expected] of cases) {
    test(what, () => assert.match(problems(text)[0] ?? '', expected));
  }

  test('every problem is told at once', () => {
    const text = good.replace('chunk: 32', 'chunk: 0').replace('title: Mine', 'titel: Mine');
    assert.equal(problems(text).length, 3);
  });

  test('breaches of rules are told beside faults of other fields, in the order of the text', () => {
    const text = good
      .replace('title: Mine\n', '')
      .replace('name: mine', 'name: mine\nname: mine')
      .replace('  head: {}\n', '')
      .concat('protocol: { looks: [12, 6] }\nengine: { cpus: 3-1, threds: 2 }\n');
    const told = problems(text).map((line) =>
      line.replace(/: (?:is|a|an|unknown|Map|looks|nothing|"3-1")(?!\w).*/, ''),
    );
    assert.deepEqual(told.slice(1), [
      'm.yaml:3:1',
      'm.yaml:8:3: arms',
      'm.yaml:9:25: protocol.looks.1',
      'm.yaml:10:17: engine.cpus',
      'm.yaml:10:22: engine',
    ]);
    assert.match(told[0] ?? '', /^m\.yaml:1:1: title/);
  });

  test('a rule is asked of the sound fields beside one that is wrong, and not of that', () => {
    const beside = (protocol: string): string[] =>
      problems(good.concat(`protocol: { ${protocol} }\n`)).map((line) =>
        line.replace(/^m\.yaml:\d+:\d+: /, ''),
      );
    assert.deepEqual(beside('samples: five, looks: [12, 6], nullRounds: 3'), [
      'protocol.samples: must be a number, is the text "five"',
      'protocol.looks.1: looks must rise: 6 follows 12',
      'protocol.nullRounds: null rounds come in pairs of opposite order: use 4 instead of 3',
    ]);
    // `null` rounds are held against the looks, and those may be what was meant by `lokks`.
    for (const wrong of ['looks: [12, x], nullRounds: 3', 'lokks: [2], nullRounds: 3'])
      assert.equal(beside(wrong).length, 1, wrong);
  });

  test('a rule is not asked where what it reads is wrong, or may be what a misspelt key meant', () => {
    const bounded = `${peer.replace(/^protocol:/m, 'protocl:')}`;
    assert.deepEqual(
      problems(bounded).map((line) => line.replace(/^m\.yaml:\d+:\d+: /, '')),
      ['unknown key "protocl": did you mean "protocol"?'],
    );
    const oneArm = good.replace('head: {}', 'head: { swiches: {} }').replace('  base: {}\n', '');
    assert.equal(problems(oneArm).length, 1);
  });

  test('a chain of aliases that would fill memory is refused', () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefgh'
      .split('')
      .map((key, i) => `${key}: &${key} [${Array(9).fill(`*${'abcdefgh'[i]}`).join(',')}]`)
      .join('\n')}\n`;
    assert.ok(problems(bomb).length >= 1);
  });
});
