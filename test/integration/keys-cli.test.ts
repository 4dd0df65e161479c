/** `qualify keys rotate` and `keys export` with a trust policy, as a user runs them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Place, place } from '../fixtures/trust-place.js';

const keys = async (at: Place): Promise<Record<string, unknown>[]> =>
  JSON.parse(await readFile(at.trust, 'utf8')).keys;

test('rotates a key and writes both into the policy, or neither', async (context) => {
  const at = await place(context);
  at.done('keys', 'generate');
  at.done('keys', 'add', 'default', '--role', 'verifier', 'maintainer', '--trust', at.trust);
  const [before] = await keys(at);
  const rotated = JSON.parse(at.done('keys', 'rotate', '--trust', at.trust, '--json'));
  const [old, fresh] = await keys(at);
  assert.deepEqual(old, { ...before, notAfter: rotated.at });
  assert.deepEqual(fresh?.roles, ['verifier', 'maintainer']);
  assert.equal(fresh?.notBefore, rotated.at);
  assert.equal(fresh?.keyId, rotated.key.keyId);
  assert.deepEqual(rotated.entries, [old, fresh]);
  const listed = () => JSON.parse(at.done('keys', 'list', '--json')).keys.length;
  assert.equal(listed(), 2);
  at.done('keys', 'generate', 'other');
  assert.equal(at.qualify('keys', 'rotate', 'other', '--trust', at.trust).code, 64, 'not in the policy');
  assert.equal(at.qualify('keys', 'rotate', 'nobody').code, 64);
  assert.equal(listed(), 3);
  const pasted = at.done('keys', 'rotate', 'other');
  const entries = JSON.parse(`[${pasted.slice(pasted.indexOf('{'))}]`);
  assert.equal(entries[0].notAfter, entries[1].notBefore);
});

test('exports what OpenSSH holds a manifest to', async (context) => {
  const at = await place(context);
  at.done('keys', 'add', at.signerFile, '--role', 'observer', '--trust', at.trust);
  const name = 'qualification.intoto.jsonl';
  const check = async (...more: string[]): Promise<number | null> => {
    await writeFile(at.path('signers'), at.done('keys', 'export', '--trust', at.trust, '--allowed-signers'));
    const principal = ['-I', 'observer', '-n', 'qualification@qualify-dev.github.io'];
    const signature = ['-s', join(at.run, `${name}.sig`)];
    return spawnSync(
      'ssh-keygen',
      ['-Y', 'verify', '-f', at.path('signers'), ...principal, ...signature, ...more],
      {
        input: await readFile(join(at.run, name)),
      },
    ).status;
  };
  const window = (...more: string[]) =>
    at.done('keys', 'add', at.signerFile, '--role', 'observer', '--trust', at.trust, ...more);
  assert.equal(await check(), 0);
  assert.equal(await check('-I', 'maintainer'), 255);
  assert.equal(await check('-n', 'git'), 255);
  window('--not-before', '2020-01-01', '--not-after', '2090-01-01');
  assert.equal(await check(), 0);
  window('--not-after', '2021-01-01');
  assert.equal(await check(), 255, 'expired');
  assert.equal(await check('-Overify-time=20200601000000Z'), 0, 'not yet, then');
  window('--not-before', '2089-01-01', '--not-after', '2090-01-01');
  assert.equal(await check(), 255, 'not yet valid');
  window('--not-before', '2020-01-01');
  at.done(
    'keys',
    'revoke',
    at.signerFile,
    '--reason',
    'superseded',
    '--since',
    '2021-01-01',
    '--trust',
    at.trust,
  );
  assert.equal(await check(), 255, 'superseded');
  assert.equal(await check('-Overify-time=20200601000000Z'), 0);
  at.done('keys', 'revoke', at.signerFile, '--reason', 'compromised', '--trust', at.trust);
  assert.equal(await check('-Overify-time=20200601000000Z'), 255, 'compromised');
  assert.equal(at.done('keys', 'export', '--trust', at.trust, '--allowed-signers'), '\n');
  assert.equal(at.qualify('keys', 'export', '--allowed-signers').code, 64);
});
