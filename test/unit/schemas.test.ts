/** docs/schemas says what the parsers of `qualify` say, on real documents and on changed ones. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { decide } from '../../src/gate/decide.js';
import { gatePolicySchema } from '../../src/gate/policy.js';
import { signWaiver, waiverOf } from '../../src/gate/waiver.js';
import { harnessFolder } from '../../src/harness.js';
import { attest } from '../../src/manifest/attest.js';
import { readEnvelope } from '../../src/manifest/envelope.js';
import { MANIFEST_FILE } from '../../src/manifest/evidence-index.js';
import { generateKey } from '../../src/manifest/key-store.js';
import { readManifest } from '../../src/manifest/manifest.js';
import { sshLine } from '../../src/manifest/public-key.js';
import { seal } from '../../src/manifest/seal.js';
import { verifyRun } from '../../src/manifest/verify.js';
import {
  type DocumentName,
  documentNames,
  documents,
  renderSchema,
  schemaFile,
} from '../../src/schemas/json-schemas.js';
import { fixtureMatrix, writeRun } from '../fixtures/run-folder.js';
import { scratchFolder } from '../support/folder.js';

const folder = join(harnessFolder, 'docs/schemas');
const NOW = '2026-11-30T12:00:00.000Z';

const validators = new Map<DocumentName, ValidateFunction>();
/** The validator of the file as it lies in docs. Formats are annotations; the patterns beside them decide. */
async function validatorOf(name: DocumentName): Promise<ValidateFunction> {
  const known = validators.get(name);
  if (known) return known;
  const schema: object = JSON.parse(await readFile(join(folder, schemaFile(name)), 'utf8'));
  const made = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictTuples: false,
    validateFormats: false,
  }).compile(schema);
  validators.set(name, made);
  return made;
}

/** Every document of each kind that a small run, the shipped matrices and a gate have. */
async function realDocuments(
  context: Parameters<typeof scratchFolder>[0],
): Promise<Record<DocumentName, unknown[]>> {
  const scratch = await scratchFolder(context);
  const run = join(scratch, 'run');
  const key = await generateKey('signer', join(scratch, 'keys'));
  await writeRun(run, { nullRounds: 1 });
  const { statement } = await seal(run, key);
  const { testResult } = readManifest(await readFile(join(run, MANIFEST_FILE)));
  const path = join(scratch, 'run.vsa.jsonl');
  await attest({
    ...{ path, runFolder: run, verification: await verifyRun(run), at: new Date(NOW) },
    ...{ policy: { path: 'qualify.trust.json', bytes: Buffer.from('{}') } },
    key: await generateKey('verifier', join(scratch, 'keys')),
  });
  const summary = readEnvelope(await readFile(path), { file: path });
  const readJson = async (file: string): Promise<unknown> =>
    JSON.parse(await readFile(join(run, file), 'utf8'));
  const journal = (await readFile(join(run, 'journal.jsonl'), 'utf8')).trimEnd().split('\n');
  const matrices = (await readdir(join(harnessFolder, 'matrices'))).filter((file) => file.endsWith('.yaml'));
  const policy = {
    schemaVersion: 1,
    machines: { big: { memoryAtLeastGib: 128 } },
    require: [{ matrix: 'fixture', machine: 'big' }],
  };
  const head = { commit: 'c'.repeat(40), tree: 'd'.repeat(40) };
  const terms = { matrix: 'fixture', cell: '32/32', reason: 'known', issuedAt: NOW, expiresAt: NOW };
  const waiver = readEnvelope(
    Buffer.from(await signWaiver(waiverOf({ head, ...terms }, key.publicKey.keyId), key)),
    { file: 'waiver' },
  );
  return {
    statement: [statement],
    'test-result': [JSON.parse(testResult.payload.toString())],
    'verification-summary': [JSON.parse(summary.payload.toString())],
    verdict: [await readJson('verdict.json')],
    plan: [await readJson('plan.json')],
    'journal-entry': journal.map((line): unknown => JSON.parse(line)),
    matrix: await Promise.all(
      matrices.map(async (file) =>
        parse(await readFile(join(harnessFolder, 'matrices', file), 'utf8'), { merge: true }),
      ),
    ),
    challenge: [
      {
        ...{
          schemaVersion: 1,
          nonce: 'n'.repeat(43),
          repository: 'https://github.com/org/engine',
          pullRequest: 7,
        },
        ...{ head: head.commit, base: 'b'.repeat(40), matrix: { name: 'fixture', digest: 'a'.repeat(64) } },
        ...{ policy: null, issuedAt: NOW, expiresAt: NOW },
      },
    ],
    'trust-policy': [
      {
        schemaVersion: 1,
        keys: [
          {
            keyId: key.publicKey.keyId,
            publicKey: sshLine(key.publicKey, 'signer'),
            roles: ['observer'],
            revoked: { since: NOW, reason: 'superseded' },
          },
        ],
      },
    ],
    'gate-policy': [policy],
    'gate-decision': [
      decide({
        ...{ decidedAt: NOW, harness: '0.1.0', policy: gatePolicySchema.parse(policy) },
        matrices: [fixtureMatrix({})],
        merged: new Map(),
        source: {
          path: 'qualify.policy.yaml',
          title: null,
          trust: 'qualify.trust.json',
          sha256: 'a'.repeat(64),
          commit: null,
        },
        ...{ trust: { schemaVersion: 1, keys: [] }, head, base: { branch: 'main', commit: 'b'.repeat(40) } },
        ...{ commits: new Map(), challenges: [], attestations: [] },
        runs: [{ path: 'manifests/a', run: null, failure: { code: 'not-verified', message: 'changed' } }],
        waivers: [{ path: 'w', waiver: null, failure: { code: 'not-verified', message: 'changed' } }],
      }),
    ],
    waiver: [JSON.parse(waiver.payload.toString())],
  };
}

