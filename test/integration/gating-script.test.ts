/** The script of `docs/exit-codes.md` that gates on somebody's run, as it stands there, with the real CLI and jq. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { harnessFolder } from '../../src/harness.js';
import type { Statement } from '../../src/manifest/statement.js';

const manifests = join(harnessFolder, 'manifests');
const [, filter = ''] =
  /jq -e --arg head "\$SHA" '([^']+)'/.exec(
    readFileSync(join(harnessFolder, 'docs', 'exit-codes.md'), 'utf8'),
  ) ?? [];

function verified(run: string): { statement: Statement } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(harnessFolder, 'bin', 'qualify.js'), 'verify', join(manifests, run), '--json'].concat([
      '--key',
      join(manifests, 'golden.pub'),
    ]),
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

/** What jq exits with: 0 takes the run. */
function exitOf(json: { statement: Statement }, head: string): number | null {
  const { status, stderr } = spawnSync('jq', ['-e', '--arg', 'head', head, filter], {
    input: JSON.stringify(json),
    encoding: 'utf8',
  });
  assert.equal(stderr, '');
  return status;
}

describe('the script that gates on a run', () => {
  let pass: { statement: Statement };
  let head: string;

  before(() => {
    assert.match(filter, /\.result == "pass"/);
    pass = verified('smoke-pass.tar');
    head = pass.statement.predicate.arms[1]?.build?.revision.commit ?? '';
    assert.match(head, /^[0-9a-f]{40}$/);
  });

  test('takes a run that passed, for its head only', () => {
    assert.equal(exitOf(pass, head), 0);
    assert.equal(exitOf(pass, 'f'.repeat(40)), 1);
  });

  for (const run of ['planted-fail.tar', 'parity-failed.tar'])
    test(`does not take ${run}`, () => {
      const json = verified(run);
      assert.equal(exitOf(json, json.statement.predicate.arms[1]?.build?.revision.commit ?? ''), 1);
    });

  type Predicate = Statement['predicate'];
  const others: Record<string, (predicate: Predicate) => void> = {
    'was cut short': (predicate) => {
      predicate.complete = false;
    },
    'is an ablation': (predicate) => {
      predicate.design = {} as NonNullable<Predicate['design']>;
    },
    'is a simulation': (predicate) => {
      predicate.simulation = {} as NonNullable<Predicate['simulation']>;
    },
    'had a slowdown planted into its base': ({ arms }) => {
      Object.assign(arms[0] ?? {}, { plantedSlowdownPercent: 10 });
    },
    'had a slowdown planted into its head': ({ arms }) => {
      Object.assign(arms[1] ?? {}, { plantedSlowdownPercent: 10 });
    },
    'measured changes that are in no commit': ({ arms }) => {
      Object.assign(arms[1]?.build?.revision ?? {}, { dirty: true });
    },
    'has no build of its head': ({ arms }) => {
      Object.assign(arms[1] ?? {}, { build: null });
    },
    'has a required cell that does not pass': ({ cells }) => {
      Object.assign(cells[0] ?? {}, { required: true, verdict: 'inconclusive' });
    },
  };
  for (const [what, change] of Object.entries(others))
    test(`does not take a pass that ${what}`, () => {
      const changed = structuredClone(pass);
      change(changed.statement.predicate);
      assert.notDeepEqual(changed, pass);
      assert.equal(exitOf(changed, head), 1);
    });
});
