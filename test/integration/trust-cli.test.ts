/** `qualify verify --trust`, as a user runs it: whom a policy trusts, for what and until when. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { place } from '../fixtures/trust-place.js';

test('takes a signer whom the policy trusts, in that role', async (context) => {
  const at = await place(context);
  at.done('keys', 'generate');
  at.done('keys', 'add', 'default', '--role', 'observer', '--trust', at.trust);
  at.refuses('unknown-key');
  at.done('keys', 'add', at.signerFile, '--role', 'maintainer', '--trust', at.trust);
  at.refuses('wrong-role');
  assert.equal(at.verify('--role', 'maintainer').code, 0);
  at.done('keys', 'add', at.signerFile, '--role', 'observer', '--trust', at.trust);
  const { code, stdout } = at.verify();
  assert.equal(code, 0);
  assert.ok(stdout.includes(`${at.signer.publicKey.keyId} (trusted by the policy you gave)`));
  const json = JSON.parse(at.done('verify', at.run, '--trust', at.trust, '--json'));
  assert.equal(json.trust.role, 'observer');
  assert.equal(json.trust.sha256, sha256(await readFile(at.trust)));
  assert.deepEqual(json.trust.entry.roles, ['maintainer', 'observer']);
  assert.equal(json.signer.trust, 'policy');
});

test('needs neither the key in the run folder nor one in the folder of keys', async (context) => {
  const at = await place(context);
  at.done('keys', 'add', at.signerFile, '--role', 'observer', '--trust', at.trust);
  spawnSync('rm', [join(at.run, 'key.pub.pem')]);
  assert.equal(at.qualify('verify', at.run).code, 16);
  assert.equal(at.verify().code, 0);
});

test('refuses by machine, window and revocation', async (context) => {
  const at = await place(context);
  const other = '5'.repeat(64);
  at.done('keys', 'add', at.signerFile, '--role', 'observer', '--machine', other, '--trust', at.trust);
  at.refuses('wrong-machine');
  const { statement } = JSON.parse(at.done('verify', at.run, '--json'));
  const { machine, finishedAt } = statement.predicate;
  at.done('keys', 'add', at.signerFile, '--role', 'observer', '--machine', machine.id, '--trust', at.trust);
  assert.equal(at.verify().code, 0);
  const window = (...more: string[]) =>
    at.done('keys', 'add', at.signerFile, '--role', 'observer', '--trust', at.trust, ...more);
  window('--not-before', '2090-01-01');
  at.refuses('not-yet-valid');
  window('--not-before', '2001-01-01', '--not-after', '2002-01-01T00:00:00Z');
  at.refuses('expired');
  window('--not-after', '2090-01-01');
  assert.equal(at.verify().code, 0);
  const revoke = (...more: string[]) =>
    at.qualify('keys', 'revoke', at.signer.publicKey.keyId, '--trust', at.trust, ...more);
  assert.equal(revoke('--reason', 'superseded').code, 0);
  assert.equal(at.verify().code, 0, 'what was signed before stays good');
  assert.equal(revoke('--reason', 'superseded', '--since', finishedAt).code, 0);
  at.refuses('revoked');
  assert.equal(revoke('--reason', 'superseded').code, 64, 'a revocation is not taken back');
  assert.equal(revoke('--reason', 'compromised').code, 0);
  at.refuses('revoked');
  assert.equal(revoke('--reason', 'superseded').code, 64);
  assert.equal(at.qualify('keys', 'add', at.signerFile, '--role', 'observer', '--trust', at.trust).code, 64);
});

test('explains what was checked, judged, and what remains the signer’s word', async (context) => {
  const at = await place(context);
  at.done('keys', 'add', at.signerFile, '--role', 'observer', '--trust', at.trust);
  const stdout = at.done('verify', at.run, '--trust', at.trust, '--explain');
  for (const name of [
    'signature',
    'evidence',
    'plan',
    'exchanges',
    'verdict',
    'statement',
    'trust',
    'believed',
  ])
    assert.match(stdout, new RegExp(`^  ${name} +\\S`, 'm'));
  assert.match(stdout, /trust +observer of the trust policy, at any time, of any machine/);
  assert.match(stdout, /docs\/manifest\.md\n$/);
  assert.match(at.done('verify', at.run, '--explain'), /trust +not judged: --trust FILE/);
  const pieces = stdout.split('\n').filter((line) => /^ {13}\S/.test(line));
  assert.ok(pieces.every((line) => line.length <= 80));
});

test('an untrusted signer: says what was checked before, names the policy and what to do', async (context) => {
  const at = await place(context);
  at.done('keys', 'add', at.signerFile, '--role', 'verifier', '--trust', at.trust);
  const role = at.verify('--explain');
  assert.equal(role.code, 16);
  assert.match(
    role.stdout,
    /^NOT verified .*\n {2}signature {2}Ed25519 .*(\n.*)*\n {2}statement {2}every field/,
  );
  assert.match(role.stdout, /\n {2}then +it failed: see the error\n$/);
  assert.match(role.stderr, /next: .*qualify keys add KEY\.pub --trust \S*trust\.json/);
  assert.equal(at.verify().stdout, '');
  await writeFile(at.trust, '{"schemaVersion":1,"keys":[]}');
  const unknown = at.verify('--explain');
  assert.match(unknown.stdout, /^NOT verified .*\n {2}no check +was passed: see the error\n$/);
  assert.match(
    unknown.stderr,
    /at: {3}\S*trust\.json\n {2}next: .*If you trust the signer: qualify keys add KEY\.pub --role observer --trust \S*trust\.json$/m,
  );
  const nobody = at.qualify('keys', 'export', 'nosuch');
  assert.match(nobody.stderr, /there is no key "nosuch", and no such file\n(.*\n)*.*you have no keys yet/);
});

test('refuses calls that mean nothing, and files that are none', async (context) => {
  const at = await place(context);
  at.done('keys', 'add', at.signerFile, '--role', 'observer', '--trust', at.trust);
  const usage = (...argv: string[]) =>
    assert.equal(at.qualify('verify', at.run, ...argv).code, 64, argv.join(' '));
  usage('--trust', at.trust, '--key', at.signerFile);
  usage('--role', 'maintainer');
  usage('--attest', 'summary.jsonl');
  usage('--attestations', 'summary.jsonl');
  usage('--as', 'default');
  usage('--trust', at.path('none.json'));
  usage('--key', at.trust);
  usage('--key', at.signer.path);
  usage('--trust', at.trust, '--attestations', 'none.jsonl');
  await writeFile(at.path('bad.json'), '{"schemaVersion":1,"keys":[{}]}');
  usage('--trust', at.path('bad.json'));
  const failure = at.qualify('verify', at.run, '--trust', at.path('bad.json'), '--json');
  assert.equal(JSON.parse(failure.stdout).error.code, 'ERR_QUALIFY_TRUST_POLICY');
});
