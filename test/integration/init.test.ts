import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { sha256 } from '../../src/digest.js';
import { gatePolicySchema } from '../../src/gate/policy.js';
import { trustPolicySchema } from '../../src/manifest/trust-policy.js';
import { Repository } from '../support/repository.js';
import { Home } from '../support/run-cli.js';
import { parseWorkflow } from '../support/workflow.js';
import { dangersOf } from '../support/workflow-dangers.js';

const home = new Home();
after(() => home.remove());

let made = 0;
function engineRepository(): Repository {
  made += 1;
  const repository = new Repository(home.path(`repository-${made}`));
  repository.write('action.yml', 'name: qualify\n');
  repository.commit('one');
  return repository;
}

const WORKFLOWS = ['request', 'run', 'report'].map((name) => `.github/workflows/qualify-${name}.yml`);
const FILES = ['qualify.matrix.yaml', 'qualify.policy.yaml', 'qualify.trust.json', ...WORKFLOWS];
const init = (cwd: string, ...args: string[]) => home.start(['init', ...args], { cwd }).finished;
const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && !entry.parentPath.includes('.git/') && !entry.parentPath.endsWith('.git'),
    )
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();

test('a repository with an engine gets files that pass every check of their own', async () => {
  const repository = engineRepository();
  repository.git('branch', '--move', 'main', 'master');
  mkdirSync(join(repository.folder, 'deep'));
  const done = await init(join(repository.folder, 'deep'));
  assert.deepEqual([done.exitCode, done.stdout.split('\n')[0]], [0, 'wrote'], done.stderr);
  for (const path of FILES) assert.ok(done.stdout.includes(`  ${path}\n`), path);
  assert.match(done.stdout, /^ {2}qualify pr --challenge question\.json --matrix qualify\.matrix\.yaml$/m);
  assert.match(done.stderr, /made the key SHA256:/);
  for (const line of done.stdout.split('\n')) assert.ok(line.length <= 100, line);
  const read = (path: string): string => readFileSync(join(repository.folder, path), 'utf8');

  const lint = await home.start(['matrix', 'lint', 'qualify.matrix.yaml'], { cwd: repository.folder })
    .finished;
  assert.deepEqual([lint.exitCode, lint.stderr], [0, ''], lint.stdout);
  const policy = gatePolicySchema.parse(parse(read('qualify.policy.yaml')));
  assert.equal(policy.base, 'master');
  const matrix: unknown = parse(read('qualify.matrix.yaml'));
  assert.deepEqual(
    policy.require.map(({ file, matrix: name }) => [file, name]),
    [['qualify.matrix.yaml', (matrix as { name: string }).name]],
  );
  const trust = trustPolicySchema.parse(JSON.parse(read('qualify.trust.json')));
  const listed = await home.run('keys', 'list', '--json');
  assert.deepEqual(
    trust.keys.map(({ keyId, roles }) => [keyId, roles]),
    [[JSON.parse(listed.stdout).keys[0].keyId, ['observer']]],
  );
  for (const path of WORKFLOWS) assert.deepEqual(dangersOf(path, read(path)), []);
  assert.match(read(WORKFLOWS[0] ?? ''), /^ {6}MATRIX: qualify\.matrix\.yaml$/m);

  // The gate itself takes them once they are on the base: nothing was measured, so nothing passes.
  const base = repository.commit('two');
  repository.git('switch', '--quiet', '--create', 'change');
  repository.write('native/b.h', '// two\n');
  const head = repository.commit('three');
  const gate = await home.start(['gate', '--head', head, '--base', base, '--json'], {
    cwd: repository.folder,
  }).finished;
  assert.equal(gate.exitCode, 12, gate.stderr);
  assert.equal(JSON.parse(gate.stdout).result, 'missing');
});

const NEXT = 'the next steps ask what the policy requires, and give the question to each command';
for (const branch of ['main', 'trunk'])
  test(`${NEXT}, on ${branch}`, async () => {
    const repository = engineRepository();
    repository.git('branch', '--move', '--force', 'main', branch);
    const { next } = JSON.parse((await init(repository.folder, '--json')).stdout) as {
      next: { command: string }[];
    };
    repository.git('switch', '--quiet', '--create', 'change');
    repository.write('native/b.h', '// two\n');
    repository.commit('two');
    const [ask = [], measure = [], gate = []] = next.map(({ command }) => command.split(' ').slice(1));
    const call = (args: string[]) => home.start(args, { cwd: repository.folder }).finished;
    const asked = await call(ask);
    assert.equal(asked.exitCode, 0, asked.stderr);
    const policy = readFileSync(join(repository.folder, 'qualify.policy.yaml'));
    const question: unknown = JSON.parse(readFileSync(join(repository.folder, 'question.json'), 'utf8'));
    assert.equal((question as { policy: string }).policy, sha256(policy), 'the policy that the gate reads');
    assert.deepEqual(measure, ['pr', '--challenge', 'question.json', '--matrix', 'qualify.matrix.yaml']);
    mkdirSync(join(repository.folder, 'manifests'));
    const decided = await call([...gate, '--json']);
    assert.equal(decided.exitCode, 12, decided.stderr);
    const { reasons } = JSON.parse(decided.stdout) as { reasons: { code: string }[] };
    assert.ok(reasons.some(({ code }) => code === 'unanswered'));
  });

