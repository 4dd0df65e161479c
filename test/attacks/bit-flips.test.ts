/**
 * Edited evidence, without imagination: single bits of every file of a sealed run, thousands of them, and what is cut off or added. Each must be noticed, with exit 16 and the
 * name of a file. `FLIP_SEED` gives other bits (`random`: others each time, and the seed is told), `FLIPS` changes how many.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { QualifyError } from '../../src/errors.js';
import { verifyRun } from '../../src/manifest/verify.js';
import { sampleRun } from '../fuzz/sample-run.js';
import { BUNDLE, copyOf, INDEX, KEY, MANIFEST, SSH_SIGNATURE, verifierWithout } from './attack.js';

const { FLIP_SEED = '1' } = process.env;
const seed = FLIP_SEED === 'random' ? String(randomInt(2 ** 31)) : FLIP_SEED;
const FLIPS = Number(process.env.FLIPS ?? 10_000);
/** However small it is. */
const LEAST_OF_A_FILE = 30;

const sample = await sampleRun();
/** Who verifies knows the key or does not: in turn. */
const options = [
  { keyFolder: join(sample.folder, 'no-keys') },
  { keyFolder: join(sample.folder, 'no-keys'), key: join(sample.folder, 'signer', 'signer.pub') },
];

/** Numbers below `limit` that follow from the seed. */
function* numbers(limit: number, name: string): Generator<number> {
  for (let count = 0; ; count += 1) {
    const word = createHash('sha256').update(`${seed} ${name} ${count}`).digest().readUIntBE(0, 6);
    yield word % limit;
  }
}

