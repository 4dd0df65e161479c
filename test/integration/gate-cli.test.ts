/** `qualify gate` as it is called: rules in git, runs in folders, exit codes, files. */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gateDecisionSchema } from '../../src/gate/decision.js';
import { packRun } from '../../src/manifest/pack.js';
import { empty, gate, home, inRepository, losing, site, startedAt } from '../fixtures/gate-commands.js';
import { Repository } from '../support/repository.js';
import type { CliResult } from '../support/run-cli.js';

test('without runs evidence is missing', async () => {
  const { exitCode, stdout, stderr } = await gate();
  assert.equal(exitCode, 12, stderr);
  assert.match(stdout, /^MISSING \(exit 12\): 0 of 1 requirement holds\n/);
  assert.match(stdout, /no run of fixture on any counts for this change \[no-run\]/);
  assert.match(stdout, /rules +qualify\.policy\.yaml of main at [0-9a-f]{12}/);
});

test('without --base the rules are those of the branch that the remote calls its own, else of main', async () => {
  const repository = new Repository(home.path('integrated'));
  site.writeRules({ base: 'integrate' });
  for (const file of ['qualify.policy.yaml', 'qualify.trust.json', 'matrices/fixture.yaml'])
    repository.write(file, readFileSync(join(site.repository.folder, file), 'utf8'));
  site.repository.git('checkout', '--quiet', '--', '.');
  repository.git('checkout', '--quiet', '-b', 'integrate');
  const base = repository.commit('rules');
  const clone = home.path('clone');
  repository.git('clone', '--quiet', repository.folder, clone);
  const decide = () => home.start(['gate', '--head', 'HEAD', '--json'], { cwd: clone }).finished;
  // An old main is not where this remote merges.
  repository.git('-C', clone, 'branch', 'main', 'HEAD');
  const { stdout, stderr } = await decide();
  assert.deepEqual(
    gateDecisionSchema.parse(JSON.parse(stdout)).base,
    { branch: 'origin/integrate', commit: base },
    stderr,
  );
  repository.git('-C', clone, 'branch', '--delete', 'main');
  repository.git('-C', clone, 'remote', 'set-head', 'origin', '--delete');
  const lost = await decide();
  assert.equal(lost.exitCode, 64);
  assert.match(lost.stderr, /There is no main branch in .*git remote set-head origin --auto/s);
});

