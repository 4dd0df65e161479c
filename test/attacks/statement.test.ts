/** Attacks on the statement and on what lies beside it: the test result, the bundle, the SSH signature. */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { signEnvelope } from '../../src/manifest/envelope.js';
import { signedFiles } from '../../src/manifest/manifest.js';
import { signSsh } from '../../src/manifest/ssh-signature.js';
import { type Statement, serializeStatement } from '../../src/manifest/statement.js';
import { sampleRun } from '../fuzz/sample-run.js';
import {
  attackTest,
  BUNDLE,
  copyOf,
  linesOf,
  MANIFEST,
  refused,
  SSH_SIGNATURE,
  statementFollows,
  verifierWithout,
  writeLines,
} from './attack.js';
import { keyId, other, victim } from './victim.js';
import type { Guard } from './without-guard.js';

const { statement } = victim.sealed;

const bundleFollows: Guard = {
  module: 'manifest/open-manifest',
  guard: 'if (!Buffer.from(bundleOf(manifest.firstLine, key.keyId)).equals(bundle))',
  instead: 'if (false)',
};

const testResultFollows: Guard = {
  module: 'manifest/open-manifest',
  guard: 'if (!serializeTestResult(testResultOf(statement)).equals(payload))',
  instead: 'if (false)',
};

attackTest('a third line', victim, {
  make: (run) => writeLines(run, keyId, ...linesOf(run), linesOf(run)[0].replace('{', '{"note":"approved",')),
  // The second line ends where the file does; without that, everything behind it is nobody's.
  guards: [
    {
      module: 'manifest/manifest',
      guard: 'if (bytes.indexOf(NEWLINE, first) + 1 !== bytes.length)',
      instead: 'if (false)',
    },
    {
      module: 'manifest/manifest',
      guard: 'readEnvelope(bytes.subarray(first), {',
      instead: 'readEnvelope(bytes.subarray(first, bytes.indexOf(NEWLINE, first) + 1), {',
    },
  ],
  where: MANIFEST,
  why: /does not have exactly two lines/,
});

attackTest('the second line of another run, which passed', victim, {
  make: (run) => writeLines(run, keyId, linesOf(run)[0], linesOf(other.run)[1]),
  guards: [testResultFollows],
  where: MANIFEST,
  why: /line 2 has a test result that does not follow from line 1/,
});

attackTest('a bundle of another run: cosign sees a statement that qualify does not', victim, {
  make: (run) => writeFileSync(join(run, BUNDLE), other.read(BUNDLE)),
  guards: [bundleFollows],
  where: BUNDLE,
  why: /is not the bundle of the first line/,
});

const copyOfSshGuard = (guard: string): Guard => ({
  module: 'manifest/ssh-signature',
  guard,
  instead: 'if (false)',
});
attackTest('an SSH signature of another run by the same key', victim, {
  make: (run) => writeFileSync(join(run, SSH_SIGNATURE), other.read(SSH_SIGNATURE)),
  guards: [copyOfSshGuard('if (!isSignedBy(key, signedBytes(message), signature))')],
  where: SSH_SIGNATURE,
  why: /does not sign the manifest beside it/,
});

test('an SSH signature by another key', async (context) => {
  const thief = await sampleRun();
  const run = copyOf(victim, context);
  writeFileSync(
    join(run, SSH_SIGNATURE),
    (await signSsh(Buffer.from(victim.read(MANIFEST)), thief.key)) ?? '',
  );
  const options = { keyFolder: join(victim.folder, 'no-keys') };
  // Its key is compared first; that it does not verify with the right one stands behind.
  const guards = [
    copyOfSshGuard('if (!Buffer.from(armour(key, signature)).equals(text))'),
    copyOfSshGuard('if (!isSignedBy(key, signedBytes(message), signature))'),
  ];
  await (await verifierWithout(context, guards)).verifyRun(run, options);
  await refused(run, options, SSH_SIGNATURE, /is no SSH signature by SHA256:/);
});

/** Line 1 with another statement, and everything that its holder can make of it, all signed by the key of the run. */
async function restate(run: string, change: (copy: Statement) => void): Promise<void> {
  const copy = structuredClone(statement);
  change(copy);
  rmSync(join(run, SSH_SIGNATURE));
  for (const [file, text] of Object.entries(await signedFiles(copy, victim.key)))
    writeFileSync(join(run, file), text);
}

attackTest(
  'a statement about another commit, signed by the holder of the key (replay on a new commit)',
  victim,
  {
    make: (run) =>
      restate(run, (copy) => {
        const subject = copy.subject.find(({ digest }) => 'gitCommit' in digest);
        assert.ok(subject);
        subject.name = `head@${'d'.repeat(40)}`;
        subject.digest = { gitCommit: 'd'.repeat(40) };
      }),
    guards: statementFollows,
    where: MANIFEST,
    why: /states what does not follow from the run: subject/,
  },
);

attackTest('a better verdict than the samples have, signed by the holder of the key', victim, {
  make: (run) =>
    restate(run, (copy) => {
      copy.predicate.result = 'pass';
      copy.predicate.exitCode = 0;
    }),
  guards: statementFollows,
  where: MANIFEST,
  why: /states what does not follow from the run: predicate/,
});

attackTest('a statement in another spelling than RFC 8785, so that its digest is another', victim, {
  make: async (run) => {
    const spaced = Buffer.from(JSON.stringify(statement, null, 1));
    assert.notDeepEqual(spaced, serializeStatement(statement));
    writeLines(run, keyId, await signEnvelope(spaced, victim.key), linesOf(run)[1]);
  },
  guards: statementFollows.slice(1),
  where: MANIFEST,
  why: /has a payload that is not spelt as RFC 8785 says/,
});

attackTest('another predicate type over the same content', victim, {
  make: async (run) => {
    const text = serializeStatement(statement).toString().replace('/qualification/v1', '/qualification/v2');
    writeLines(run, keyId, await signEnvelope(Buffer.from(text), victim.key), linesOf(run)[1]);
  },
  guards: [
    { module: 'manifest/open-manifest', guard: 'if (type !== PREDICATE_TYPE)', instead: 'if (false)' },
    {
      module: 'manifest/statement',
      guard: 'predicateType: z.literal(PREDICATE_TYPE)',
      instead: 'predicateType: z.string()',
    },
    ...statementFollows,
    testResultFollows,
  ],
  where: MANIFEST,
  why: /has the predicate type ".*qualification\/v2"/,
});
