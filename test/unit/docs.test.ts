/** The documentation of formats is held against the schemas it describes. */
import assert from 'node:assert/strict';
import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { EXIT } from '../../src/exit-codes.js';
import { harnessFolder } from '../../src/harness.js';
import { PAYLOAD_TYPE } from '../../src/manifest/envelope.js';
import { PREDICATE_TYPE, statementSchema } from '../../src/manifest/statement.js';
import { parseTrustPolicy } from '../../src/manifest/trust-file.js';
import { trustCodes } from '../../src/manifest/trust-judgement.js';
import { roleSchema, trustedKeySchema, trustPolicySchema } from '../../src/manifest/trust-policy.js';
import { SUMMARY_TYPE, VERIFIER_ID } from '../../src/manifest/verification-summary.js';
import { parseMatrix } from '../../src/matrix/parse.js';
import { lookBreaches } from '../../src/matrix/rules.js';
import {
  armSchema,
  budgetsSchema,
  cellSchema,
  engineSchema,
  matrixSchema,
  protocolSchema,
} from '../../src/matrix/schema.js';
import { simulationSchema } from '../../src/matrix/simulation.js';
import { fieldTable } from '../support/field-table.js';

const read = (path: string): Promise<string> => readFile(join(harnessFolder, path), 'utf8');

test('docs/exit-codes.md has every exit code', async () => {
  const text = await read('docs/exit-codes.md');
  const rows = [...text.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  assert.deepEqual(rows, Object.values(EXIT));
});

test('docs/exit-codes.md says what npx makes of Ctrl-C', async () => {
  const text = (await read('docs/exit-codes.md')).replaceAll(/\s+/g, ' ');
  assert.match(text, /Under `npx` a Ctrl-C gives 130/);
});

test('docs/validity.md names commands that there are, and numbers of rounds that are taken', async () => {
  const text = await read('docs/validity.md');
  const main = await read('src/cli/main.ts');
  const called = [...text.matchAll(/`qualify ([a-z]+)/g)].map(([, command]) => command);
  assert.ok(called.length > 5);
  for (const command of called) assert.match(main, new RegExp(`^ {2}${command}: `, 'm'), command);
  const row = text.split('\n').find((line) => line.startsWith('| `ERR_QUALIFY_ROUNDS`')) ?? '';
  const [, low = '', high = '', even = ''] = /from (\d) to (\d).*even one from (\d) on/.exec(row) ?? [];
  const isTaken = (rounds: number): boolean => lookBreaches([rounds]).length === 0;
  const small = Array.from({ length: Number(high) - Number(low) + 1 }, (_, i) => Number(low) + i);
  assert.deepEqual([low, small.every(isTaken), isTaken(0)], ['1', true, false]);
  assert.deepEqual([Number(even), isTaken(Number(even)), isTaken(Number(even) + 1)], [6, true, false]);
  for (const code of ['interrupted', 'ERR_QUALIFY_INTERRUPTED'])
    assert.match(text, new RegExp(`^\\| \`${code}\` \\|.*\`qualify resume RUN\``, 'm'));
});

test('docs/matrix.md shows a matrix that parses, and names every key', async () => {
  const text = await read('docs/matrix.md');
  const yaml = /```yaml\n(.*?)```/s.exec(text)?.[1] ?? '';
  assert.equal(parseMatrix(yaml, 'docs/matrix.md').name, 'my-switch');
  const shapes = [matrixSchema, cellSchema, armSchema, engineSchema, protocolSchema, budgetsSchema];
  for (const key of shapes.flatMap(({ shape }) => Object.keys(shape))) {
    assert.ok(text.includes(`\`${key}\``), `docs/matrix.md does not mention \`${key}\``);
  }
});

test('docs/matrix.md names every part of the noise of a simulation, with its default', async () => {
  const text = await read('docs/matrix.md');
  for (const [key, value] of Object.entries(simulationSchema.parse({})))
    assert.ok(
      text.includes(`| \`${key}\` | ${value} |`),
      `docs/matrix.md does not have \`${key}\` with ${value}`,
    );
});

test('docs/manifest.md has the types and every field of the predicate', async () => {
  const text = await read('docs/manifest.md');
  assert.ok(text.includes(`    ${PREDICATE_TYPE}\n`));
  assert.ok(text.includes(`\`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} LENGTH PAYLOAD\``));
  for (const key of Object.keys(statementSchema.shape.predicate.shape)) {
    assert.ok(text.includes(`\`${key}\``), `docs/manifest.md does not mention \`${key}\``);
  }
});

test('docs/trust.md has a policy that parses, every field and role, and every reason in the order that is judged', async () => {
  const text = await read('docs/trust.md');
  const json = /<!-- policy:begin -->\s*```json\n(.*?)```/s.exec(text)?.[1] ?? '';
  const policy = parseTrustPolicy(Buffer.from(json), 'docs/trust.md');
  assert.equal(policy.keys.length, 2);
  for (const key of [...Object.keys(trustPolicySchema.shape), ...Object.keys(trustedKeySchema.shape)])
    assert.ok(text.includes(`"${key}"`), `docs/trust.md does not show ${key}`);
  for (const role of roleSchema.options) assert.ok(text.includes(`\`${role}\``), role);
  const [, table = ''] = text.split('| code | when |\n|---|---|\n');
  const codes = [...(table.split('\n\n')[0] ?? '').matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, code]) => code);
  assert.deepEqual(codes, trustCodes);
  assert.ok(text.includes(`\`${SUMMARY_TYPE}\``) && text.includes(`\`${VERIFIER_ID}\``));
});

test('docs/fingerprint.md has the table of conditions as the code has it', async () => {
  const text = await read('docs/fingerprint.md');
  const [, table = ''] = text.split('| field | what | class |\n|---|---|---|\n');
  assert.equal(table, fieldTable());
});

test('docs/threats.md names tests that there are for every threat, and every file of attacks', async () => {
  const [met = ''] = (await read('docs/threats.md')).split('## Not covered');
  const rows = met.split('\n').filter((line) => /^\| (?!attempt \|)/.test(line));
  assert.ok(rows.length > 15);
  const testsOf = (text: string): string[] =>
    [...text.matchAll(/`(test\/[^`]+)`/g)].map(([, path = '']) => path);
  for (const row of rows) assert.ok(testsOf(row).length > 0, row);
  const named = new Set(testsOf(met));
  for (const path of named) await access(join(harnessFolder, path));
  const attacks = (await readdir(join(harnessFolder, 'test/attacks'))).filter((name) =>
    name.endsWith('.test.ts'),
  );
  assert.deepEqual(
    attacks.filter((name) => !named.has(`test/attacks/${name}`)),
    [],
  );
});

test('links between the documents lead somewhere', async () => {
  const docs = (await readdir(join(harnessFolder, 'docs'))).filter((name) => name.endsWith('.md'));
  for (const path of ['README.md', 'CONTRIBUTING.md', ...docs.map((name) => join('docs', name))]) {
    for (const [, target = '', anchor] of (await read(path)).matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g)) {
      const file = target === '' ? path : join(dirname(path), target);
      const linked = await read(file);
      if (anchor !== undefined)
        assert.ok(anchors(linked).includes(anchor), `${path}: no heading #${anchor} in ${file}`);
    }
  }
});

/** Anchors of headings as GitHub makes them. */
function anchors(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} -]/gu, '')
      .replaceAll(' ', '-'),
  );
}
