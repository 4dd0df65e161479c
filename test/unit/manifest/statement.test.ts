import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { canonicalJson, sha256 } from '../../../src/digest.js';
import type { Draft } from '../../../src/journal/journal.js';
import { generateKey } from '../../../src/manifest/key-store.js';
import { signedFiles } from '../../../src/manifest/manifest.js';
import { seal } from '../../../src/manifest/seal.js';
import {
  PREDICATE_TYPE,
  type Statement,
  serializeStatement,
  statementSchema,
} from '../../../src/manifest/statement.js';
import { verifyRun } from '../../../src/manifest/verify.js';
import { BASE_COMMIT, HEAD_COMMIT, type RunOptions, writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';
import { refusal } from '../../support/refusal.js';

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

/** A run whose builds are folders; `folderOf` gives what is in that of a revision. */
const folders = (folderOf: (requested: string) => string) => ({
  revisions: { base: BASE_COMMIT, head: HEAD_COMMIT },
  alter: (draft: Draft): Draft =>
    draft.kind === 'build'
      ? {
          ...draft,
          binarySha256: sha256('one binary'),
          folderSha256: sha256(folderOf(draft.revision.requested)),
        }
      : draft,
});

test('names the folder of a build that is more than its binary, and says it of each arm', async (context) => {
  const statement = await stated(
    context,
    folders((requested) => `libraries of ${requested}`),
  );
  assert.deepEqual(names(statement), ['evidence.sha256', `head@${HEAD_COMMIT}`, 'head/folder']);
  assert.deepEqual(statement.subject[2]?.digest, { sha256: sha256(`libraries of ${HEAD_COMMIT}`) });
  assert.deepEqual(
    statement.predicate.arms.map(({ build }) => build?.folderSha256),
    [BASE_COMMIT, HEAD_COMMIT].map((commit) => sha256(`libraries of ${commit}`)),
  );
  const shared = await stated(
    context,
    folders(() => 'the same libraries'),
  );
  assert.deepEqual(names(shared), ['evidence.sha256', `head@${HEAD_COMMIT}`]);
});

test('has no folder where the binary is all there is', async (context) => {
  const { predicate } = await stated(context);
  for (const { build } of predicate.arms) assert.ok(build && !('folderSha256' in build));
});

for (const [what, leaveOut] of [
  ['subject', (statement: Statement) => statement.subject.splice(2, 1)],
  ['digest', (statement: Statement) => delete statement.predicate.arms[1]?.build?.folderSha256],
] as const)
  test(`a run whose statement leaves out the ${what} of a folder does not verify`, async (context) => {
    const folder = await scratchFolder(context);
    const run = join(folder, 'run');
    const key = await generateKey('k', join(folder, 'keys'));
    await writeRun(
      run,
      folders((requested) => `libraries of ${requested}`),
    );
    const { statement } = await seal(run, key);
    await verifyRun(run);
    leaveOut(statement);
    for (const [name, text] of Object.entries(await signedFiles(statement, key)))
      await writeFile(join(run, name), text);
    const error = await refusal(verifyRun(run));
    assert.equal(error.exit, 'invalid');
    assert.match(error.message, /states what does not follow from the run: .*(subject|folderSha256)/);
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
