/** Sessions that are signed by a command, and what of keys reaches an engine: nothing. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { publicKeyFromObject } from '../../src/manifest/public-key.js';
import { trustPolicySchema } from '../../src/manifest/trust-policy.js';
import { verifyRun } from '../../src/manifest/verify.js';
import { Repository } from '../support/repository.js';
import { type CliResult, fakeServer, Home } from '../support/run-cli.js';

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = publicKeyFromObject(publicKey, 'made');

/** A home with a key outside of the folder of keys, and a command that signs with it. */
function home(
  context: TestContext,
  script = 'exec openssl dgst -sha256 -sign "$1"',
): Home & { signer: NodeJS.ProcessEnv } {
  const made = new Home();
  context.after(() => made.remove());
  writeFileSync(made.path('secret.pem'), privateKey.export({ format: 'pem', type: 'pkcs8' }), {
    mode: 0o600,
  });
  writeFileSync(made.path('public.pem'), key.pem);
  writeFileSync(made.path('sign'), `#!/bin/sh\n${script}\n`);
  chmodSync(made.path('sign'), 0o755);
  const signer = {
    QUALIFY_SIGNER: `${made.path('sign')} ${made.path('secret.pem')}`,
    QUALIFY_SIGNER_KEY: made.path('public.pem'),
  };
  return Object.assign(made, { signer });
}

const PROTOCOL = { looks: [1], samples: 1 };

/** What of keys a process can see: names of variables, paths of keys, open files. */
const secretsIn = (text: string, folder: string): string[] =>
  [
    'QUALIFY_SIGNER',
    'XDG_CONFIG_HOME',
    `${folder}/config`,
    'secret.pem',
    'public.pem',
    'default.pem',
    'PRIVATE KEY',
  ].filter((word) => text.includes(word));

test('signs a session, and lets no engine see a key, the command or the folder of keys', async (context) => {
  const at = home(context);
  const matrix = at.fakeMatrix({}, PROTOCOL);
  const seen = at.path('seen');
  const look = `{ tr '\\0' '\\n' </proc/$$/environ; tr '\\0' '\\n' </proc/$$/cmdline; ls -l /proc/$$/fd; } >>'${seen}'`;
  writeFileSync(
    at.path('fake', 'serve'),
    `#!/bin/sh\n${look}\nexec '${process.execPath}' '${fakeServer}' "$@"\n`,
  );
  // A key of the user's own is there too.
  assert.equal((await at.run('keys', 'generate')).exitCode, 0);
  const { exitCode, stderr } = await at.start(['run', matrix, '--out', 'run'], { environment: at.signer })
    .finished;
  assert.ok(exitCode !== null && exitCode < 15, stderr);
  assert.ok(stderr.includes(`signed by ${key.keyId}.`), stderr);
  const verification = await verifyRun(at.path('run'), { key: at.path('public.pem') });
  assert.equal(verification.statement.predicate.signer, key.keyId);

  const text = readFileSync(seen, 'utf8');
  assert.ok(text.includes('HOME=') && text.includes('PATH='), text);
  assert.ok(text.split('--').length > 2, 'arguments of the engine were seen');
  const sees = (environment: NodeJS.ProcessEnv): string =>
    Object.entries(environment)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n');
  assert.ok(
    secretsIn(sees({ ...at.environment, ...at.signer }), at.folder).length >= 5,
    'our own would show',
  );
  assert.deepEqual(secretsIn(text, at.folder), []);
  // Nor does anything of it travel with the run, but for the public key.
  const files = readdirSync(at.path('run'), { recursive: true, withFileTypes: true }).filter((file) =>
    file.isFile(),
  );
  for (const file of files) {
    const found = secretsIn(readFileSync(`${file.parentPath}/${file.name}`, 'utf8'), at.folder);
    assert.deepEqual(found, [], file.name);
  }
});

test('finds out before the session that the command fails', async (context) => {
  const at = home(context, 'echo "no token" >&2; exit 7');
  const matrix = at.fakeMatrix({}, PROTOCOL);
  const { exitCode, stderr } = await at.start(['run', matrix, '--out', 'run'], { environment: at.signer })
    .finished;
  assert.equal(exitCode, 15);
  assert.match(stderr, /The signer .* ended with exit code 7\.\nno token/);
  assert.equal(existsSync(at.path('run')), false);
  const half = { QUALIFY_SIGNER: at.signer.QUALIFY_SIGNER };
  assert.equal(
    (await at.start(['run', matrix, '--out', 'run'], { environment: half }).finished).exitCode,
    64,
  );
  assert.equal(existsSync(at.path('run')), false);
});

test('a command that fails at the end costs no measurement: resume signs', async (context) => {
  const at = home(context, 'test ! -e broken || exit 9; touch broken; exec openssl dgst -sha256 -sign "$1"');
  const matrix = at.fakeMatrix({}, PROTOCOL);
  const first = await at.start(['run', matrix, '--out', 'run'], { environment: at.signer }).finished;
  assert.equal(first.exitCode, 15, first.stderr);
  assert.match(first.stderr, /ended with exit code 9/);
  assert.match(first.stderr, /qualify resume run/);
  const launches = at.journal().filter(({ kind }) => kind === 'launch').length;
  assert.equal(existsSync(at.path('run', 'qualification.intoto.jsonl')), false);
  writeFileSync(at.path('sign'), '#!/bin/sh\nexec openssl dgst -sha256 -sign "$1"\n');
  const second = await at.start(['resume', 'run'], { environment: at.signer }).finished;
  assert.ok(second.exitCode !== null && second.exitCode < 15, second.stderr);
  assert.equal(at.journal().filter(({ kind }) => kind === 'launch').length, launches);
  assert.equal((await verifyRun(at.path('run'), { key: at.path('public.pem') })).signer.key.keyId, key.keyId);
});

test('signs a waiver, and is the key that `init` puts into the trust policy', async (t) => {
  const at = home(t);
  const { keyId } = key;
  const repository = new Repository(at.path('repository'));
  repository.write('action.yml', 'name: qualify\n');
  repository.commit('one');
  const call = (...args: string[]): Promise<CliResult> =>
    at.start(args, { cwd: repository.folder, environment: at.signer }).finished;
  const made = await call('init');
  assert.equal(made.exitCode, 0, made.stderr);
  const trust = readFileSync(join(repository.folder, 'qualify.trust.json'), 'utf8');
  assert.deepEqual(
    trustPolicySchema.parse(JSON.parse(trust)).keys.map((entry) => entry.keyId),
    [keyId],
  );
  const terms = ['--head', 'HEAD', '--matrix', 'fixture', '--cell', '96/32', '--reason', 'until then'];
  const waived = await call('waive', ...terms, '--expires', '30m', '--out', 'a.waiver.json');
  assert.equal(waived.exitCode, 0, waived.stderr);
  assert.ok(waived.stdout.trimEnd().endsWith(`by ${keyId}`), waived.stdout);
  assert.equal(existsSync(at.path('config', 'qualify', 'keys', 'default.pem')), false);
  const over = await call('waive', ...terms, '--expires', '367d', '--out', 'b.waiver.json');
  assert.equal(over.exitCode, 64);
  assert.match(over.stderr, /up to 366d/);
});
