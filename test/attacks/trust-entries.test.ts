/** Keys that sign what their entry in the policy does not allow: another role, machine or time. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { runTrustQuestion } from '../../src/manifest/trust-run.js';
import { verifyRun } from '../../src/manifest/verify.js';
import { entry, LONG_AGO, options, scene, tryVerify, untrusted } from './try-trust.js';

test('a maintainer, who may waive, signs a run', async (t) => {
  const at = await scene(t);
  const asked = await options(at, [entry(at.signer.publicKey, { roles: ['maintainer', 'verifier'] })]);
  const error = await tryVerify(t, at.run, asked, {
    module: 'manifest/trust-judgement',
    guard: '!entry.roles.includes(question.role)',
    instead: 'false',
  });
  untrusted(error, 'wrong-role');
});

test('a key of one machine signs the run of another', async (t) => {
  const at = await scene(t);
  const asked = await options(at, [entry(at.signer.publicKey, { machines: ['7'.repeat(64)] })]);
  const error = await tryVerify(t, at.run, asked, {
    module: 'manifest/trust-judgement',
    guard: "role !== 'observer' || entry.machines === undefined",
    instead: 'true',
  });
  untrusted(error, 'wrong-machine');
});

test('a key signs after its window', async (t) => {
  const at = await scene(t);
  const asked = await options(at, [entry(at.signer.publicKey, { notAfter: LONG_AGO })]);
  const error = await tryVerify(t, at.run, asked, {
    module: 'manifest/trust-judgement',
    guard: 'Date.parse(signed) > end',
    instead: 'false',
  });
  untrusted(error, 'expired');
});

test('a stolen key goes on signing, with dates from before the theft', async (t) => {
  const at = await scene(t);
  const revoked = { since: '2026-12-31T00:00:00Z', reason: 'compromised' } as const;
  const asked = await options(at, [entry(at.signer.publicKey, { revoked })]);
  const error = await tryVerify(t, at.run, asked, {
    module: 'manifest/trust-judgement',
    guard: "if (revoked.reason === 'compromised') {",
    instead: 'if (false) {',
  });
  untrusted(error, 'revoked');
});

test('what is asked of a run is what its statement says, not what an archive is called', async (t) => {
  const at = await scene(t);
  const verification = await verifyRun(at.run, { keyFolder: join(at.folder, 'none') });
  const question = runTrustQuestion(verification);
  const { predicate } = verification.statement;
  assert.equal(question.machineId, predicate.machine.id);
  assert.equal(question.finishedAt, predicate.finishedAt);
  assert.equal(question.key.pem, at.signer.publicKey.pem);
  const manifest = await readFile(join(at.run, 'qualification.intoto.jsonl'));
  assert.equal(question.manifestSha256, sha256(manifest));
});
