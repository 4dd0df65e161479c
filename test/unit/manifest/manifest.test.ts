/** Two lines and their copies: each must follow from the first. */
import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { signEnvelope } from '../../../src/manifest/envelope.js';
import { generateKey, type OwnKey } from '../../../src/manifest/key-store.js';
import { readManifest, signedFiles } from '../../../src/manifest/manifest.js';
import { seal } from '../../../src/manifest/seal.js';
import { signSsh } from '../../../src/manifest/ssh-signature.js';
import type { Statement } from '../../../src/manifest/statement.js';
import { serializeTestResult, type TestResult, testResultOf } from '../../../src/manifest/test-result.js';
import { verifyRun } from '../../../src/manifest/verify.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

const MANIFEST = 'qualification.intoto.jsonl';
const BUNDLE = 'qualification.sigstore.json';
const SSH = `${MANIFEST}.sig`;

interface Sealed {
  folder: string;
  run: string;
  key: OwnKey;
  statement: Statement;
  lines: [string, string];
}

async function sealedRun(context: TestContext): Promise<Sealed> {
  const folder = await scratchFolder(context);
  const run = join(folder, 'run');
  const key = await generateKey('signer', join(folder, 'signer'));
  await writeRun(run);
  const { statement } = await seal(run, key);
  const [first = '', second = ''] = (await readFile(join(run, MANIFEST), 'utf8')).split(/(?<=\n)/);
  return { folder, run, key, statement, lines: [first, second] };
}

/** Writes the lines, and a new SSH signature over them, so that only the lines can be what is wrong. */
async function rewrite({ run, key }: Sealed, ...lines: string[]): Promise<void> {
  await writeFile(join(run, MANIFEST), lines.join(''));
  await writeFile(join(run, SSH), (await signSsh(Buffer.from(lines.join('')), key)) ?? '');
}

const refuses = ({ run, folder }: Sealed, where: string, message: RegExp) =>
  assert.rejects(verifyRun(run, { keyFolder: join(folder, 'keys') }), {
    ...{ exitCode: 16, where, message },
  });

const verifies = ({ run, folder }: Sealed) => verifyRun(run, { keyFolder: join(folder, 'keys') });

/** The statement with another verdict, cells included. */
const withVerdict = (statement: Statement, verdict: Statement['predicate']['result']): Statement => {
  const copy = structuredClone(statement);
  copy.predicate.result = verdict;
  for (const cell of copy.predicate.cells) cell.verdict = verdict;
  return copy;
};

test('says the verdict in in-toto words', async (context) => {
  const { statement } = await sealedRun(context);
  const words = { pass: 'PASSED', inconclusive: 'WARNED', fail: 'FAILED', contaminated: 'FAILED' } as const;
  for (const [verdict, word] of Object.entries(words)) {
    const { predicate, subject } = testResultOf(withVerdict(statement, verdict as keyof typeof words));
    assert.equal(predicate.result, word);
    assert.deepEqual(subject, statement.subject);
    const lists = [predicate.passedTests, predicate.warnedTests, predicate.failedTests];
    const expected = ['PASSED', 'WARNED', 'FAILED'].map((each) => (each === word ? ['32/32'] : []));
    assert.deepEqual(lists, expected);
  }
  assert.deepEqual(testResultOf(statement).predicate.configuration, [
    { name: 'matrix fixture', digest: statement.predicate.matrix.digest },
    { name: 'plan', digest: statement.predicate.plan.digest },
  ]);
});

test('never passes what no gate may rest on', async (context) => {
  const { statement } = await sealedRun(context);
  const passed = withVerdict(statement, 'pass');
  const word = (change: (predicate: Statement['predicate']) => void): string => {
    const copy = structuredClone(passed);
    change(copy.predicate);
    return testResultOf(copy).predicate.result;
  };
  assert.equal(
    word(() => {}),
    'PASSED',
  );
  assert.equal(
    word((predicate) => {
      predicate.simulation = { effectPercent: 0 } as never;
    }),
    'FAILED',
  );
  assert.equal(
    word((predicate) => {
      predicate.design = {} as never;
    }),
    'WARNED',
  );
  assert.equal(
    word((predicate) => {
      Object.assign(predicate.arms[1] ?? {}, { plantedSlowdownPercent: 3 });
    }),
    'WARNED',
  );
});

