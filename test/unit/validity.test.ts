/** docs/validity.md and docs/gate.md have every code that the source gives, and none that it does not, each with a remedy. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { EXIT } from '../../src/exit-codes.js';
import { harnessFolder } from '../../src/harness.js';
import { trustCodes } from '../../src/manifest/trust-judgement.js';
import { verdictNames } from '../../src/verdict/schema.js';

/** Folders whose findings are reasons and warnings of verdicts. */
const REASONS = ['analysis', 'verdict', 'session', 'engine'];
const KEBAB = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)+$/;
/** What has the form of a code and is none: statuses, and values of fields. */
const OTHER_WORDS = new Set<string>([
  ...verdictNames,
  'control-only',
  'lever-off',
  'warm-up',
  'not-taken',
  // Kinds of a design, and grades of a prompt.
  'one-at-a-time',
  'folded-plackett-burman',
  'cannot-strike',
]);

/** What has the form of a code in the folder of the gate and is none of its own: verdicts, a reason of a run, commands of git. */
const NO_GATE_CODES = new Set<string>([
  ...verdictNames,
  'binary-identical',
  ...['diff-tree', 'merge-base', 'merge-tree', 'rev-list', 'rev-parse'],
]);

const sources = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));

const source = join(harnessFolder, 'src');
const found = (texts: readonly string[], pattern: RegExp): string[] =>
  texts.flatMap((text) => [...text.matchAll(pattern)].map(([, code = '']) => code));

const withoutImports = (text: string): string => text.replaceAll(/^(?:import|\} from) .*$/gm, '');

/** Codes of errors, everywhere. */
const errors = new Set(found(sources(source), /'(ERR_QUALIFY_[A-Z_]+)'/g));

/** Codes of findings: what `finding` is given, what is assigned as a code, and in the pure folders whatever has the form of one. */
function findings(): Set<string> {
  const texts = REASONS.flatMap((folder) => sources(join(source, folder)));
  const pure = ['analysis', 'verdict'].flatMap((folder) => sources(join(source, folder)));
  const bodies = pure.map(withoutImports);
  const literals = found(bodies, /'([^'\n]*)'/g).filter((text) => KEBAB.test(text) && !OTHER_WORDS.has(text));
  const given = found(texts, /\bfinding\(\s*'([a-z0-9-]+)'/g);
  const assigned = found(pure, /\bcode(?: =|:) '([a-z0-9-]+)'/g);
  return new Set([...given, ...assigned, ...literals, 'failure']);
}

/** Codes of a gate: what is given as one, and whatever else in its folder has the form of one. */
function gateCodes(): Set<string> {
  const texts = sources(join(source, 'gate')).map(withoutImports);
  const given = found(texts, /\b(?:reason\(\s*|code: )'([a-z-]+)'/g);
  const literals = found(texts, /'([^'\n]*)'/g).filter(
    (text) => KEBAB.test(text) && !NO_GATE_CODES.has(text),
  );
  return new Set([...given, ...literals, ...trustCodes]);
}

/** Rows of the tables: the code and the verdict. */
const document = readFileSync(join(harnessFolder, 'docs', 'validity.md'), 'utf8');
const rows = [...document.matchAll(/^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)];
const documented = rows.map(([, code = '']) => code);

describe('docs/validity.md', () => {
  test('has every code of a reason or warning', () => {
    const codes = findings();
    assert.ok(codes.size > 60, `${codes.size} codes were found`);
    assert.deepEqual(
      [...codes].filter((code) => !documented.includes(code)),
      [],
    );
  });

  test('has every code of an error', () => {
    assert.ok(errors.size > 50, `${errors.size} codes were found`);
    assert.deepEqual(
      [...errors].filter((code) => !documented.includes(code)),
      [],
    );
  });

  test('names no code that nobody gives, and none twice', () => {
    const known = new Set([...findings(), ...errors]);
    assert.deepEqual(
      documented.filter((code) => !known.has(code)),
      [],
    );
    assert.equal(new Set(documented).size, documented.length);
  });

  test('says for each what it does to the result, with the exit code that belongs to it', () => {
    const exits: Record<string, readonly number[]> = {
      warning: [],
      pass: [EXIT.pass],
      fail: [EXIT.overBudget],
      inconclusive: [EXIT.inconclusive],
      'not-measured': [EXIT.notMeasured],
      unsupported: [EXIT.notMeasured, EXIT.unsupported],
      'parity-failed': [EXIT.parity],
      'cold-unproved': [EXIT.unmatched],
      unmatched: [EXIT.unmatched],
      contaminated: [EXIT.unmatched],
      infrastructure: [EXIT.infrastructure],
      invalid: [EXIT.invalid],
      usage: [EXIT.usage],
    };
    for (const [, code, result = ''] of rows) {
      const [, word = '', exit] = /^([a-z-]+)(?:, (\d+))?/.exec(result) ?? [];
      const expected = exits[word];
      assert.ok(expected, `${code}: "${word}" is no verdict`);
      assert.ok(
        exit === undefined ? word === 'warning' : expected.includes(Number(exit)),
        `${code}: ${result}`,
      );
    }
  });

  test('can be complete, since no code of a finding is put together', () => {
    const texts = REASONS.flatMap((folder) => sources(join(source, folder)));
    assert.deepEqual(found(texts, /\bfinding\(\s*(`[^`]*`)/g), []);
  });
});

describe('docs/gate.md', () => {
  const page = readFileSync(join(harnessFolder, 'docs', 'gate.md'), 'utf8');
  const tables = page.split('| code | what it means | remedy |\n|---|---|---|\n').slice(1);
  const lines = tables.flatMap((text) => (text.split('\n\n')[0] ?? '').split('\n'));
  const cells = lines.map((line) => /^\| ((?:`[a-z-]+`(?:, )?)+) \| ([^|]+) \| ([^|]+) \|$/.exec(line));
  const named = cells.flatMap((row) => found([row?.[1] ?? ''], /`([a-z-]+)`/g));

  test('has a meaning and a remedy in every row', () => {
    assert.ok(tables.length > 3);
    assert.deepEqual(
      lines.filter((_, index) => cells[index] === null),
      [],
    );
  });

  test('has every code of a gate, and none twice', () => {
    const codes = gateCodes();
    assert.ok(codes.size > 50, `${codes.size} codes were found`);
    assert.deepEqual(
      [...codes].filter((code) => !named.includes(code)),
      [],
    );
    assert.equal(new Set(named).size, named.length);
  });

  test('names no code that nobody gives', () => {
    const known = new Set([...gateCodes(), ...findings()]);
    const texts = sources(join(source, 'gate'));
    assert.deepEqual(
      named.filter((code) => !known.has(code) && !texts.some((text) => text.includes(`'${code}'`))),
      [],
    );
  });
});
