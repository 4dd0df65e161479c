import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { canonicalJson, sha256 } from '../../../src/digest.js';
import { generateKey } from '../../../src/manifest/key-store.js';
import { seal } from '../../../src/manifest/seal.js';
import {
  PREDICATE_TYPE,
  type Statement,
  serializeStatement,
  statementSchema,
} from '../../../src/manifest/statement.js';
import { BASE_COMMIT, HEAD_COMMIT, type RunOptions, writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

async function stated(context: TestContext, options: RunOptions = {}): Promise<Statement> {
  const folder = await scratchFolder(context);
  await writeRun(join(folder, 'run'), options);
  return (await seal(join(folder, 'run'), await generateKey('k', join(folder, 'keys')))).statement;
}

const names = ({ subject }: Statement) => subject.map(({ name }) => name);

test('names the head commit and the head binary, never the base', async (context) => {
  const statement = await stated(context, { revisions: { base: BASE_COMMIT, head: HEAD_COMMIT } });
  assert.deepEqual(names(statement), ['evidence.sha256', `head@${HEAD_COMMIT}`, 'head/engine']);
  assert.deepEqual(statement.subject[1]?.digest, { gitCommit: HEAD_COMMIT });
  assert.deepEqual(statement.subject[2]?.digest, { sha256: sha256(`binary ${HEAD_COMMIT}`) });
  assert.doesNotMatch(JSON.stringify(statement.subject), new RegExp(BASE_COMMIT));
  assert.equal(statement.predicate.arms[0]?.build?.revision.commit, BASE_COMMIT);
});

test('names no commit of a dirty tree', async (context) => {
  const statement = await stated(context, { revisions: { base: BASE_COMMIT, head: 'worktree' } });
  assert.deepEqual(names(statement), ['evidence.sha256', 'head/engine']);
});

test('names nothing that the base is too', async (context) => {
  const switched = await stated(context);
  assert.deepEqual(names(switched), ['evidence.sha256']);
  const same = await stated(context, { revisions: { base: HEAD_COMMIT, head: HEAD_COMMIT } });
  assert.deepEqual(names(same), ['evidence.sha256']);
});

test('writes sizes beyond 2^53 as strings, to the last digit', async (context) => {
  const { predicate } = await stated(context);
  assert.equal(predicate.model?.sizeBytes, '9007199254740993');
});

test('fits its own schema, has the type of our predicate, and is spelt by RFC 8785', async (context) => {
  const statement = await stated(context);
  assert.equal(statement.predicateType, PREDICATE_TYPE);
  assert.deepEqual(statementSchema.parse(statement), statement);
  assert.equal(serializeStatement(statement).toString(), canonicalJson(statement));
});

test('states a session without model and builds as far as it got', async (context) => {
  const failed = { launch: null, code: 'ERR_QUALIFY_BUILD_FAILED', message: 'no compiler' };
  const { predicate } = await stated(context, {
    alter: (draft) =>
      draft.kind === 'model' || draft.kind === 'build' ? { kind: 'failure', ...failed } : draft,
  });
  assert.equal(predicate.model, null);
  assert.deepEqual(
    predicate.arms.map(({ build }) => build),
    [null, null],
  );
});