test('the policy is for the branch that there is', async () => {
  const baseOf = async (repository: Repository): Promise<string> => {
    assert.equal((await init(repository.folder, '--force')).exitCode, 0);
    const text = readFileSync(join(repository.folder, 'qualify.policy.yaml'), 'utf8');
    return gatePolicySchema.parse(parse(text)).base;
  };
  const repository = engineRepository();
  repository.git('branch', '--move', 'main', 'trunk');
  assert.equal(await baseOf(repository), 'trunk');
  repository.git('branch', 'main');
  assert.equal(await baseOf(repository), 'main');
  repository.git('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/trunk');
  assert.equal(await baseOf(repository), 'trunk');
});

test('what is there is named, and then nothing at all is written, a key neither', async () => {
  for (const path of ['qualify.trust.json', WORKFLOWS[2] ?? '']) {
    const repository = engineRepository();
    repository.write(path, 'mine');
    const before = filesBelow(repository.folder);
    const config = home.path(`config-${made}`);
    const done = await home.start(['init'], {
      cwd: repository.folder,
      environment: { XDG_CONFIG_HOME: config },
    }).finished;
    assert.equal(done.exitCode, 64);
    assert.match(done.stderr, /ERR_QUALIFY_EXISTS/);
    assert.ok(done.stderr.includes(path));
    assert.deepEqual([done.stdout, filesBelow(repository.folder)], ['', before]);
    assert.ok(!existsSync(config));
    const forced = await init(repository.folder, '--force', '--json');
    assert.equal(forced.exitCode, 0, forced.stderr);
    const written = [...FILES, '.gitignore'];
    assert.deepEqual(JSON.parse(forced.stdout).files, written);
    assert.deepEqual(filesBelow(repository.folder), [...new Set([...before, ...written])].toSorted());
    assert.notEqual(readFileSync(join(repository.folder, path), 'utf8'), 'mine');
  }
});

test('a link that leads nowhere is there, too, and a folder in the way leaves nothing behind', async () => {
  const linked = engineRepository();
  symlinkSync('/nowhere', join(linked.folder, 'qualify.policy.yaml'));
  assert.equal((await init(linked.folder)).exitCode, 64);
  const blocked = engineRepository();
  blocked.write('.github', 'a file');
  const before = filesBelow(blocked.folder);
  const done = await init(blocked.folder);
  assert.equal(done.exitCode, 15, done.stderr);
  assert.match(done.stderr, /ERR_QUALIFY_INIT/);
  assert.deepEqual(filesBelow(blocked.folder), before);
});

test('workflows of another repository take qualify from a pinned commit', async () => {
  const repository = new Repository(home.path('engine-only'));
  repository.commit('one');
  const refused = await init(repository.folder);
  assert.equal(refused.exitCode, 64);
  assert.match(refused.stderr, /--action OWNER\/REPO@SHA/);
  for (const bad of ['o/r@v1', 'o/r', './', `o/r@${'a'.repeat(40)}\nx`])
    assert.equal((await init(repository.folder, '--action', bad)).exitCode, 64, bad);
  const action = `org/qualify@${'a'.repeat(40)}`;
  assert.equal((await init(repository.folder, '--action', action)).exitCode, 0);
  for (const path of WORKFLOWS) {
    const text = readFileSync(join(repository.folder, path), 'utf8');
    assert.deepEqual(dangersOf(path, text), []);
    const { jobs } = parseWorkflow(text);
    assert.ok(Object.values(jobs).some(({ steps }) => steps.some(({ uses }) => uses === action)));
  }
});