test('refuses a test result that does not follow, though it is signed', async (context) => {
  const sealed = await sealedRun(context);
  const { key, lines, statement } = sealed;
  const other = (change: (result: TestResult) => void): Promise<string> => {
    const result = structuredClone(testResultOf(statement));
    change(result);
    return signEnvelope(serializeTestResult(result), key);
  };
  await rewrite(sealed, lines[0], await other(() => {}));
  await verifies(sealed);
  for (const change of [
    (result: TestResult) => {
      result.predicate.result = 'PASSED';
    },
    (result: TestResult) => {
      result.predicate.passedTests = result.predicate.warnedTests;
    },
    (result: TestResult) => {
      result.subject = result.subject.slice(1);
    },
    (result: TestResult) => {
      Object.assign(result.predicate, { url: 'https://example.com' });
    },
  ]) {
    await rewrite(sealed, lines[0], await other(change));
    await refuses(sealed, MANIFEST, /line 2 has a test result that does not follow from line 1/);
  }
  const spaced = Buffer.from(JSON.stringify(testResultOf(statement), null, 1));
  await rewrite(sealed, lines[0], await signEnvelope(spaced, key));
  await refuses(sealed, MANIFEST, /line 2 has a test result that does not follow from line 1/);
});

test('refuses a test result by another key', async (context) => {
  const sealed = await sealedRun(context);
  const other = await generateKey('other', join(sealed.folder, 'others'));
  const [, line = ''] = (await signedFiles(sealed.statement, other))[MANIFEST].split(/(?<=\n)/);
  await rewrite(sealed, sealed.lines[0], line);
  await refuses(sealed, 'key.pub.pem', /is not the signer's key/);
  const renamed = line.replace(other.publicKey.keyId, sealed.key.publicKey.keyId);
  await rewrite(sealed, sealed.lines[0], renamed);
  await refuses(sealed, MANIFEST, /line 2 does not match its signature/);
});

test('refuses other lines than the two', async (context) => {
  const sealed = await sealedRun(context);
  const [first, second] = sealed.lines;
  for (const lines of [
    [first],
    [first, second, second],
    [first, second, '\n'],
    [first, second.trimEnd()],
    [first, '\n', second],
  ]) {
    await rewrite(sealed, ...lines);
    await refuses(sealed, MANIFEST, /two lines|is not JSON/);
  }
  await rewrite(sealed, second, first);
  await refuses(sealed, MANIFEST, /has the predicate type "https:\/\/in-toto\.io\/attestation\/test-result/);
  await rewrite(sealed, first, first);
  await refuses(sealed, MANIFEST, /line 2 has a test result that does not follow/);
  await rewrite(sealed, first.replace('{', '{ '), second);
  await refuses(sealed, MANIFEST, /is not spelt/);
});

test('refuses a bundle that is not that of the first line', async (context) => {
  const sealed = await sealedRun(context);
  const path = join(sealed.run, BUNDLE);
  const text = await readFile(path, 'utf8');
  for (const changed of [
    text.trimEnd(),
    text.replace('v0.3', 'v0.2'),
    text.replace('"hint":"SHA256:', '"hint":"SHA256:x'),
    text.replace('"tlogEntries":[]', '"tlogEntries": []'),
  ]) {
    await writeFile(path, changed);
    await refuses(sealed, BUNDLE, /is not the bundle of the first line/);
  }
});

test('refuses an SSH signature of another manifest or key, and needs none', async (context) => {
  const sealed = await sealedRun(context);
  const path = join(sealed.run, SSH);
  const text = await readFile(path, 'utf8');
  await writeFile(path, (await signSsh(Buffer.from('another manifest'), sealed.key)) ?? '');
  await refuses(sealed, SSH, /does not sign the manifest beside it/);
  const other = await generateKey('other', join(sealed.folder, 'others'));
  await writeFile(path, (await signSsh(await readFile(join(sealed.run, MANIFEST)), other)) ?? '');
  await refuses(sealed, SSH, /is no SSH signature by SHA256:/);
  for (const changed of ['', `${text}\n`, text.replace('\n', '\r\n'), text.replace('SSH', 'PGP')]) {
    await writeFile(path, changed);
    await refuses(sealed, SSH, /is no SSH signature by SHA256:/);
  }
  await rm(path);
  await verifies(sealed);
});

test('reads the lines that it wrote', async (context) => {
  const { lines, run } = await sealedRun(context);
  const read = readManifest(await readFile(join(run, MANIFEST)));
  assert.equal(read.firstLine, lines[0]);
  assert.match(
    lines[0],
    /^\{"payload":"[^"]+","payloadType":"application\/vnd\.in-toto\+json","signatures":\[\{"keyid":"SHA256:[^"]{43}","sig":"[^"]+"\}\]\}\n$/,
  );
});
