/** The JSON documents of a run. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { canonicalJson, sha256 } from '../../src/digest.js';
import { parseJournal } from '../../src/journal/read.js';
import { readEnvelope, signEnvelope } from '../../src/manifest/envelope.js';
import { parseJson } from '../../src/manifest/run-folder.js';
import { serializeStatement, statementSchema } from '../../src/manifest/statement.js';
import { parseStrictJson } from '../../src/manifest/strict-json.js';
import { challengeSchema } from '../../src/plan/challenge.js';
import { planSchema } from '../../src/plan/schema.js';
import { verdictSchema } from '../../src/verdict/schema.js';
import { fuzzTest } from './fuzz.js';
import { damagedBytes, damagedJson, damagedText } from './mutations.js';
import { sampleRun } from './sample-run.js';

const sample = await sampleRun({ rounds: 2, cells: [32, 64] });
const { statement } = sample.sealed;
const limits = { file: 'x.json', maximumBytes: 2 ** 20, maximumDepth: 32 };

const challenge = {
  schemaVersion: 1,
  nonce: 'n'.repeat(43),
  repository: 'https://example.org/engine',
  pullRequest: 7,
  head: 'c'.repeat(40),
  base: 'b'.repeat(40),
  matrix: { name: 'smoke', digest: sha256('matrix') },
  policy: null,
  issuedAt: '2026-11-29T12:00:00Z',
  expiresAt: '2026-11-30T12:00:00Z',
};
fuzzTest(
  'strict JSON: what is taken has one meaning',
  damagedJson([statement, challenge, { a: [1, 'b', null, -0.5e-7, { '': '\u00e9' }] }]),
  (bytes) => {
    const value = parseStrictJson(bytes, limits);
    assert.deepEqual(value, JSON.parse(bytes.toString('utf8')));
    assert.deepEqual(parseStrictJson(Buffer.from(canonicalJson(value)), limits), value);
  },
);

const documents = [
  ['a plan', 'plan.json', planSchema, sample.json('plan.json')],
  ['a verdict', 'verdict.json', verdictSchema, sample.json('verdict.json')],
  ['a statement', 'x.json', statementSchema, statement],
  ['a challenge', 'x.json', challengeSchema, challenge],
] as const;

for (const [what, file, schema, value] of documents) {
  fuzzTest(
    `${what}: what is taken means the same when it is written and read again`,
    damagedJson([value]),
    (bytes) => {
      const read = parseJson<unknown>(file, bytes, schema);
      assert.deepEqual(parseJson<unknown>(file, Buffer.from(JSON.stringify(read)), schema), read);
    },
  );
}

const text = await signEnvelope(serializeStatement(statement), sample.key);
const envelopePieces = [
  '"keyid": ',
  '"sig": "',
  '"payload": "',
  '"signatures": [',
  '"payloadType": "text/plain"',
];
const spellEnvelope = (value: unknown): string => `${JSON.stringify(value)}\n`;

fuzzTest(
  'an envelope: what is taken is spelt as it would be written',
  fc.oneof(damagedBytes([text], envelopePieces), damagedJson([JSON.parse(text)], spellEnvelope)),
  (bytes) => {
    const { payload, signature, claimedKeyId } = readEnvelope(bytes, { file: 'x' });
    const again = {
      payload: payload.toString('base64'),
      payloadType: 'application/vnd.in-toto+json',
      signatures: [{ keyid: claimedKeyId, sig: signature.toString('base64') }],
    };
    assert.equal(spellEnvelope(again), bytes.toString('utf8'));
  },
);

const journal = sample.read('journal.jsonl');
const lines = journal.trimEnd().split('\n');
const spellJournal = (value: unknown): string =>
  (Array.isArray(value) ? value : [value]).map((entry) => `${JSON.stringify(entry) ?? ''}\n`).join('');
const readsAsWritten = (text: string): void =>
  assert.equal(spellJournal(parseJournal(text, 'journal.jsonl')), text);

fuzzTest(
  'a journal: what is taken is what would be written',
  damagedText(
    [journal, `${lines.slice(0, 3).join('\n')}\n`],
    lines.slice(0, 40).map((line) => `${line}\n`),
  ),
  readsAsWritten,
);

const entries = lines.map((line) => JSON.parse(line) as unknown);
fuzzTest(
  'entries of a journal that were changed by meaning',
  damagedJson([entries, entries.slice(0, 5)], spellJournal),
  (bytes) => readsAsWritten(bytes.toString('utf8')),
);