type Change = { what: string; value: unknown };

/** The document with one thing changed: each value replaced by others, each key taken away, a key added to each object. */
function* changesOf(value: unknown, path = ''): Generator<Change> {
  for (const other of [null, 'x', -1, 0.5, 2 ** 53, [], {}, true])
    yield { what: `${path} = ${JSON.stringify(other)}`, value: other };
  if (Array.isArray(value)) {
    // Samples and cells are alike; the first of each says enough.
    for (const [at, item] of value.slice(0, 2).entries())
      for (const { what, value: changed } of changesOf(item, `${path}[${at}]`))
        yield { what, value: value.with(at, changed) };
  } else if (typeof value === 'object' && value !== null) {
    yield { what: `${path}.added`, value: { ...value, added: 1 } };
    for (const [key, item] of Object.entries(value)) {
      const { [key]: _, ...rest } = value as Record<string, unknown>;
      yield { what: `${path} without ${key}`, value: rest };
      for (const { what, value: changed } of changesOf(item, `${path}.${key}`))
        yield { what, value: { ...value, [key]: changed } };
    }
  }
}

describe('docs/schemas', () => {
  test('has what `npm run schemas` writes, and nothing else', async () => {
    const files = (await readdir(folder)).filter((file) => file.endsWith('.json')).sort();
    assert.deepEqual(files, documentNames.map(schemaFile).sort());
    for (const name of documentNames)
      assert.equal(
        await readFile(join(folder, schemaFile(name)), 'utf8'),
        renderSchema(name),
        `${name}: run npm run schemas`,
      );
  });

  test('accepts real documents, and refuses what the parsers refuse', async (context) => {
    for (const [name, list] of Object.entries(await realDocuments(context)) as [DocumentName, unknown[]][]) {
      const validate = await validatorOf(name);
      const { schema, writtenBy } = documents[name];
      assert.ok(list.length > 0, name);
      const seen = new Set<string>();
      let refused = 0;
      for (const document of list) {
        assert.ok(validate(document), `${name}: ${JSON.stringify(validate.errors)}`);
        // Of lines that are alike one is changed: the first of its kind.
        const kind = String((document as { kind?: string }).kind);
        if (name === 'journal-entry' && seen.has(kind)) continue;
        seen.add(kind);
        for (const { what, value } of changesOf(document)) {
          const parsed = schema.safeParse(value);
          // What `qualify` writes has its defaults filled in: the schema asks for what the parser would add.
          const fits = parsed.success && (writtenBy === 'people' || isDeepStrictEqual(parsed.data, value));
          const valid = validate(value);
          if (!valid) refused += 1;
          if (valid !== fits) assert.fail(`${name}${what}: the schema says ${valid}, the parser ${fits}`);
        }
      }
      assert.ok(refused > 20, `${name}: ${refused} changes refused`);
      context.diagnostic(`${name}: ${list.length} documents, ${refused} changed ones refused`);
    }
  });
});
