/** What a gate says of rules that are wrong: the field of the policy, its place, and what to do. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { QualifyError } from '../../../src/errors.js';
import { branchOf } from '../../../src/gate/commits.js';
import { readRules } from '../../../src/gate/rules.js';
import { GateSite } from '../../fixtures/gate-site.js';
import { scratchFolder } from '../../support/folder.js';
import { refusal } from '../../support/refusal.js';

const good = `schemaVersion: 1
trust: keys/trust.json
machines:
  lab: {}
require:
  - { matrix: smoke, machine: lab }
`;

/** What is said of this policy, beside which a trust policy and one matrix lie. */
async function saidOf(
  t: TestContext,
  policy: string | Buffer,
  path = 'qualify.policy.yaml',
  trust = '{"schemaVersion":1,"keys":[]}',
): Promise<QualifyError> {
  const repository = await scratchFolder(t);
  mkdirSync(join(repository, 'keys'));
  writeFileSync(join(repository, 'qualify.policy.yaml'), policy);
  writeFileSync(join(repository, 'keys/trust.json'), trust);
  writeFileSync(
    join(repository, 'mine.yaml'),
    'schemaVersion: 1\nname: mine\ntitle: Mine\nmodel: { preset: unit }\ncells: [{ promptTokens: 64, chunk: 32 }]\narms: { base: {}, head: {} }\n',
  );
  writeFileSync(join(repository, 'latin.yaml'), Buffer.from([0x23, 0xe9]));
  const error = await refusal(readRules({ repository, path, baseCommit: '', fromDisk: true }));
  assert.deepEqual([error.code, error.exit], ['ERR_QUALIFY_POLICY', 'usage']);
  return error;
}

test('a policy and a matrix that are not UTF-8 are refused', async (t) => {
  const policy = await saidOf(t, Buffer.concat([Buffer.from(`${good}# caf`), Buffer.from([0xe9])]));
  assert.equal(policy.message, 'qualify.policy.yaml: is not UTF-8');
  const matrix = await saidOf(t, good.replace('matrix: smoke', 'matrix: mine, file: latin.yaml'));
  assert.equal(matrix.message, 'qualify.policy.yaml:6:27: require.0.file: latin.yaml is not UTF-8');
});

test('a trust policy that is wrong is named once, with the place in it', async (t) => {
  const { message, where, hint } = await saidOf(
    t,
    good,
    'qualify.policy.yaml',
    '{"schemaVersion":1,\n"keys":{}}',
  );
  assert.equal(message, 'keys/trust.json is no trust policy: line 2: keys: must be a list, is a map');
  assert.match(where ?? '', /^keys\/trust\.json:2:\d+$/);
  assert.match(hint ?? '', /docs\/trust\.md/);
});

const cases: [what: string, policy: string, where: string, message: RegExp, hint: RegExp][] = [
  [
    'no trust policy where `trust` says',
    good.replace('keys/trust.json', 'nowhere.json'),
    'qualify.policy.yaml:2:8',
    /: trust: nowhere\.json is not there$/,
    /Put the file there, or write into trust where it is/,
  ],
  [
    'no trust policy where nothing is said',
    good.replace('trust: keys/trust.json\n', ''),
    'qualify.policy.yaml:1:1',
    /: trust: qualify\.trust\.json is not there$/,
    /write into trust where/,
  ],
  [
    'no matrix where `file` says',
    good.replace('matrix: smoke', 'matrix: mine, file: matrices/none.yaml'),
    'qualify.policy.yaml:6:27',
    /: require\.0\.file: matrices\/none\.yaml is not there$/,
    /^Put the file there, or write into require\.0\.file where it is/,
  ],
  [
    'a file out of the repository',
    good.replace('matrix: smoke', 'matrix: mine, file: ../mine.yaml'),
    'qualify.policy.yaml:6:27',
    /: require\.0\.file: \.\.\/mine\.yaml is no path below the root of the repository$/,
    /put the file there, and name it by its path/,
  ],
  [
    'a file of another matrix',
    good.replace('matrix: smoke', 'matrix: yours, file: mine.yaml'),
    'qualify.policy.yaml:6:28',
    /: require\.0\.file: mine\.yaml is the matrix "mine", and "yours" is required$/,
    /require "mine"/,
  ],
  [
    'a matrix that is not built in',
    good.replace('matrix: smoke', 'matrix: mine'),
    'qualify.policy.yaml:6:15',
    /: require\.0\.matrix: no matrix "mine" is built in$/,
    /file: matrices\/mine\.yaml/,
  ],
  [
    'a class of machines that is not there',
    good.replace('machine: lab', 'machine: lap'),
    'qualify.policy.yaml:6:31',
    /: require\.0\.machine: there is no class "lap" below machines$/,
    /Did you mean "lab"/,
  ],
  [
    'a cell that the matrix lacks',
    good.replace('matrix: smoke', "matrix: mine, file: mine.yaml, cells: ['46/32']"),
    'qualify.policy.yaml:6:46',
    /: require\.0\.cells\.0: mine has no cell "46\/32"$/,
    /^Did you mean "64\/32"\?$/,
  ],
  [
    'a cell that is like none',
    good.replace('matrix: smoke', "matrix: mine, file: mine.yaml, cells: ['64/32', 401+512]"),
    'qualify.policy.yaml:6:55',
    /: require\.0\.cells\.1: mine has no cell "401\+512"$/,
    /^Its cells: 64\/32$/,
  ],
  [
    'more rounds than the matrix runs for a challenge',
    good
      .replace('matrix: smoke', 'matrix: mine, file: mine.yaml, rounds: 60')
      .replace('machines', 'challenge: required\nmachines'),
    'qualify.policy.yaml:7:46',
    /: require\.0\.rounds: 60 are required, and 64\/32 of mine has at most 24 rounds/,
    /give the matrix more/,
  ],
  [
    'a rule that is misspelt',
    good.replace('machine: lab', 'machne: lab'),
    'qualify.policy.yaml:6:5',
    /is no policy:\n {2}qualify\.policy\.yaml:6:5: require\.0\.machine: is missing\n {2}qualify\.policy\.yaml:6:22: require\.0: unknown key "machne": did you mean "machine"\?$/,
    /docs\/gate\.md/,
  ],
  [
    'a rule that stands twice',
    `${good}baseDrift: 1\nbaseDrift: 0\n`,
    'qualify.policy.yaml:8:1',
    /is no policy: qualify\.policy\.yaml:8:1: Map keys must be unique/,
    /docs/,
  ],
];

