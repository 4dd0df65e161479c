/** `qualify verify --trust` and the commands that write trust policies, as a user runs them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { cliScript } from '../../src/harness.js';
import { generateKey, type OwnKey } from '../../src/manifest/key-store.js';
import { seal } from '../../src/manifest/seal.js';
import { summarySchema } from '../../src/manifest/verification-summary.js';
import { writeRun } from '../fixtures/run-folder.js';
import { scratchFolder } from '../support/folder.js';

interface Result {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A run by `signer`, whose key is not in the config folder that commands use. */
class Place {
  readonly folder: string;
  readonly signer: OwnKey;
  readonly run: string;
  readonly trust: string;
  readonly signerFile: string;

  constructor(folder: string, signer: OwnKey) {
    this.folder = folder;
    this.signer = signer;
    this.run = this.path('run');
    this.trust = this.path('trust.json');
    this.signerFile = this.path('signer', 'signer.pub');
  }

  path(...parts: string[]): string {
    return join(this.folder, ...parts);
  }

  /** In a process of its own. */
  qualify(...argv: string[]): Result {
    const { status, stdout, stderr } = spawnSync(process.execPath, [cliScript, ...argv], {
      env: { PATH: process.env.PATH, XDG_CONFIG_HOME: this.path('config') },
      cwd: this.folder,
      encoding: 'utf8',
    });
    return { code: status, stdout, stderr };
  }

  /** @throws when it does not end with 0 */
  done(...argv: string[]): string {
    const { code, stdout, stderr } = this.qualify(...argv);
    assert.equal(code, 0, `${argv.join(' ')}\n${stderr}`);
    return stdout;
  }

  verify(...more: string[]): Result {
    return this.qualify('verify', this.run, '--trust', this.trust, ...more);
  }

  /** Is refused for that reason, with exit code 16. */
  refuses(code: string, ...more: string[]): void {
    const result = this.verify(...more);
    assert.equal(result.code, 16, result.stdout);
    assert.equal(result.stdout, '');
    assert.ok(result.stderr.includes(`The signer is not trusted (${code}): `), result.stderr);
    assert.ok(result.stderr.includes('ERR_QUALIFY_UNTRUSTED'));
  }
}

async function place(context: TestContext): Promise<Place> {
  const folder = await scratchFolder(context);
  const made = new Place(folder, await generateKey('signer', join(folder, 'signer')));
  await writeRun(made.run);
  await seal(made.run, made.signer);
  return made;
}

const keys = async (at: Place): Promise<Record<string, unknown>[]> =>
  JSON.parse(await readFile(at.trust, 'utf8')).keys;

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
    /at: {3}\S*trust\.json\n {2}next: If you trust the signer: qualify keys add KEY\.pub --role observer --trust \S*trust\.json\./,
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