test('elsewhere it writes a matrix against llama.cpp, or says what is missing', async () => {
  const nothing = home.path('nothing');
  mkdirSync(nothing);
  const refused = await init(nothing);
  assert.equal(refused.exitCode, 64);
  assert.match(refused.stderr, /ERR_QUALIFY_NO_ENGINE/);
  assert.equal((await init(nothing, '--engine', 'embedded')).exitCode, 64);
  assert.deepEqual(readdirSync(nothing), []);

  const checkout = home.path('llama.cpp');
  for (const folder of ['include', 'ggml']) mkdirSync(join(checkout, folder), { recursive: true });
  writeFileSync(join(checkout, 'include', 'llama.h'), '');
  const done = await init(checkout);
  assert.equal(done.exitCode, 0, done.stderr);
  assert.match(done.stderr, /not the sources here/);
  assert.ok(!existsSync(join(checkout, '.github')));
  const lint = await home.start(['matrix', 'lint', 'qualify.matrix.yaml'], { cwd: checkout }).finished;
  assert.equal(lint.exitCode, 0, lint.stdout + lint.stderr);
});

test('two folders that hold a build get a matrix of the two, and are told what else to fill in', async () => {
  const folder = home.path('builds');
  for (const name of ['newer', 'base', 'else']) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'newer', 'engine.node'), '');
  writeFileSync(join(folder, 'base', 'serve'), '', { mode: 0o755 });
  // No program: nobody may execute it.
  writeFileSync(join(folder, 'else', 'serve'), '', { mode: 0o644 });
  const done = await init(folder, '--json');
  assert.equal(done.exitCode, 0, done.stderr);
  const { engine, files } = JSON.parse(done.stdout);
  assert.deepEqual([engine, files], ['prebuilt', ['qualify.matrix.yaml']]);
  assert.match(done.stderr, /Fill in, in qualify\.matrix\.yaml: MODEL\.gguf, vocabulary\.$/m);
  const { arms } = parse(readFileSync(join(folder, 'qualify.matrix.yaml'), 'utf8')) as {
    arms: Record<string, { revision: string }>;
  };
  assert.deepEqual(
    Object.values(arms).map(({ revision }) => revision),
    ['prebuilt:base', 'prebuilt:newer'],
  );
  const lint = await home.start(['matrix', 'lint', 'qualify.matrix.yaml'], { cwd: folder }).finished;
  assert.deepEqual([lint.exitCode, lint.stderr], [0, ''], lint.stdout);
});

test('one folder that holds a build is the base, and the other one is to be filled in', async () => {
  const folder = home.path('one-build');
  mkdirSync(join(folder, 'only'), { recursive: true });
  writeFileSync(join(folder, 'only', 'serve'), '', { mode: 0o755 });
  const done = await init(folder, '--engine', 'prebuilt');
  assert.equal(done.exitCode, 0, done.stderr);
  assert.match(done.stderr, /Fill in, in qualify\.matrix\.yaml: MODEL\.gguf, vocabulary, HEAD_FOLDER\.$/m);
  const { arms } = parse(readFileSync(join(folder, 'qualify.matrix.yaml'), 'utf8')) as {
    arms: Record<string, { revision: string }>;
  };
  assert.deepEqual(
    Object.values(arms).map(({ revision }) => revision),
    ['prebuilt:only', 'prebuilt:HEAD_FOLDER'],
  );
});

test('each engine can be asked for anywhere, with a matrix that passes its own check', async () => {
  for (const engine of ['node-llama-cpp', 'prebuilt', 'simulated']) {
    const folder = home.path(`asked-${engine}`);
    mkdirSync(folder);
    const done = await init(folder, '--engine', engine);
    assert.equal(done.exitCode, 0, done.stderr);
    assert.equal(done.stderr.includes('Fill in'), engine === 'prebuilt', done.stderr);
    if (engine === 'prebuilt') assert.match(done.stderr, /vocabulary, BASE_FOLDER, HEAD_FOLDER\.$/m);
    assert.match(done.stdout, engine === 'simulated' ? /qualify simulate qual/ : /qualify run qual/);
    const lint = await home.start(['matrix', 'lint', 'qualify.matrix.yaml'], { cwd: folder }).finished;
    assert.deepEqual([lint.exitCode, lint.stderr], [0, ''], lint.stdout);
    const refused = await init(folder, '--engine', engine, '--force', '--action', `o/r@${'a'.repeat(40)}`);
    assert.equal(refused.exitCode, 64);
  }
});

test('a checkout of an engine without an adapter is called by its name, with what to do', async () => {
  for (const [name, path] of [
    ['vllm', 'pyproject.toml'],
    ['sglang', 'python/pyproject.toml'],
  ] as const) {
    const folder = home.path(`checkout-${name}`);
    mkdirSync(join(folder, 'python'), { recursive: true });
    writeFileSync(join(folder, path), `[project]\nname = "${name}"\n`);
    const refused = await init(folder);
    assert.equal(refused.exitCode, 64);
    assert.match(refused.stderr, new RegExp(`is ${name}, and qualify has no adapter for it`));
    assert.match(refused.stderr, /docs\/engine\.md.*qualify init --engine prebuilt/s);
    assert.ok(!existsSync(join(folder, 'qualify.matrix.yaml')));
  }
});