test('a run that loses a cell fails, as JSON, too, and writes every report', async () => {
  await site.run('2026/losing', losing);
  const out = home.path('reports');
  const files = { markdown: 'gate.md', junit: 'gate.xml', ctrf: 'deep/gate.json' };
  const flags = Object.entries(files).flatMap(([name, file]) => [`--${name}`, join(out, file)]);
  const { exitCode, stdout } = await gate('--json', ...flags);
  assert.equal(exitCode, 10);
  const decision = gateDecisionSchema.parse(JSON.parse(stdout));
  assert.equal(decision.requirements[0]?.cells[0]?.id, '96/32');
  assert.match(readFileSync(join(out, 'gate.md'), 'utf8'), /^### FAIL: /);
  assert.match(readFileSync(join(out, 'gate.xml'), 'utf8'), /^<\?xml/);
  assert.equal(JSON.parse(readFileSync(join(out, 'deep/gate.json'), 'utf8')).reportFormat, 'CTRF');
  assert.deepEqual(readdirSync(out).sort(), ['deep', 'gate.md', 'gate.xml']);
});

test('a run with a changed byte is no evidence: exit 16 where nothing else is offered', async () => {
  const own = empty('tampered');
  const path = await site.run('tampered', { startedAt });
  appendFileSync(join(path, 'journal.jsonl'), '\n');
  const moved = join(own, 'run');
  await site.copy(path, '../tampered/run');
  const alone = await inRepository('gate', '--head', site.head, '--manifests', own);
  assert.equal(alone.exitCode, 16, alone.stdout);
  assert.ok(alone.stdout.replaceAll(/\s/g, '').includes(moved));
  assert.match(alone.stdout, /\[not-verified\]/);
});

test('a packed run counts as its folder does, and an archive that is none is told', async () => {
  const archives = empty('archives');
  const path = await site.run('packed', { startedAt });
  await packRun(path, { out: join(archives, 'run.tar') });
  const call = (): Promise<CliResult> => inRepository('gate', '--head', site.head, '--manifests', archives);
  const good = await call();
  assert.equal(good.exitCode, 0, good.stdout);
  assert.match(good.stdout, /run\.tar: session/);
  writeFileSync(join(archives, 'junk.tar'), 'junk');
  const beside = await call();
  assert.equal(beside.exitCode, 0, beside.stdout);
  assert.match(beside.stdout, /not counted\n {2}- [^;]*junk\.tar;/);
  assert.deepEqual(
    readdirSync(home.path('tmp')).filter((name) => name.startsWith('qualify-unpack-')),
    [],
  );
  rmSync(join(archives, 'run.tar'));
  assert.equal((await call()).exitCode, 16);
});

test('folders and files are named one after the other, or each by an option of its own', async () => {
  const [first, second] = [empty('first'), empty('second')];
  await site.copy(await site.run('listed', { startedAt }), '../second/run');
  const waivers = [empty('waivers-1'), empty('waivers-2')];
  const call = (...args: string[]): Promise<CliResult> =>
    home.start(['gate', '--head', site.head, ...args, '--json'], { cwd: site.repository.folder }).finished;
  const listed = await call('--manifests', first, second, '--waivers', ...waivers);
  assert.equal(listed.exitCode, 0, listed.stdout + listed.stderr);
  const repeated = await call('--manifests', first, '--manifests', second, '--waivers', ...waivers);
  assert.equal(repeated.exitCode, 0, repeated.stdout + repeated.stderr);
  assert.equal((await call('--manifests', first)).exitCode, 12);
  const [challenges, attestations] = [
    ['--challenge', '/no-1', '/no-2'],
    ['--attestations', '/no-1', '/no-2'],
  ];
  for (const files of [challenges, attestations]) {
    const { stderr } = await call('--manifests', first, second, ...files);
    assert.match(stderr, /\/no-1/);
    assert.doesNotMatch(stderr, /too many arguments/);
  }
});

test('what compare and history print of runs that pass is no evidence, and is refused by its path', async () => {
  const runs = empty('passing');
  const one = await site.run('../passing/one', { startedAt });
  const two = await site.run('../passing/two', {
    startedAt,
    alterPlan: (plan) => {
      plan.session = 'fixture-2';
    },
  });
  const gateOf = (folder: string) =>
    inRepository('gate', '--head', site.head, '--manifests', folder, '--json');
  assert.equal((await gateOf(runs)).exitCode, 0);

  const printed = empty('printed');
  for (const [name, command] of [
    ['compare', ['compare', one, two]],
    ['history', ['history', '--runs', runs, '--machine', 'all']],
  ] as const) {
    const { stdout } = await inRepository(...command, '--json');
    assert.equal(JSON.parse(stdout).evidence, 'directional');
    mkdirSync(join(printed, name));
    writeFileSync(join(printed, name, 'verdict.json'), stdout);
    const asFile = await gateOf(join(printed, name, 'verdict.json'));
    assert.equal(asFile.exitCode, 64, asFile.stdout);
    assert.match(asFile.stderr.replaceAll(/\s/g, ''), new RegExp(`thereisnofolder.*printed/${name}/verdict`));
  }
  const { exitCode, stdout } = await gateOf(printed);
  assert.equal(exitCode, 16, stdout);
  const { evidence } = gateDecisionSchema.parse(JSON.parse(stdout));
  assert.deepEqual(
    evidence.map(({ path, counts, reasons }) => [path, counts, reasons.map(({ code }) => code)]),
    ['compare', 'history'].map((name) => [join(printed, name), false, ['not-verified']]),
  );
});

test('rules from the working tree are taken on demand only, and told', async () => {
  site.repository.write('qualify.policy.yaml', 'schemaVersion: 1\nmachines: {}\nrequire: []\n');
  const strict = await gate('--json');
  assert.notEqual(strict.exitCode, 64);
  const loose = await gate('--policy-from-disk');
  assert.equal(loose.exitCode, 64);
  assert.match(loose.stderr, /ERR_QUALIFY_POLICY/);
  site.repository.git('checkout', '--quiet', 'qualify.policy.yaml');
  const told = await gate('--policy-from-disk');
  assert.match(told.stdout, /\[policy-from-disk\]/);
});

describe('what cannot be read is a usage error with a remedy', () => {
  const cases: [name: string, args: string[], text: RegExp][] = [
    ['no such head', ['--head', 'nowhere'], /no commit "nowhere"[\s\S]*fetch/],
    ['no such base', ['--base', 'nowhere'], /no commit "nowhere"/],
    [
      'no policy in the base',
      ['--policy', 'other.yaml'],
      /other\.yaml of [0-9a-f]+: is not there[\s\S]*base revision/,
    ],
    ['a policy out of the repository', ['--policy', '../qualify.policy.yaml'], /no path below the root/],
    ['no such folder', ['--manifests', '/nowhere'], /--manifests: there is no folder/],
    ['no such folder of waivers', ['--waivers', '/nowhere'], /--waivers: there is no folder/],
    ['no challenge', ['--challenge', '/nowhere.json'], /ERR_QUALIFY_CHALLENGE/],
  ];
  for (const [name, args, text] of cases)
    test(name, async () => {
      const { exitCode, stderr, stdout } = await gate(...args);
      assert.equal(exitCode, 64, stdout);
      assert.match(stderr, text);
    });

  test('no repository', async () => {
    const { exitCode, stderr } = await home.run('gate', '--head', 'HEAD');
    assert.equal(exitCode, 64);
    assert.match(stderr, /is no git repository/);
  });

  test('a policy that misspells a rule', async () => {
    site.repository.git('checkout', '--quiet', 'main');
    const rules = readFileSync(join(site.repository.folder, 'qualify.policy.yaml'), 'utf8');
    site.repository.write('qualify.policy.yaml', `${rules}maxAge: 3\n`);
    site.repository.commit('misspelt');
    const outputs = home.path('reports-before');
    const names = ['gate.xml', 'gate.json', 'gate.md', 'gh/outputs.txt', 'gh/summary.md', 'gh/mine.txt'];
    mkdirSync(join(outputs, 'gh'), { recursive: true });
    for (const name of names) writeFileSync(join(outputs, name), 'green, of an earlier change');
    const { exitCode, stderr } = await gate(
      ...['--junit', join(outputs, 'gate.xml'), '--ctrf', join(outputs, 'gate.json')],
      ...['--markdown', join(outputs, 'gate.md'), '--github', join(outputs, 'gh')],
    );
    assert.equal(exitCode, 64);
    assert.match(stderr, /maxAge/);
    assert.deepEqual(readdirSync(outputs), ['gh'], 'no report of an earlier gate stays');
    assert.deepEqual(readdirSync(join(outputs, 'gh')), ['mine.txt']);
  });

  test('an output that is another output, or what the gate reads', async () => {
    const run = readdirSync(join(site.manifests, '2026', 'losing')).map((name) =>
      join(site.manifests, '2026', 'losing', name),
    );
    const [file = ''] = run.filter((path) => path.endsWith('verdict.json'));
    const waiver = join(empty('signed/deep'), 'slow.waiver.json');
    copyFileSync(await site.waive('96/32'), waiver);
    for (const args of [
      ['--junit', home.path('x.xml'), '--ctrf', `${home.path('x')}/../x.xml`],
      ['--junit', home.path('gh', 'summary.md'), '--github', home.path('gh')],
      ['--junit', file],
      ['--junit', 'qualify.policy.yaml'],
      ['--junit', 'qualify.trust.json'],
      ['--markdown', waiver, '--waivers', home.path('signed')],
    ]) {
      const { exitCode, stderr } = await gate(...args);
      assert.equal(exitCode, 64, args.join(' '));
      assert.match(stderr, /is named for two outputs|which the gate reads/);
    }
    assert.ok(existsSync(file) && existsSync(join(site.repository.folder, 'qualify.policy.yaml')));
  });

  describe('an output that git tracks or keeps, or that the rules on disk name', () => {
    const at = (file: string): string => join(site.repository.folder, file);
    before(() => {
      site.repository.git('reset', '--quiet', '--hard', 'HEAD~1');
      site.repository.git('branch', '--quiet', '--force', 'linked');
      site.repository.git('worktree', 'add', '--quiet', home.path('linked'), 'linked');
      site.repository.git('clone', '--quiet', '--bare', '.', home.path('bare'));
      const policy = readFileSync(at('qualify.policy.yaml'), 'utf8');
      site.repository.write('own.yaml', `${policy.replace(/^trust:.*\n/m, '')}trust: own.json\n`);
      copyFileSync(at('qualify.trust.json'), at('own.json'));
      site.repository.write('broken.yaml', 'schemaVersion: 1\nrequire: []\n');
    });
    after(() => {
      for (const name of ['own.yaml', 'own.json', 'broken.yaml', 'kernels/gate.md'])
        rmSync(at(name), { force: true });
      site.repository.git('worktree', 'remove', '--force', home.path('linked'));
    });
    const fromDisk = '--policy-from-disk';
    const cases: [name: string, file: string, args: string[], text: RegExp][] = [
      ['a matrix of the policy', at('matrices/fixture.yaml'), [fromDisk], /which the gate reads/],
      [
        'a policy above the folder',
        at('qualify.policy.yaml'),
        ['--repository', at('kernels')],
        /git tracks|reads/,
      ],
      ['a source', at('kernels/a.h'), [], /which git tracks/],
      ['a file of git itself', at('.git/HEAD'), [], /\.git folder/],
      ['a file of a bare repository', home.path('bare/HEAD'), [], /folder of a git repository/],
      ['a file of another worktree', home.path('linked/qualify.trust.json'), [], /which git tracks/],
      ['the tie of another worktree', home.path('linked/.git'), [], /\.git folder/],
      ['the trust of the policy', at('own.json'), [fromDisk, '--policy', 'own.yaml'], /which the gate reads/],
      [
        'what a policy that is broken may name',
        at('own.json'),
        [fromDisk, '--policy', 'broken.yaml'],
        /broken\.yaml/,
      ],
    ];
    for (const [name, file, args, text] of cases)
      test(name, async () => {
        const was = readFileSync(file, 'utf8');
        const earlier = home.path('earlier.xml');
        writeFileSync(earlier, 'of an earlier gate');
        const { exitCode, stderr, stdout } = await gate(...args, '--junit', earlier, '--markdown', file);
        assert.ok(existsSync(file), 'it is still there');
        assert.equal(readFileSync(file, 'utf8'), was);
        assert.equal(readFileSync(earlier, 'utf8'), 'of an earlier gate', 'nothing is removed before');
        assert.equal(exitCode, 64, stdout);
        assert.match(stderr, text);
        assert.ok(stderr.replaceAll(/\s/g, '').includes(basename(file)) || name.includes('broken'), stderr);
      });

    test('a report in the repository that git does not track is replaced', async () => {
      for (const _ of ['made', 'replaced']) {
        const { exitCode, stderr } = await gate(
          fromDisk,
          '--policy',
          'own.yaml',
          '--markdown',
          at('kernels/gate.md'),
        );
        assert.equal(exitCode, 10, stderr);
        assert.match(stderr, /Written: \S+gate\.md/);
      }
    });
  });

  test('a file or folder of no name', async () => {
    for (const option of [
      '--manifests',
      '--waivers',
      '--challenge',
      '--attestations',
      '--markdown',
      '--github',
    ]) {
      const { exitCode, stderr } = await gate(option, '');
      assert.equal(exitCode, 64, option);
      assert.match(stderr, new RegExp(`${option} is empty`));
    }
  });

  test('a report that cannot be written ends with 15 and leaves nothing', async () => {
    const { exitCode, stderr } = await gate('--junit', '/proc/nowhere/gate.xml');
    assert.equal(exitCode, 15);
    assert.match(stderr, /ERR_QUALIFY_OUTPUT/);
    assert.equal(existsSync('/proc/nowhere/gate.xml.partial'), false);
  });

  test('a report follows no planted link, and takes the place of no folder', async () => {
    const out = empty('planted');
    writeFileSync(join(out, 'mine'), 'mine');
    for (const name of ['gate.xml', 'gate.xml.partial']) symlinkSync(join(out, 'mine'), join(out, name));
    mkdirSync(join(out, 'folder'));
    for (const name of ['gate.xml', 'folder']) {
      const { exitCode, stderr } = await gate('--junit', join(out, name));
      assert.equal(exitCode, 64, stderr);
      assert.match(stderr, /ERR_QUALIFY_EXISTS/);
    }
    const { stderr } = await gate('--junit', join(out, 'new.xml'));
    assert.match(stderr, /Written: \S+new\.xml/);
    assert.equal(readFileSync(join(out, 'mine'), 'utf8'), 'mine');
    assert.deepEqual(readdirSync(out).sort(), ['folder', 'gate.xml', 'gate.xml.partial', 'mine', 'new.xml']);
  });
});
