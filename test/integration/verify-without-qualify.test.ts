/** Runs the block of the README that checks a run with jq, openssl and coreutils alone. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFile, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { harnessFolder } from '../../src/harness.js';
import { signEnvelope } from '../../src/manifest/envelope.js';
import { generateKey } from '../../src/manifest/key-store.js';
import { seal } from '../../src/manifest/seal.js';
import { bundleOf } from '../../src/manifest/sigstore-bundle.js';
import { type Statement, serializeStatement } from '../../src/manifest/statement.js';
import { testResultOf } from '../../src/manifest/test-result.js';
import { writeRun } from '../fixtures/run-folder.js';
import { scratchFolder } from '../support/folder.js';

/** The shell block between the markers. */
async function readmeBlock(): Promise<string> {
  const readme = await readFile(join(harnessFolder, 'README.md'), 'utf8');
  const section = /<!-- verify:begin -->(.*)<!-- verify:end -->/s.exec(readme)?.[1] ?? '';
  const block = /^```sh\n(.*?)^```$/ms.exec(section)?.[1];
  assert.ok(block, 'README.md has a shell block between the markers');
  return block;
}

async function sealedRun(context: TestContext): Promise<{ folder: string; run: string }> {
  const folder = await scratchFolder(context);
  const run = join(folder, 'run');
  await writeRun(run);
  await seal(run, await generateKey('signer', join(folder, 'signer')));
  return { folder, run };
}