/** Which step noticed, by its words. */
const STEPS: [step: string, words: RegExp][] = [
  ['key', /small order|as a public key|SPKI PEM|Ed25519 is used|signer's key|spelt as qualify writes it$/],
  ['JSON', /is not JSON|is not UTF-8|surrogate|twice, again/],
  ['envelope', /DSSE envelope|payload type|base64|two lines|line that ends|whitespace or order/],
  ['signature', /does not match its signature|names the key|is not signed by/],
  ['bundle', /is not the bundle/],
  ['SSH signature', /SSH signature|does not sign the manifest/],
  ['digest of the index', /which the statement does not have/],
  ['digest of a file', /evidence\.sha256 says/],
];

async function flip(
  run: string,
  verifier: { verifyRun: typeof verifyRun },
  flips: number,
): Promise<{ steps: Map<string, number>; unnoticed: string[]; files: number }> {
  const paths = readdirSync(run, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(run.length + 1))
    .sort();
  const originals = new Map(paths.map((path) => [path, readFileSync(join(run, path))]));
  const total = [...originals.values()].reduce((sum, { length }) => sum + length, 0);
  const steps = new Map<string, number>();
  const unnoticed: string[] = [];
  const spare = Math.max(0, flips - LEAST_OF_A_FILE * paths.length);
  for (const [path, bytes] of originals) {
    const share =
      Math.ceil((spare * bytes.length) / total) + Math.min(LEAST_OF_A_FILE, Math.ceil(flips / paths.length));
    const bits = numbers(bytes.length * 8, path);
    for (let count = 0; count < share; count += 1) {
      const bit = bits.next().value as number;
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      writeFileSync(join(run, path), changed);
      const step = await noticedBy(run, verifier, count);
      if (step === null) unnoticed.push(`${path} bit ${bit}`);
      else steps.set(step, (steps.get(step) ?? 0) + 1);
    }
    writeFileSync(join(run, path), bytes);
  }
  return { steps, unnoticed, files: paths.length };
}

/** The step that noticed, or null. */
async function noticedBy(
  run: string,
  verifier: { verifyRun: typeof verifyRun },
  turn: number,
): Promise<string | null> {
  try {
    await verifier.verifyRun(run, options[turn % 2]);
    return null;
  } catch (error) {
    assert.ok(error instanceof QualifyError, String(error));
    assert.equal(error.exitCode, 16, error.message);
    assert.ok(error.where, error.message);
    return STEPS.find(([, words]) => words.test(error.message))?.[0] ?? 'a later step';
  }
}

const told = (steps: Map<string, number>): string =>
  [...steps]
    .sort(([, a], [, b]) => b - a)
    .map(([step, count]) => `${step} ${count}`)
    .join(', ');

test(`${FLIPS} flipped bits over every file are all noticed`, async (context: TestContext) => {
  const run = copyOf(sample, context);
  const began = process.cpuUsage();
  const { steps, unnoticed, files } = await flip(run, { verifyRun }, FLIPS);
  const flips = [...steps.values()].reduce((sum, count) => sum + count, unnoticed.length);
  const { user, system } = process.cpuUsage(began);
  const seconds = ((user + system) / 1e6).toFixed(1);
  context.diagnostic(
    `FLIP_SEED=${seed}: ${flips} flips over ${files} files in ${seconds} s of CPU; noticed by ${told(steps)}`,
  );
  assert.deepEqual(unnoticed, []);
  assert.ok(flips >= FLIPS && files > 20);
  // Some 50 of 10,000 reach the rarest of them, whatever the key of the run makes of its bytes.
  for (const [step] of STEPS) assert.ok(steps.has(step) || FLIPS < 5000, `no flip reached: ${step}`);
  await verifyRun(run, options[1]);
});

test('without the digests of the files, flips in what engines wrote go unnoticed', async (context: TestContext) => {
  const run = copyOf(sample, context);
  const unguarded = await verifierWithout(context, [
    { module: 'manifest/evidence-index', guard: 'if (sha256 !== expected)', instead: 'if (false)' },
  ]);
  const { steps, unnoticed } = await flip(run, unguarded, 100);
  context.diagnostic(`${unnoticed.length} unnoticed; noticed by ${told(steps)}`);
  assert.ok(
    unnoticed.some((flipped) => /\.log bit \d+$/.test(flipped)),
    unnoticed.join(),
  );
});

test('without the check of signatures, flips in one are believed', async (context: TestContext) => {
  const run = copyOf(sample, context);
  const unguarded = await verifierWithout(context, [
    { module: 'manifest/envelope', guard: 'if (!isSignedBy(', instead: 'if (false && !isSignedBy(' },
    // Copies of the same lines.
    {
      module: 'manifest/open-manifest',
      guard: 'if (!Buffer.from(bundleOf(',
      instead: 'if (false && !Buffer.from(bundleOf(',
    },
    { module: 'manifest/open-manifest', guard: 'checkSsh(sshSignature, manifest.bytes, key);', instead: '' },
  ]);
  const bytes = readFileSync(join(run, MANIFEST));
  const begin = bytes.indexOf('"sig":"') + '"sig":"'.length;
  const length = bytes.indexOf('"', begin) - begin;
  assert.equal(length, 88);
  let believed = 0;
  for (let at = begin; at < begin + length; at += 1) {
    const changed = Buffer.from(bytes);
    // Most of what comes of it is in the alphabet of base64 still.
    changed[at] = (changed[at] ?? 0) ^ 1;
    writeFileSync(join(run, MANIFEST), changed);
    if ((await noticedBy(run, unguarded, at)) === null) believed += 1;
    assert.notEqual(await noticedBy(run, { verifyRun }, at), null);
  }
  assert.ok(believed > length / 2, `${believed} of ${length}`);
});

test('bytes that are cut off, added, or all others', async (context: TestContext) => {
  const run = copyOf(sample, context);
  for (const path of [
    MANIFEST,
    BUNDLE,
    SSH_SIGNATURE,
    KEY,
    INDEX,
    'plan.json',
    'journal.jsonl',
    'report.md',
  ]) {
    const bytes = readFileSync(join(run, path));
    const others = [
      bytes.subarray(0, -1),
      Buffer.concat([bytes, Buffer.from('\n')]),
      randomBytes(8),
      Buffer.alloc(0),
    ];
    for (const [turn, changed] of others.entries()) {
      writeFileSync(join(run, path), changed);
      assert.notEqual(await noticedBy(run, { verifyRun }, turn), null, path);
    }
    writeFileSync(join(run, path), bytes);
  }
  await verifyRun(run, options[0]);
});
