import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { withRunFolder } from '../../src/manifest/unpack.js';
import { Home } from '../support/run-cli.js';
import { goldenNames, MANIFESTS, renderGolden } from './golden.js';

describe('the golden runs', () => {
  // A folder of keys that nobody can use: nothing of the user's may count here.
  const user = new Home();
  const configBefore = process.env.XDG_CONFIG_HOME;
  before(() => {
    process.env.XDG_CONFIG_HOME = user.environment.XDG_CONFIG_HOME;
    mkdirSync(user.path('config', 'qualify', 'keys'), { recursive: true });
    writeFileSync(user.path('config', 'qualify', 'keys', 'bob.pub'), 'no key\n');
  });
  after(() => {
    if (configBefore === undefined) delete process.env.XDG_CONFIG_HOME;
    else process.env.XDG_CONFIG_HOME = configBefore;
    return user.remove();
  });

  test('are a pass, a fail and a refusal', () => {
    const results = goldenNames().map(
      (name) => JSON.parse(readFileSync(join(MANIFESTS, `${name}.verdict.json`), 'utf8')).result,
    );
    assert.deepEqual(results.toSorted(), ['fail', 'parity-failed', 'pass']);
  });

  for (const name of goldenNames()) {
    test(`${name} is told in the same bytes, in every format`, async () => {
      const rendered = await renderGolden(name);
      for (const [file, text] of rendered) {
        assert.equal(
          readFileSync(join(MANIFESTS, file), 'utf8'),
          text,
          `${file}: look at it, then npm run golden`,
        );
      }
      const there = readdirSync(MANIFESTS).filter(
        (file) => file.startsWith(`${name}.`) && !file.endsWith('.tar'),
      );
      assert.deepEqual(there.toSorted(), [...rendered.keys()].toSorted());
    });

    test(`${name} as Markdown is its report.md, and a line that says who signed what`, async () => {
      const written = await withRunFolder(join(MANIFESTS, `${name}.tar`), async (run) =>
        readFileSync(join(run, 'report.md'), 'utf8').split('\n'),
      );
      const lines = readFileSync(join(MANIFESTS, `${name}.md`), 'utf8').split('\n');
      const more = lines.filter((line) => line.startsWith('- evidence: evidence.sha256 '));
      assert.equal(more.length, 1);
      assert.deepEqual(
        lines.filter((line) => !more.includes(line)),
        written,
      );
    });

    test(`${name} is by a key of the trust policy beside it`, async (t) => {
      const home = new Home();
      t.after(() => home.remove());
      const policy = join(MANIFESTS, 'qualify.trust.json');
      const { exitCode, stdout, stderr } = await home.run(
        'verify',
        join(MANIFESTS, `${name}.tar`),
        '--trust',
        policy,
      );
      assert.equal(exitCode, 0, stderr);
      assert.match(stdout, /signed by/);
    });
  }
});
