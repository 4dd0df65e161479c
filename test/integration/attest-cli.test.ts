/** Summaries of verification: `qualify verify --attest` and `--attestations`, as a user runs them. */
import assert from 'node:assert/strict';
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { summarySchema } from '../../src/manifest/verification-summary.js';
import { place } from '../fixtures/trust-place.js';

test('attests with another key, and the summary outlives the signer’s compromise', async (context) => {
  const at = await place(context);
  at.done('keys', 'generate');
  at.done('keys', 'add', at.signerFile, '--role', 'observer', '--trust', at.trust);
  const early = at.verify('--attest', 'early.jsonl');
  assert.equal(early.code, 0, early.stderr);
  assert.match(
    early.stderr,
    /Nobody under .* will count this summary: the trust policy does not have the key/,
  );
  at.done('keys', 'add', 'default', '--role', 'verifier', '--trust', at.trust);
  const policy = await readFile(at.trust);
  const made = at.verify('--attest', 'summary.jsonl');
  assert.equal(made.code, 0, made.stderr);
  assert.equal(made.stderr, '');
  assert.match(made.stdout, /attested +FAILED at \S+, in summary\.jsonl/);

  const line = await readFile(at.path('summary.jsonl'), 'utf8');
  assert.equal(line.indexOf('\n'), line.length - 1);
  const envelope = JSON.parse(line);
  const summary = summarySchema.parse(JSON.parse(Buffer.from(envelope.payload, 'base64').toString()));
  const { statement } = JSON.parse(at.done('verify', at.run, '--json'));
  assert.deepEqual(summary.subject, statement.subject);
  const { predicate } = summary;
  assert.equal(predicate.verificationResult, 'FAILED', 'the run is inconclusive');
  assert.deepEqual(predicate.verifiedLevels, ['FAILED']);
  assert.deepEqual(predicate.policy, { uri: 'trust.json', digest: { sha256: sha256(policy) } });
  assert.deepEqual(predicate.inputAttestations, [
    {
      uri: 'qualification.intoto.jsonl',
      digest: { sha256: sha256(await readFile(join(at.run, 'qualification.intoto.jsonl'))) },
    },
  ]);

  at.done('keys', 'revoke', at.signerFile, '--reason', 'compromised', '--trust', at.trust);
  at.refuses('revoked');
  assert.equal(at.verify('--attestations', 'summary.jsonl').code, 0);
  await writeFile(at.path('both.jsonl'), `${await readFile(at.path('early.jsonl'), 'utf8')}${line}`);
  assert.equal(at.verify('--attestations', 'early.jsonl', 'both.jsonl').code, 0);
  at.done('keys', 'revoke', 'default', '--reason', 'compromised', '--trust', at.trust);
  at.refuses('revoked', '--attestations', 'summary.jsonl');
});

test('refuses a summary that was changed, and passes over one that says something else', async (context) => {
  const at = await place(context);
  at.done('keys', 'generate');
  at.done('keys', 'add', at.signerFile, '--role', 'observer', '--trust', at.trust);
  at.done('keys', 'add', 'default', '--role', 'verifier', '--trust', at.trust);
  at.done('verify', at.run, '--trust', at.trust, '--attest', 'summary.jsonl');
  at.done('keys', 'revoke', at.signerFile, '--reason', 'compromised', '--trust', at.trust);
  const line = await readFile(at.path('summary.jsonl'), 'utf8');
  const envelope = JSON.parse(line);
  const body = Buffer.from(envelope.payload, 'base64').toString();
  const earlier = Buffer.from(body.replace(/"timeVerified":"20\d\d/, '"timeVerified":"2020')).toString(
    'base64',
  );
  const bad = {
    changed: [16, line.replace(envelope.payload, earlier), /line 1 does not match its signature/],
    // Nothing that was signed: another file than was meant.
    cut: [64, line.trimEnd(), /has no line that ends/],
    'no envelope': [64, '{}\n', /line 1 is no DSSE envelope/],
    'an empty line': [64, `${line}\n`, /is not JSON/],
    'a trust policy': [64, await readFile(at.trust, 'utf8'), /is not JSON/],
  } as const;
  for (const [name, [exit, text, message]] of Object.entries(bad)) {
    await writeFile(at.path('bad.jsonl'), text);
    const { code, stderr } = at.verify('--attestations', 'bad.jsonl');
    assert.equal(code, exit, name);
    assert.match(stderr, message, name);
    assert.match(stderr, /bad\.jsonl/);
    // The file is whoever verifies', not the run's.
    assert.doesNotMatch(stderr, /rely on this run/);
    assert.match(stderr, /The run is not at fault/);
  }
  // The run's own manifest is signed and says nothing of a verification.
  await copyFile(join(at.run, 'qualification.intoto.jsonl'), at.path('run.jsonl'));
  at.refuses('revoked', '--attestations', 'run.jsonl');
});

test('attests nothing with the run’s own key, into the run, or over a file', async (context) => {
  const at = await place(context);
  at.done('keys', 'add', at.signerFile, '--role', 'observer', '--role', 'verifier', '--trust', at.trust);
  at.done('keys', 'generate');
  const own = at.path('config', 'qualify', 'keys', 'mine.pem');
  await copyFile(at.signer.path, own);
  const self = at.verify('--attest', 'summary.jsonl', '--as', 'mine');
  assert.equal(self.code, 64);
  assert.match(self.stderr, /signed the run itself/);
  const inside = at.verify('--attest', join('run', 'summary.jsonl'));
  assert.equal(inside.code, 64);
  assert.match(inside.stderr, /inside of the run/);
  for (const [name, why] of [
    ['-', /writes a file/],
    ['', /--attest is empty/],
  ] as const) {
    const { code, stderr } = at.verify('--attest', name);
    assert.equal(code, 64, stderr);
    assert.match(stderr, why);
  }
  const unnamed = at.verify('--challenge', '');
  assert.equal(unnamed.code, 64);
  assert.match(unnamed.stderr, /--challenge is empty/);
  await writeFile(at.path('there.jsonl'), 'mine');
  assert.equal(at.verify('--attest', 'there.jsonl').code, 64);
  assert.equal(at.verify('--attest', join('no', 'folder', 's.jsonl')).code, 15);
  assert.equal(at.verify('--attest', 's.jsonl', '--as', 'nobody').code, 64);
  assert.equal(await readFile(at.path('there.jsonl'), 'utf8'), 'mine');
  assert.deepEqual((await readdir(at.folder)).sort(), [
    'config',
    'run',
    'signer',
    'there.jsonl',
    'trust.json',
  ]);
  assert.equal(at.verify().code, 0);
});
