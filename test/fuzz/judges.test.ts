/** The files of those who judge a run: policies, waivers, summaries, decisions, and the index of runs seen before. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { canonicalJson, sha256 } from '../../src/digest.js';
import { parsePolicy, parseTrust } from '../../src/gate/policy-file.js';
import { readDecision } from '../../src/gate/read-decision.js';
import { openWaiver } from '../../src/gate/waiver.js';
import { parseAttestations } from '../../src/manifest/attestations.js';
import { signEnvelope } from '../../src/manifest/envelope.js';
import { sshLine } from '../../src/manifest/public-key.js';
import { formatTrustPolicy, parseTrustPolicy } from '../../src/manifest/trust-file.js';
import { makeDecision } from '../fixtures/github-decision.js';
import { fuzzTest } from './fuzz.js';
import { damagedJson, damagedText } from './mutations.js';
import { sampleRun } from './sample-run.js';

const sample = await sampleRun();
const { publicKey } = sample.key;

const trustPolicy = {
  schemaVersion: 1,
  expires: '2027-01-01T00:00:00Z',
  keys: [
    {
      keyId: publicKey.keyId,
      publicKey: sshLine(publicKey, 'box'),
      roles: ['observer'],
      machines: [sha256('machine')],
      notBefore: '2026-01-01T00:00:00Z',
      revoked: { since: '2026-12-01T00:00:00Z', reason: 'compromised' },
    },
  ],
};
fuzzTest(
  'a trust policy: what is taken means the same when it is written',
  damagedJson([trustPolicy]),
  (bytes) => {
    const policy = parseTrustPolicy(bytes, 'x.json');
    assert.deepEqual(parseTrustPolicy(Buffer.from(formatTrustPolicy(policy)), 'x.json'), policy);
  },
);
fuzzTest(
  'a trust policy as a gate reads it',
  damagedJson([trustPolicy]),
  (bytes) => void parseTrust(bytes, 'x.json'),
);

const gatePolicy = stringify({
  schemaVersion: 1,
  title: 'What must hold',
  machines: { strix: { cpu: 'Ryzen', memoryAtLeastGib: 64 }, ci: { ids: [sha256('machine')] } },
  require: [{ matrix: 'prefill-short', machine: 'strix', rounds: 6, cells: ['401/512'] }],
});
const pieces = [
  'machines:\n',
  '  ci: {}\n',
  'require:\n',
  '  - matrix: a\n',
  '    machine: ci\n',
  'baseDrift: 3\n',
  '&a ',
  '*a',
  '<<: ',
];
fuzzTest(
  'a policy of a gate: what is taken means the same as JSON',
  damagedText([gatePolicy], pieces),
  (text) => {
    const policy = parsePolicy(Buffer.from(text), 'x.yaml');
    assert.deepEqual(parsePolicy(Buffer.from(JSON.stringify(policy)), 'x.yaml'), policy);
  },
);

const decisionFile = join(sample.folder, 'decision.json');
fuzzTest('a decision of a gate', damagedJson([makeDecision('fail'), makeDecision('pass')]), (bytes) => {
  writeFileSync(decisionFile, bytes);
  readDecision(decisionFile);
});

const trusted = { keyId: publicKey.keyId, publicKey: sshLine(publicKey, 'm'), roles: ['maintainer'] };
const trust = parseTrustPolicy(Buffer.from(JSON.stringify({ schemaVersion: 1, keys: [trusted] })), 'x.json');
const waiver = {
  _type: 'https://in-toto.io/Statement/v1',
  subject: [{ name: 'head', digest: { gitCommit: 'a'.repeat(40) } }],
  predicateType: 'https://example.org/none',
  predicate: { schemaVersion: 1, signer: publicKey.keyId },
};
const summary = { ...waiver, predicateType: 'https://slsa.dev/verification_summary/v1' };
const line = await signEnvelope(Buffer.from(canonicalJson(summary)), sample.key);
fuzzTest(
  'summaries of verifications, and waivers',
  damagedText([line, line + line, await signEnvelope(Buffer.from('{}'), sample.key)], [line]),
  (text) => {
    const bytes = Buffer.from(text);
    parseAttestations(bytes, 'x.jsonl', []);
    // By a key that is known, everything behind the signature is read, too. None of these is a waiver.
    assert.throws(() => openWaiver(bytes, 'x', trust), { name: 'QualifyError' });
    parseAttestations(bytes, 'x.jsonl', [publicKey]);
  },
);
