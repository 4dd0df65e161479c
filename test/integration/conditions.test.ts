/** What a real session records as the conditions of its launches, and what it refuses: engines that are started otherwise. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { homedir, hostname, userInfo } from 'node:os';
import { describe, type TestContext, test } from 'node:test';
import { classOf, fieldClasses } from '../../src/analysis/field-classes.js';
import { Home } from '../support/run-cli.js';

type Conditions = { launch: string; fields: Record<string, string | null> };

/** Two rounds, in which one line of shell runs before the engine of arm `head`, or another command starts it. */
async function runWith(
  t: TestContext,
  wrap: { before?: string; starter?: string },
): Promise<{ home: Home; conditions: Conditions[]; exitCode: number | null; said: string }> {
  const home = new Home();
  t.after(() => home.remove());
  const head = { FAKE_US_PER_TOKEN: '51' };
  const matrix = home.fakeMatrix({ head }, { looks: [2] });
  const serve = home.path('fake', 'serve');
  const [shebang, comment, start = ''] = readFileSync(serve, 'utf8').split('\n');
  const own = `if [ "$FAKE_US_PER_TOKEN" = 51 ]; then ${wrap.before ?? ':'}; ${start.replace('exec', `exec ${wrap.starter ?? ''}`)}; fi`;
  writeFileSync(serve, [shebang, comment, own, start, ''].join('\n'));
  const { exitCode, stdout, stderr } = await home.run('run', matrix, '--out', 'run');
  const conditions = home
    .journal()
    .flatMap((entry) =>
      entry.kind === 'conditions' ? [{ launch: entry.launch, fields: entry.fields }] : [],
    );
  assert.equal(conditions.length, 4, stderr);
  const verified = await home.run('verify', 'run');
  assert.equal(verified.exitCode, 0, verified.stderr);
  return { home, conditions, exitCode, said: stdout.replaceAll(/\s+/g, ' ') };
}

const reasonsOf = (home: Home): string[] =>
  home.verdict().cells[0]?.comparisons[0]?.reasons.map(({ code }) => code) ?? [];

describe('the conditions of a real session', () => {
  test('have a class each, at least 40 of them equal, and let two arms be compared', async (t) => {
    const { home, conditions } = await runWith(t, {});
    const [first] = conditions;
    const names = Object.keys(first?.fields ?? {});
    const known = new Set(fieldClasses);
    assert.deepEqual(
      names.filter((field) => !known.has(classOf(field))),
      [],
    );
    const equal = names.filter((field) => classOf(field).class === 'equal');
    const told = equal.filter((field) => first?.fields[field] !== null);
    assert.ok(equal.length >= 40, `${equal.length} fields are equal`);
    assert.ok(told.length >= 40, `${told.length} of them are told on this machine`);
    const families = ['environment.', 'library.', 'chunk.', 'process.', 'cpu.', 'kernel.', 'workload.'];
    for (const family of families)
      assert.ok(
        names.some((name) => name.startsWith(family)),
        family,
      );
    const refused = reasonsOf(home).filter((code) => /field|conditions|environment/.test(code));
    assert.deepEqual(refused, []);
  });

  test('are read back from the process, with unset apart from empty, and without places', async (t) => {
    const { home, conditions } = await runWith(t, {});
    const of = (arm: string): Conditions['fields'] =>
      conditions.find(({ launch }) => launch.endsWith(arm))?.fields ?? {};
    assert.equal(of('-head')['environment.FAKE_US_PER_TOKEN'], '51');
    assert.equal(of('-base')['environment.FAKE_US_PER_TOKEN'], null);
    assert.equal(of('-base')['environment.HOME'], 'own');
    assert.match(of('-base')['process.executable'] ?? '', /^[0-9a-f]{64}$/);
    const values = conditions
      .flatMap(({ fields }) => Object.values(fields))
      .filter((value) => value !== null);
    for (const value of values) {
      assert.match(value, /^[\x20-\x7e]*$/);
      for (const place of [home.folder, homedir(), hostname()])
        assert.ok(!value.includes(place), `${value} names ${place}`);
    }
    assert.ok(!values.includes(userInfo().username));
  });
});

describe('an engine that is started otherwise in one arm', () => {
  test('as a nicer process is refused', async (t) => {
    const { home, exitCode, said } = await runWith(t, { starter: 'nice -n 5 ' });
    assert.equal(exitCode, 14, said);
    assert.ok(reasonsOf(home).includes('field-differs'));
    assert.match(said, /differ in niceness \(process\.nice\): 0 in r\S+-base and 1 more; 5 in r\S+-head/);
  });

  test('with another limit is refused', async (t) => {
    const { exitCode, said } = await runWith(t, { before: 'ulimit -S -s 4096' });
    assert.equal(exitCode, 14, said);
    assert.match(said, /limit of the stack \(process\.stackLimit\)/);
  });

  test('with an empty variable that nobody gave it is refused', async (t) => {
    const { home, exitCode } = await runWith(t, { before: 'export GGML_SOMETHING=' });
    assert.equal(exitCode, 14);
    const reasons = home.verdict().cells[0]?.comparisons[0]?.reasons ?? [];
    const environment = reasons.find(({ code }) => code === 'environment-differs')?.message ?? '';
    assert.match(environment, /GGML_SOMETHING .* is empty in its process, given was unset/);
    assert.ok(
      reasons.some(({ code, message }) => code === 'field-differs' && /GGML_SOMETHING/.test(message)),
    );
  });

  test('with another library is refused by its name', async (t) => {
    const { home, exitCode } = await runWith(t, { before: 'export LD_PRELOAD=libresolv.so.2' });
    assert.equal(exitCode, 14);
    const told = home
      .verdict()
      .reasons.map(({ message }) => message)
      .join('\n');
    assert.match(told, /library\.count\)/);
    assert.match(told, /library\.libresolv\.so\.2/);
  });

  test('behind a parent that stays is looked at with that parent', async (t) => {
    const { home, conditions } = await runWith(t, {
      before: 'trap "" TERM',
      starter: `sh -c 'LD_BIND_NOW=1 "$0" "$@"; :' `,
    });
    const fields = conditions.find(({ launch }) => launch.endsWith('-head'))?.fields ?? {};
    assert.equal(fields['environment.LD_BIND_NOW'], 'unset and 1');
    assert.equal(fields['start.processes'], '2');
    assert.ok(reasonsOf(home).includes('environment-differs'));
  });
});
