/** What a signature covers, and what is read that none covers: threats 3 and 15, and the CVEs of others' verifiers. */
import assert from 'node:assert/strict';
import { sign } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { signEnvelope } from '../../src/manifest/envelope.js';
import { signedFiles } from '../../src/manifest/manifest.js';
import { preAuthenticationEncoding } from '../../src/manifest/pae.js';
import { signSsh } from '../../src/manifest/ssh-signature.js';
import { type Statement, serializeStatement } from '../../src/manifest/statement.js';
import { BASE_COMMIT, HEAD_COMMIT } from '../fixtures/run-folder.js';
import { sampleRun } from '../fuzz/sample-run.js';
import {
  attackTest,
  BUNDLE,
  copyOf,
  editFile,
  linesOf,
  MANIFEST,
  refused,
  SSH_SIGNATURE,
  verifierWithout,
  writeLines,
} from './attack.js';
import { type Guard, importWithout } from './without-guard.js';

const victim = await sampleRun({ revisions: { base: BASE_COMMIT, head: HEAD_COMMIT } });
const other = await sampleRun({ msPerToken: 3, key: victim.key });
const { statement } = victim.sealed;
const { keyId } = victim.key.publicKey;

/** An envelope as JSON, for attacks that change its fields. */
interface Envelope {
  payload: string;
  payloadType: string;
  signatures: { keyid: string; sig: string }[];
}
const opened = (line: string): Envelope => JSON.parse(line) as Envelope;
const closed = (envelope: unknown): string => `${JSON.stringify(envelope)}\n`;

const envelope = (guard: string, instead: string): Guard => ({ module: 'manifest/envelope', guard, instead });
const spelling = envelope('if (!Buffer.from(serialize(envelope)).equals(bytes))', 'if (false)');
const oneSignature = envelope('.length(1)', '');
const strictFields = envelope('const envelopeSchema = z.strictObject(', 'const envelopeSchema = z.object(');
const signature = envelope('if (!isSignedBy(', 'if (false && !isSignedBy(');
const bundleFollows: Guard = {
  module: 'manifest/open-manifest',
  guard: 'if (!Buffer.from(bundleOf(manifest.firstLine, key.keyId)).equals(bundle))',
  instead: 'if (false)',
};
/** What the statement says is made again from the run, and compared as a value and as bytes. */
const statementFollows: Guard[] = [
  { module: 'manifest/verify', guard: 'if (difference !== null)', instead: 'if (false)' },
  {
    module: 'manifest/verify',
    guard: 'if (!serializeStatement(expected).equals(payload))',
    instead: 'if (false)',
  },
];
const testResultFollows: Guard = {
  module: 'manifest/open-manifest',
  guard: 'if (!serializeTestResult(testResultOf(statement)).equals(payload))',
  instead: 'if (false)',
};

attackTest('another payload type, rightly signed (type confusion, CVE-2022-35929)', victim, {
  // The key's owner signed these bytes for another purpose; nobody signed them as a statement.
  make: (run) => {
    const [first, second] = linesOf(run);
    const { payload, signatures } = opened(first);
    const bytes = preAuthenticationEncoding('text/plain', Buffer.from(payload, 'base64'));
    const sig = sign(null, bytes, victim.key.privateKey).toString('base64');
    const line = closed({ payload, payloadType: 'text/plain', signatures: [{ ...signatures[0], sig }] });
    writeLines(run, keyId, line, second);
  },
  // The type is compared, and what is verified has the one type whatever the envelope says.
  guards: [
    envelope('if (envelope.payloadType !== PAYLOAD_TYPE)', 'if (false)'),
    envelope('return { place, payload,', 'return { payloadType: envelope.payloadType, place, payload,'),
    envelope(
      'preAuthenticationEncoding(PAYLOAD_TYPE, sealed.payload)',
      'preAuthenticationEncoding(sealed.payloadType, sealed.payload)',
    ),
  ],
  where: MANIFEST,
  why: /has the payload type "text\/plain", not application\/vnd\.in-toto\+json/,
});

attackTest('a signature over the bare payload, as other formats have it', victim, {
  make: (run) => {
    const [first, second] = linesOf(run).map((line) => {
      const { payload, payloadType, signatures } = opened(line);
      const sig = sign(null, Buffer.from(payload, 'base64'), victim.key.privateKey).toString('base64');
      return closed({ payload, payloadType, signatures: [{ ...signatures[0], sig }] });
    });
    writeLines(run, keyId, first ?? '', second ?? '');
  },
  guards: [envelope('preAuthenticationEncoding(PAYLOAD_TYPE, sealed.payload)', 'sealed.payload')],
  where: MANIFEST,
  why: /does not match its signature/,
});

test('two payload types of one encoding (DSSE type collision, CVE-2026-48758)', async (context) => {
  const [ours, theirs] = ['application/vnd.in-toto+json', 'application/vnd.in-toto+js\u016fn'];
  const body = Buffer.from('{}');
  const guard = {
    module: 'manifest/pae',
    guard: "Buffer.from(payloadType, 'utf8')",
    instead: "Buffer.from(payloadType, 'latin1')",
  };
  const lax = await importWithout<typeof import('../../src/manifest/pae.js')>(context, 'manifest/pae', guard);
  assert.deepEqual(lax.preAuthenticationEncoding(theirs, body), lax.preAuthenticationEncoding(ours, body));
  assert.notDeepEqual(preAuthenticationEncoding(theirs, body), preAuthenticationEncoding(ours, body));
  const run = copyOf(victim, context);
  const [first, second] = linesOf(run);
  writeLines(run, keyId, first.replace(ours, theirs), second);
  await refused(run, { keyFolder: join(victim.folder, 'no-keys') }, MANIFEST, /has the payload type/);
});

