/** Attacks on the envelope: its type, its spelling, its signature. */
import assert from 'node:assert/strict';
import { sign } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { preAuthenticationEncoding } from '../../src/manifest/pae.js';
import {
  attackTest,
  copyOf,
  editFile,
  linesOf,
  MANIFEST,
  refused,
  statementFollows,
  verifierWithout,
  writeLines,
} from './attack.js';
import { envelope, keyId, other, victim } from './victim.js';
import { importWithout } from './without-guard.js';

/** An envelope as JSON, for attacks that change its fields. */
interface Envelope {
  payload: string;
  payloadType: string;
  signatures: { keyid: string; sig: string }[];
}
const opened = (line: string): Envelope => JSON.parse(line) as Envelope;
const closed = (envelope: unknown): string => `${JSON.stringify(envelope)}\n`;

const spelling = envelope('if (!Buffer.from(serialize(envelope)).equals(bytes))', 'if (false)');
const oneSignature = envelope('.length(1)', '');
const signature = envelope('if (!isSignedBy(', 'if (false && !isSignedBy(');
const strictFields = envelope('const envelopeSchema = z.strictObject(', 'const envelopeSchema = z.object(');

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
