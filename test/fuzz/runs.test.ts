/** Whole runs: sealed by an author who changed what they say, so that every signature and digest holds; and archives that were damaged. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { sha256 } from '../../src/digest.js';
import { QualifyError } from '../../src/errors.js';
import { packRun } from '../../src/manifest/pack.js';
import { seal } from '../../src/manifest/seal.js';
import { unpackRun } from '../../src/manifest/unpack.js';
import { verifyRun } from '../../src/manifest/verify.js';
import { fuzzTest } from './fuzz.js';
import { damagedBytes, damagedValue } from './mutations.js';
import { sampleRun } from './sample-run.js';

const sample = await sampleRun();
const keyFolder = join(sample.folder, 'no-keys');
const SEALS = [
  'evidence.sha256',
  'key.pub.pem',
  'qualification.intoto.jsonl',
  'qualification.sigstore.json',
  'qualification.intoto.jsonl.sig',
];

/** A copy that lacks its seals, for `work`. */
async function withCopy(work: (run: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(sample.folder, 'copy-'));
  try {
    const run = join(folder, 'run');
    cpSync(sample.run, run, { recursive: true });
    for (const file of SEALS) rmSync(join(run, file));
    await work(run);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const entries = sample
  .read('journal.jsonl')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as unknown);
const plan = sample.json('plan.json');

/** Digest of the plan and numbers of lines follow the change, as its author would have them. */
function spellJournal(changed: unknown): string {
  const list = Array.isArray(changed) ? changed : [changed];
  return list
    .map((entry, seq) =>
      typeof entry === 'object' && entry !== null && 'seq' in entry ? { ...entry, seq } : entry,
    )
    .map((entry) => `${JSON.stringify(entry) ?? ''}\n`)
    .join('');
}

const isRefusal = (error: unknown): boolean => error instanceof QualifyError;

fuzzTest(
  'a journal changed by its signer is sealed and refused, or follows',
  damagedValue([entries], 2, 1),
  (changed) =>
    withCopy(async (run) => {
      writeFileSync(join(run, 'journal.jsonl'), spellJournal(changed));
      await seal(run, sample.key);
      await verifyRun(run, { keyFolder });
    }),
  { share: 0.5, isRefusal },
);

fuzzTest(
  'a plan changed by its signer is sealed and refused, or follows',
  damagedValue([plan], 1, 1),
  (changed) =>
    withCopy(async (run) => {
      writeFileSync(join(run, 'plan.json'), JSON.stringify(changed) ?? '');
      const { canonicalDigest } = await import('../../src/digest.js');
      const [first, ...rest] = entries;
      const planDigest = changed === undefined ? sha256('') : canonicalDigest(changed);
      writeFileSync(
        join(run, 'journal.jsonl'),
        spellJournal([{ ...(first as object), planDigest }, ...rest]),
      );
      await seal(run, sample.key);
      await verifyRun(run, { keyFolder });
    }),
  { share: 0.5, isRefusal },
);

const answers = readdirSync(join(sample.run, 'evidence'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.json'))
  .map((entry) => join(entry.parentPath, entry.name).slice(sample.run.length + 1));
const changedFile = fc
  .constantFrom(...answers)
  .chain((path) =>
    damagedValue([sample.json(path)], 2, 1).map((value) => ({ path, text: JSON.stringify(value) ?? '' })),
  );
fuzzTest(
  'a file of the evidence changed by its signer, with its digest in the journal, is refused, or follows',
  changedFile,
  ({ path, text }) =>
    withCopy(async (run) => {
      const before = sha256(readFileSync(join(run, path)));
      writeFileSync(join(run, path), text);
      const journal = readFileSync(join(run, 'journal.jsonl'), 'utf8').replaceAll(before, sha256(text));
      writeFileSync(join(run, 'journal.jsonl'), journal);
      await seal(run, sample.key);
      await verifyRun(run, { keyFolder });
    }),
  { share: 0.5, isRefusal },
);

const archive = join(sample.folder, 'run.tar');
await packRun(sample.run, { out: archive });
let unpacked = 0;
fuzzTest(
  'an archive: what is taken is a run that verifies, and nothing else is left',
  damagedBytes([readFileSync(archive)], ['../x', 'ustar', '\0\0\0\0', '0000644']),
  async (bytes) => {
    const folder = mkdtempSync(join(sample.folder, 'archive-'));
    try {
      writeFileSync(join(folder, 'x.tar'), bytes);
      unpacked += 1;
      const out = join(folder, `out-${unpacked}`);
      try {
        await unpackRun(join(folder, 'x.tar'), { out, verify: { keyFolder } });
        await verifyRun(out, { keyFolder });
      } catch (error) {
        assert.deepEqual(readdirSync(folder), ['x.tar']);
        throw error;
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  { share: 0.5, isRefusal },
);