test('runs are ignored by git, by one line at the end of what is ignored already', async () => {
  const repository = engineRepository();
  const path = join(repository.folder, '.gitignore');
  repository.write('.gitignore', '*.gguf');
  const first = await init(repository.folder);
  assert.equal(first.exitCode, 0, first.stderr);
  assert.match(first.stdout, /^ {2}\.gitignore$/m);
  assert.equal(readFileSync(path, 'utf8'), '*.gguf\n.qualify/\n');
  repository.write('.qualify/runs/one/plan.json', '{}');
  assert.doesNotMatch(repository.git('status', '--porcelain', '--untracked-files=all'), /\.qualify\//);
  const again = await init(repository.folder, '--force');
  assert.doesNotMatch(again.stdout, /gitignore/);
  assert.equal(readFileSync(path, 'utf8'), '*.gguf\n.qualify/\n');
});

test('exceptions of a repository stay in force: what its .gitignore says of runs is left as it is, and told', async () => {
  for (const own of ['/.qualify/*\n!.qualify/keep\n', '.qualify/runs/\n', '**/.qualify/bisect']) {
    const repository = engineRepository();
    repository.write('.gitignore', own);
    const { exitCode, stdout, stderr } = await init(repository.folder);
    assert.equal(exitCode, 0, stderr);
    assert.equal(readFileSync(join(repository.folder, '.gitignore'), 'utf8'), own);
    assert.doesNotMatch(stdout, /gitignore/);
    assert.match(stderr, /^\.gitignore speaks of \.qualify already and stays as it is\..*git check-ignore/m);
    if (!own.includes('!')) continue;
    repository.write('.qualify/keep', '');
    repository.write('.qualify/runs/one/plan.json', '{}');
    const seen = repository.git('status', '--porcelain', '--untracked-files=all', '.qualify');
    assert.equal(seen.trim(), '?? .qualify/keep');
  }
  // Other names, and what is only said.
  const other = engineRepository();
  other.write('.gitignore', '# .qualify/ is mine\n.qualifying/\n');
  const added = await init(other.folder);
  assert.match(readFileSync(join(other.folder, '.gitignore'), 'utf8'), /\n\.qualify\/\n$/);
  assert.doesNotMatch(added.stderr, /speaks of/);
});

test('a line that git does not take for one, or that a later line undoes, is told', async () => {
  for (const own of ['.qualify/\n!.qualify/\n', '.qualify/\t\n', '.qualify\n!/.qualify\n']) {
    const repository = engineRepository();
    repository.write('.gitignore', own);
    repository.write('.qualify/runs/one/plan.json', '{}');
    assert.match(repository.git('status', '--porcelain', '--untracked-files=all'), /\.qualify\/runs/);
    const { exitCode, stderr } = await init(repository.folder);
    assert.equal(exitCode, 0, stderr);
    assert.equal(readFileSync(join(repository.folder, '.gitignore'), 'utf8'), own);
    assert.match(stderr, /^\.gitignore speaks of \.qualify already and stays as it is\..*git check-ignore/m);
  }
});

test('a .gitignore in another encoding than UTF-8 keeps its bytes', async () => {
  const repository = engineRepository();
  const path = join(repository.folder, '.gitignore');
  const latin1 = Buffer.from('donn\u00e9es/\n', 'latin1');
  writeFileSync(path, latin1);
  assert.equal((await init(repository.folder)).exitCode, 0);
  assert.deepEqual(readFileSync(path), Buffer.concat([latin1, Buffer.from('.qualify/\n')]));
});

test('a .gitignore that has the line, or is a link, is left as it is, and none is made where git is not', async () => {
  for (const line of ['.qualify', '/.qualify/', '# mine\n.qualify/\r']) {
    const repository = engineRepository();
    repository.write('.gitignore', `${line}\n`);
    assert.equal((await init(repository.folder)).exitCode, 0);
    assert.equal(readFileSync(join(repository.folder, '.gitignore'), 'utf8'), `${line}\n`);
  }
  const linked = engineRepository();
  writeFileSync(home.path('elsewhere'), 'mine\n');
  symlinkSync(home.path('elsewhere'), join(linked.folder, '.gitignore'));
  assert.equal((await init(linked.folder)).exitCode, 0);
  assert.equal(readFileSync(home.path('elsewhere'), 'utf8'), 'mine\n');
  const folder = home.path('no-git');
  mkdirSync(folder);
  assert.equal((await init(folder, '--engine', 'simulated')).exitCode, 0);
  assert.deepEqual(readdirSync(folder), ['qualify.matrix.yaml']);
});