for (const [what, field, change] of [
  ['missing padding', 'sig', (text: string) => text.replace(/=+$/, '')],
  ['one padding too many', 'sig', (text: string) => `${text}=`],
  ['whitespace', 'sig', (text: string) => `${text.slice(0, 8)} ${text.slice(8)}`],
  [
    'trailing bits that are not zero',
    'sig',
    (text: string) => `${text.slice(0, -3)}${nextLetter(text.at(-3) ?? '')}==`,
  ],
  ['a line break', 'payload', (text: string) => `${text.slice(0, 8)}\n${text.slice(8)}`],
  ['letters of URLs', 'sig', (text: string) => text.replaceAll('+', '-').replaceAll('/', '_')],
] as const) {
  attackTest(`lax base64: ${what}`, urlVictim(what), {
    make: (run) => {
      const [first, second] = linesOf(run);
      const parts = opened(first);
      const [entry] = parts.signatures;
      assert.ok(entry);
      const before = closed(parts);
      if (field === 'payload') parts.payload = change(parts.payload);
      else entry.sig = change(entry.sig);
      assert.notEqual(closed(parts), before);
      writeLines(run, entry.keyid, closed(parts), second);
    },
    guards: [
      {
        module: 'manifest/base64',
        guard: "bytes.toString('base64') === text ? bytes : null",
        instead: 'bytes',
      },
    ],
    where: MANIFEST,
    why: /standard padded base64/,
  });
}

/** The letter whose lowest four bits, which carry nothing in front of two paddings, are others. */
function nextLetter(letter: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  return alphabet[alphabet.indexOf(letter) + 1] ?? '';
}

/** A run whose signature has a letter that URLs spell otherwise; nearly every signature has one. */
function urlVictim(what: string) {
  if (what !== 'letters of URLs') return victim;
  const found = [victim, other].find(({ run }) =>
    /[+/]/.test(opened(linesOf(run)[0]).signatures[0]?.sig ?? ''),
  );
  assert.ok(found, 'two signatures without + and /: one in two hundred times');
  return found;
}

const reads = 'a parser that takes the first sees another payload';
for (const key of ['payload', 'p\\u0061yload']) {
  attackTest(`a key of the envelope twice, as ${key}: ${reads}`, victim, {
    make: (run) => {
      const [first, second] = linesOf(run);
      const forged = Buffer.from('{"predicate":{"result":"pass"}}').toString('base64');
      writeLines(run, keyId, first.replace('{', `{"${key}":"${forged}",`), second);
    },
    guards: [
      { module: 'manifest/strict-json', guard: 'if (keys?.has(key))', instead: 'if (false)' },
      spelling,
    ],
    where: MANIFEST,
    why: /has the key "payload" twice/,
  });
}

attackTest('a field that nobody knows, for the next tool that does', victim, {
  make: (run) => {
    const [first, second] = linesOf(run);
    writeLines(run, keyId, first.replace('{', '{"constructor":{"verified":true},'), second);
  },
  guards: [strictFields, spelling],
  where: MANIFEST,
  why: /is no DSSE envelope: .*constructor/,
});

attackTest('another spelling of the same envelope', victim, {
  make: (run) => {
    const [first, second] = linesOf(run);
    writeLines(run, keyId, first.replace('{', '{ '), second);
  },
  guards: [spelling],
  where: MANIFEST,
  why: /is not spelt as qualify writes it/,
});

attackTest('two signatures, of which one is looked at', victim, {
  make: (run) => {
    const [first, second] = linesOf(run);
    const parts = opened(first);
    parts.signatures.push({ keyid: 'SHA256:somebody-important', sig: parts.signatures[0]?.sig ?? '' });
    writeLines(run, keyId, closed(parts), second);
  },
  guards: [oneSignature, spelling],
  where: MANIFEST,
  why: /is no DSSE envelope/,
});

attackTest('no signature at all', victim, {
  make: (run) => {
    const [first, second] = linesOf(run);
    writeLines(run, keyId, closed({ ...opened(first), signatures: [] }), second);
  },
  // Much stands behind the schema: there must be an entry with a signature, spelt so, of the key's name, and it must verify.
  guards: [
    oneSignature,
    spelling,
    signature,
    envelope('if (!entry || !signature)', 'if (false)'),
    envelope('claimedKeyId: entry.keyid', 'claimedKeyId: entry?.keyid'),
    envelope('if (sealed.claimedKeyId !== key.keyId) {', 'if (false) {'),
  ],
  where: MANIFEST,
  why: /is no DSSE envelope/,
});

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

test('an edit of the payload under its old signature', async (context) => {
  const run = copyOf(victim, context);
  const [first, second] = linesOf(run);
  const parts = opened(first);
  const payload = Buffer.from(parts.payload, 'base64').toString().replace('"fixture-1"', '"fixture-2"');
  writeLines(run, keyId, closed({ ...parts, payload: Buffer.from(payload).toString('base64') }), second);
  const options = { keyFolder: join(victim.folder, 'no-keys') };
  await (await verifierWithout(context, [signature, ...statementFollows])).verifyRun(run, options);
  await refused(run, options, MANIFEST, /does not match its signature/);
  editFile(run, MANIFEST, () => `${first}${second}`);
});
