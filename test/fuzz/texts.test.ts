/** Lines and words: the index of the evidence, base64, keys, and values of options. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import fc from 'fast-check';
import { percentUpTo, switchValue, wholeNumber } from '../../src/cli/options.js';
import { parseHostOptions } from '../../src/engine/host-options.js';
import { QualifyError } from '../../src/errors.js';
import { decodeBase64 } from '../../src/manifest/base64.js';
import { formatIndex, parseIndex } from '../../src/manifest/evidence-index.js';
import { parsePublicKey, publicKeyFromObject, sshLine } from '../../src/manifest/public-key.js';
import { checkSsh } from '../../src/manifest/ssh-signature.js';
import { parseCpuList } from '../../src/matrix/cpu-list.js';
import { fuzz, fuzzTest } from './fuzz.js';
import { damagedBytes, damagedText } from './mutations.js';
import { sampleRun } from './sample-run.js';

const sample = await sampleRun();
const { publicKey } = sample.key;

const index = sample.read('evidence.sha256');
const digest = '0'.repeat(64);
fuzzTest(
  'an index: what is taken is what would be written, and leads nowhere else',
  damagedText(
    [index, index.split('\n').slice(0, 2).join('\n').concat('\n')],
    [
      `${digest}  ../x\n`,
      `${digest}  /etc/passwd\n`,
      `${digest}  a//b\n`,
      `${digest} *a\n`,
      `\\${digest}  a\n`,
    ],
  ),
  (text) => {
    const read = parseIndex(text);
    assert.equal(formatIndex(read), text);
    for (const path of read.keys()) assert.ok(!path.startsWith('/') && !path.split('/').includes('..'), path);
  },
);

const refuseNull = (value: unknown, text: string): void => {
  if (value === null) throw new QualifyError('ERR_QUALIFY_INVALID', text, { exit: 'invalid' });
};
/** RFC 4648 in its own words: groups of four, and nothing but zeros in what the padding leaves over. */
const STANDARD_BASE64 =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;
fuzzTest(
  'base64: what is taken is the only spelling of its bytes',
  damagedText(['QUJDRA==', 'QUI=', 'QUJD', '', '+/+/', '-_-_', 'QUJ=']),
  (text) => {
    const bytes = decodeBase64(text);
    assert.equal(bytes !== null, STANDARD_BASE64.test(text), JSON.stringify(text));
    refuseNull(bytes, text);
    assert.equal(bytes?.toString('base64'), text);
  },
);

fuzzTest(
  'a public key: what is taken has one name, in whatever format it is written',
  damagedText([publicKey.pem, `${sshLine(publicKey, 'comment')}\n`, sshLine(publicKey, '')]),
  (text) => {
    const key = parsePublicKey(text, 'x.pub');
    assert.match(key.keyId, /^SHA256:[A-Za-z0-9+/]{43}$/);
    assert.equal(parsePublicKey(key.pem, 'x.pem').keyId, key.keyId);
    assert.equal(parsePublicKey(sshLine(key, 'c'), 'x.pub').keyId, key.keyId);
  },
);

const signed = Buffer.from(sample.read('qualification.intoto.jsonl'));
const sshSignature = sample.read('qualification.intoto.jsonl.sig');
const framed = (blob: Buffer): Buffer => Buffer.from(frame(blob.toString('base64')));
const frame = (blob: string): string =>
  `-----BEGIN SSH SIGNATURE-----\n${blob.replaceAll(/.{70}(?=.)/g, '$&\n')}\n-----END SSH SIGNATURE-----\n`;
const sshBlob = Buffer.from(sshSignature.split('\n').slice(1, -2).join(''), 'base64');
assert.equal(frame(sshBlob.toString('base64')), sshSignature);
const beginnings = ['SSHSIG', 'ssh-ed25519', 'sha256', 'git', '-----END SSH SIGNATURE-----\n'];
const damagedSignature = fc.oneof(
  damagedBytes([sshSignature], beginnings),
  damagedBytes([sshBlob], beginnings).map(framed),
  // Bits of the signature itself, which ends the blob.
  fc.nat(64 * 8 - 1).map((bit) => {
    const blob = Buffer.from(sshBlob);
    const at = blob.length - 1 - (bit >> 3);
    blob[at] = (blob[at] ?? 0) ^ (1 << (bit & 7));
    return framed(blob);
  }),
);
fuzzTest(
  "OpenSSH's signature: what is taken is the one text that the key signed, whether the frame is damaged or what is in it",
  damagedSignature,
  (bytes) => {
    checkSsh(bytes, signed, publicKey);
    assert.equal(bytes.toString('latin1'), sshSignature);
  },
);

const p256 = publicKeyFromObject(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey, 'p256');
test("OpenSSH's signature: none is taken of other bytes, or by a key of another kind", async (context) => {
  for (const [message, key] of [
    [signed.subarray(1), publicKey],
    [signed, p256],
  ] as const) {
    const counts = await fuzz(context, damagedSignature, (bytes) => checkSsh(bytes, message, key));
    assert.ok(counts.taken === 0 && counts.refused > 0, JSON.stringify(counts));
  }
});

const isRefusal = (error: unknown): boolean =>
  error instanceof InvalidArgumentError || error instanceof QualifyError;
const options: [string, string[], (text: string) => void][] = [
  [
    'a whole number',
    ['0', '7', '100', '101', '007', '1e2', '-1', ''],
    (text) => {
      const value = wholeNumber(0, 100)(text);
      assert.ok(Number.isInteger(value) && value >= 0 && value <= 100, text);
    },
  ],
  [
    'a percentage',
    ['3%', '2.5 %', '50', '51', '0', '.5', '1e1', ''],
    (text) => {
      const value = percentUpTo(50)(text);
      assert.ok(value > 0 && value <= 50, text);
    },
  ],
  [
    'a switch',
    ['A=1', 'DFLASH_MOE=', 'A=b=c', 'a=1', '=1', '__proto__=1'],
    (text) => {
      const [[name, value] = []] = Object.entries(switchValue(text));
      assert.equal(`${name}=${value}`, text);
    },
  ],
  [
    'a list of CPUs',
    ['0-1', '0,2', '0-8191', '8192', '3-1', '0,0', '0-99999', ''],
    (text) => {
      const cpus = parseCpuList(text);
      assert.equal(new Set(cpus).size, cpus.length);
      assert.ok(cpus.every((cpu) => Number.isInteger(cpu) && cpu >= 0 && cpu <= 8191));
    },
  ],
  [
    'options of the engine',
    ['--addon=a --model=b', '--addon=a --model=b --threads=2 --cpus=0-1', '--model', '--threads=1e9', '--x'],
    (text) => void parseHostOptions(text.split(' ')),
  ],
];
for (const [what, samples, read] of options) {
  fuzzTest(`the value of an option: ${what}`, damagedText(samples), read, { isRefusal });
}