for (const [what, policy, where, message, hint] of cases)
  test(`${what}: names the field and its place`, async (t) => {
    const error = await saidOf(t, policy);
    assert.equal(error.where, where, error.message);
    assert.match(error.message, message);
    assert.match(error.hint ?? '', hint);
    assert.doesNotMatch(`${error.message} ${error.hint}`, /--policy(?!-)/);
  });

test('rounds that whoever measures may choose can be more than the matrix runs by itself', async (t) => {
  const site = await GateSite.make(await scratchFolder(t), {
    policy: { require: [{ matrix: 'fixture', file: 'matrices/fixture.yaml', machine: 'any', rounds: 60 }] },
  });
  assert.equal((await site.gate()).result, 'missing');
});

test('the policy itself is what the option names', async (t) => {
  const { message, hint, where } = await saidOf(t, good, 'none.yaml');
  assert.deepEqual([message, where], ['none.yaml: is not there', 'none.yaml']);
  assert.match(hint ?? '', /^Name it with --policy,/);
});

test('a policy that is named by its whole path: says the path that would do', async (t) => {
  const repository = await scratchFolder(t);
  const path = join(repository, 'rules', 'qualify.policy.yaml');
  const asked = { repository, path, baseCommit: '', fromDisk: true };
  writeFileSync(join(repository, 'latin.yaml'), Buffer.from([0x23, 0xe9]));
  const error = await refusal(readRules(asked));
  assert.match(error.message, /is no path below the root of the repository$/);
  assert.equal(error.hint, 'Name it by that path: rules/qualify.policy.yaml');
  const outside = await refusal(readRules({ ...asked, path: join(repository, '..', 'x.yaml') }));
  assert.match(outside.hint ?? '', /put the file there/);
});

test('a base that contradicts the policy is refused; what names no branch is none', async (t) => {
  const site = await GateSite.make(await scratchFolder(t));
  const { repository } = site;
  repository.git('branch', 'release/1', 'main');
  repository.git('tag', 'v1', 'main');
  repository.git('update-ref', 'refs/remotes/origin/main', 'main');
  repository.git('update-ref', 'refs/remotes/origin/release/1', 'main');
  for (const [name, branch] of [
    ['main', 'main'],
    ['origin/main', 'main'],
    ['refs/heads/main', 'main'],
    ['refs/remotes/origin/release/1', 'release/1'],
    ['release/1', 'release/1'],
    ['origin/release/1', 'release/1'],
    ['v1', null],
    ['HEAD', null],
    ['main~0', null],
    [site.base, null],
    ['--all', null],
  ] as const)
    assert.equal(await branchOf(repository.folder, name), branch, name);
  for (const base of ['release/1', 'origin/release/1', 'refs/heads/release/1']) {
    const error = await refusal(site.gate({ base }));
    assert.equal(error.code, 'ERR_QUALIFY_POLICY');
    assert.match(error.message, /into "main", not into "release\/1" \(--base .*release\/1\)$/);
    assert.match(error.hint ?? '', /--base origin\/main; or write base: release\/1 into the policy/);
  }
  for (const base of ['main', 'origin/main', site.base, 'v1'])
    assert.equal((await site.gate({ base })).result, 'missing', base);
});

test('a tag that is called like the main branch hides no base that contradicts the policy', async (t) => {
  const site = await GateSite.make(await scratchFolder(t), { policy: { base: 'release/1' } });
  const { repository } = site;
  const refused = async (said: string): Promise<void> => {
    const { code, message } = await refusal(site.gate());
    assert.equal(code, 'ERR_QUALIFY_POLICY');
    assert.ok(message.endsWith(`into "release/1", not into "main" (${said})`), message);
  };
  await refused('main');
  repository.git('tag', 'main', 'change');
  await refused('main');
  repository.git('update-ref', 'refs/remotes/origin/main', 'refs/heads/main');
  repository.git('tag', 'origin/main', 'change');
  await refused('origin/main');
});
