/**
 * An attack on a run folder. Each is first seen to succeed against the verifier without the guard that is there for it, so that what
 * refuses it in the end is that guard, and then to be refused by the verifier as it is, with the code and the file.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { QualifyError } from '../../src/errors.js';
import { bundleOf } from '../../src/manifest/sigstore-bundle.js';
import { type VerifyOptions, verifyRun } from '../../src/manifest/verify.js';
import type { SampleRun } from '../fuzz/sample-run.js';
import { removeFolder } from '../support/folder.js';
import { type Guard, importWithout } from './without-guard.js';

/** Names of what a manifest consists of. */
export const MANIFEST = 'qualification.intoto.jsonl';
export const SSH_SIGNATURE = `${MANIFEST}.sig`;
export const BUNDLE = 'qualification.sigstore.json';

/** What the statement says is made again from the run, and compared as a value and as bytes. */
export const statementFollows: Guard[] = [
  { module: 'manifest/verify', guard: 'if (difference !== null)', instead: 'if (false)' },
  {
    module: 'manifest/verify',
    guard: 'if (!serializeStatement(expected).equals(payload))',
    instead: 'if (false)',
  },
];
export const KEY = 'key.pub.pem';
export const INDEX = 'evidence.sha256';

export interface Attack {
  /** Changes the copy of the victim's run that lies in `run`. */
  make: (run: string) => void | Promise<void>;
  /** The guard that stops it. More than one where one backs another. */
  guards: readonly Guard[];
  /** The file that the refusal names, and its words. */
  where: string;
  why: RegExp;
  options?: VerifyOptions;
}

type Verifier = { verifyRun: typeof verifyRun };
const lamed = new Map<string, Promise<Verifier>>();

/** The verifier without some guards, made once for a file of tests. */
export function verifierWithout(context: TestContext, guards: readonly Guard[]): Promise<Verifier> {
  const name = JSON.stringify(guards);
  const known = lamed.get(name) ?? importWithout<Verifier>(context, 'manifest/verify', ...guards);
  lamed.set(name, known);
  return known;
}

/** A test that the attack succeeds without its guards and is refused with them. */
export function attackTest(name: string, victim: SampleRun, attack: Attack): void {
  test(name, async (context) => {
    const run = copyOf(victim, context);
    await attack.make(run);
    const options = { keyFolder: join(victim.folder, 'no-keys'), ...attack.options };
    const unguarded = await verifierWithout(context, attack.guards);
    await unguarded.verifyRun(run, options);
    await refused(run, options, attack.where, attack.why);
  });
}

/** A copy of a run, removed after the test. */
export function copyOf(victim: SampleRun, context: TestContext): string {
  const folder = mkdtempSync(join(victim.folder, 'copy-'));
  context.after(() => removeFolder(folder));
  cpSync(victim.run, join(folder, 'run'), { recursive: true });
  return join(folder, 'run');
}

/** Asserts exit 16, the file that is named, and the reason; nothing that steers a terminal. */
export async function refused(
  run: string,
  options: VerifyOptions,
  where: string,
  why: RegExp,
): Promise<void> {
  await assert.rejects(verifyRun(run, options), (error) => {
    assert.ok(error instanceof QualifyError, String(error));
    assert.equal(error.exitCode, 16);
    assert.equal(error.where, where, error.message);
    assert.match(error.message, why);
    return true;
  });
}

/** The two lines of a manifest, each with its newline. */
export function linesOf(run: string): [string, string] {
  const [first = '', second = ''] = readFileSync(join(run, MANIFEST), 'utf8').split(/(?<=\n)/);
  return [first, second];
}

/**
 * Puts other lines into a manifest, as somebody would who has no key: the bundle, which nobody signs, follows the first line, and the SSH
 * signature, which need not be there, goes.
 */
export function writeLines(run: string, keyId: string, ...lines: string[]): void {
  writeFileSync(join(run, MANIFEST), lines.join(''));
  writeFileSync(join(run, BUNDLE), bundleOf(lines[0] ?? '', keyId));
  rmSync(join(run, SSH_SIGNATURE), { force: true });
}

/** Writes what `edit` makes of a text file. */
export function editFile(run: string, path: string, edit: (text: string) => string): void {
  const before = readFileSync(join(run, path), 'utf8');
  const after = edit(before);
  assert.notEqual(after, before, `the attack changes nothing of ${path}`);
  writeFileSync(join(run, path), after);
}