/** Runs the block as a stranger would, in the run folder. */
async function check(
  run: string,
  key?: string,
  after = '',
): Promise<{ code: number | null; output: string }> {
  const environment = {
    PATH: process.env.PATH,
    TMPDIR: join(run, '..'),
    ...(key === undefined ? {} : { KEY: key }),
  };
  const { status, stdout, stderr } = spawnSync('sh', ['-c', (await readmeBlock()) + after], {
    cwd: run,
    env: environment,
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.notEqual(status, null, 'waits for ever');
  return { code: status, output: stdout + stderr };
}

test('accepts a sealed run and prints its result', async (context) => {
  const { folder, run } = await sealedRun(context);
  for (const key of [undefined, join(folder, 'signer', 'signer.pub.pem')]) {
    const { code, output } = await check(run, key);
    assert.equal(code, 0, output);
    assert.match(output, /Signature Verified Successfully/);
    assert.match(output, /evidence\.sha256: OK/);
    assert.match(output, /\{"result":"inconclusive","complete":true,"measured":true\}\n$/);
  }
  assert.deepEqual((await readdir(folder)).sort(), ['run', 'signer'], 'its scratch folder is gone');
});

test('refuses the key of somebody else', async (context) => {
  const { folder, run } = await sealedRun(context);
  await generateKey('other', join(folder, 'others'));
  const { code, output } = await check(run, join(folder, 'others', 'other.pub.pem'));
  assert.notEqual(code, 0);
  assert.match(output, /Signature Verification Failure/);
});

test('says what it stopped at, and leaves the shell that it was pasted into', async (context) => {
  const { folder, run } = await sealedRun(context);
  const empty = join(folder, 'empty');
  await mkdir(empty);
  const bundle = join(run, 'qualification.sigstore.json');
  const stops = async (where: string): Promise<string> => {
    const { output } = await check(where, undefined, 'echo "still here after $?"');
    assert.match(output, /^still here after [1-9]\d*$/m);
    return /^NOT VERIFIED: stopped at (.*)$/m.exec(output)?.[1] ?? output;
  };
  assert.equal(await stops(empty), 'what no run writes, or an empty folder');
  await writeFile(bundle, (await readFile(bundle, 'utf8')).replace('"payload":"eyJ', '"payload":"eyK'));
  assert.equal(await stops(run), 'qualification.sigstore.json, which must hold the same envelope');
  assert.deepEqual((await readdir(folder)).sort(), ['empty', 'run', 'signer'], 'its scratch folder is gone');
});

for (const [what, change] of [
  ['a changed file', (run: string) => appendFile(join(run, 'journal.jsonl'), ' ')],
  ['a changed index', (run: string) => appendFile(join(run, 'evidence.sha256'), '\n')],
  ['a missing file', (run: string) => rm(join(run, 'evidence', 'machine.json'))],
  ['an added file', (run: string) => writeFile(join(run, 'evidence', 'extra'), 'x')],
  [
    'another payload type',
    (run: string) => edit(run, (text) => text.replace('in-toto+json', 'in-toto+jsom')),
  ],
  [
    'a changed payload',
    (run: string) => edit(run, (text) => text.replace(/"payload":"eyJ/, '"payload":"eyK')),
  ],
  ['a changed signature', (run: string) => edit(run, (text) => text.replace(/"sig":"../, '"sig":"AA'))],
  [
    'a changed signature of the test result',
    (run: string) => edit(run, (text) => text.replace(/("sig":")..([^\n]*\n)$/, '$1AA$2')),
  ],
  ['bytes behind the second line', (run: string) => edit(run, (text) => `${text}{"x":1}`)],
  [
    'a second signature',
    (run: string) => edit(run, (text) => text.replace(/("signatures":\[)(\{[^}]*\})/, '$1$2,$2')),
  ],
  ['a link', (run: string) => symlink('plan.json', join(run, 'evidence', 'link'))],
  [
    'a pipe in the place of the index',
    async (run: string) => {
      await rm(join(run, 'evidence.sha256'));
      execFileSync('mkfifo', [join(run, 'evidence.sha256')]);
    },
  ],
  ['a folder with a name of two lines', (run: string) => mkdir(join(run, 'a\nb'))],
  ['a folder that looks like an option', (run: string) => mkdir(join(run, '-rf'))],
  ['an added folder with nothing in it', (run: string) => mkdir(join(run, 'evidence', 'approved'))],
  ['a hidden folder', (run: string) => mkdir(join(run, '.git'))],
  ['a third line', (run: string) => edit(run, (text) => text + text.slice(text.indexOf('\n') + 1))],
  ['a manifest without its test result', (run: string) => edit(run, (text) => text.replace(/\n.*\n$/, '\n'))],
  [
    'a bundle of something else',
    async (run: string) => {
      const path = join(run, 'qualification.sigstore.json');
      await writeFile(path, (await readFile(path, 'utf8')).replace('"payload":"eyJ', '"payload":"eyK'));
    },
  ],
] as const) {
  test(`refuses ${what}`, async (context) => {
    const { run } = await sealedRun(context);
    await change(run);
    const { code, output } = await check(run);
    assert.notEqual(code, 0, output);
  });
}

/** Signs other statements with the run's own key, which is what a signer can do who lies. */
async function signedAs(
  context: TestContext,
  state: (statement: Statement, testResult: { predicateType: string }) => void,
): Promise<string> {
  const folder = await scratchFolder(context);
  const run = join(folder, 'run');
  await writeRun(run);
  const key = await generateKey('signer', join(folder, 'signer'));
  const { statement } = await seal(run, key);
  const testResult = { ...testResultOf(statement) };
  state(statement, testResult);
  const first = await signEnvelope(serializeStatement(statement), key);
  const second = await signEnvelope(Buffer.from(JSON.stringify(testResult)), key);
  await writeFile(join(run, 'qualification.intoto.jsonl'), first + second);
  await writeFile(join(run, 'qualification.sigstore.json'), bundleOf(first, key.publicKey.keyId));
  return run;
}

test('refuses what the signer signed as something else, and takes what it signed as this', async (context) => {
  const honest = await check(await signedAs(context, () => undefined));
  assert.equal(honest.code, 0, honest.output);
  const lies: ((statement: Statement, testResult: { predicateType: string }) => void)[] = [
    (statement) => Object.assign(statement, { predicateType: 'https://example.org/waiver/v1' }),
    (_, testResult) => Object.assign(testResult, { predicateType: 'https://example.org/x' }),
    ({ predicate }) => Object.assign(predicate, { result: null }),
  ];
  for (const lie of lies) {
    const { code, output } = await check(await signedAs(context, lie));
    assert.ok(code !== 0 && code !== null, output);
  }
});

test('says of a simulation that nothing was measured', async (context) => {
  const run = await signedAs(context, ({ predicate }) => Object.assign(predicate, { simulation: {} }));
  assert.match((await check(run)).output, /"measured":false\}\n$/);
});

async function edit(run: string, change: (text: string) => string): Promise<void> {
  const path = join(run, 'qualification.intoto.jsonl');
  const text = await readFile(path, 'utf8');
  const changed = change(text);
  assert.notEqual(changed, text);
  await writeFile(path, changed);
}
