/** What an interruption left of one session of a bisection: nothing, a part that can be gone on with, or a run that counts. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { QualifyError } from '../errors.js';
import { fingerprint } from '../machine/fingerprint.js';
import { MANIFEST_FILE } from '../manifest/evidence-index.js';
import { PLAN_FILE, parseJson } from '../manifest/run-folder.js';
import { loadSigningKey } from '../manifest/signing-key.js';
import { verifyRun } from '../manifest/verify.js';
import { matrixDigest } from '../matrix/digest.js';
import { narrow } from '../matrix/narrow.js';
import type { Matrix } from '../matrix/schema.js';
import { type Plan, planSchema } from '../plan/schema.js';
import type { Verdict } from '../verdict/schema.js';
import { type Failure, isOfTheCommit } from './outcome.js';

/** The session that is wanted. */
export interface Wanted {
  /** With the commits of both arms and the budgets. */
  matrix: Matrix;
  cell: string;
  rounds: number | undefined;
}

type EarlierRun =
  | { kind: 'none' | 'unfinished' }
  | { kind: 'measured'; verdict: Verdict; failure: Failure | null };

/** What makes an earlier run useless for good; anything else (a machine that is taken, Ctrl-C) says nothing of it. */
const OF_THE_RUN: ReadonlySet<string> = new Set([
  'ERR_QUALIFY_BUILD_DIFFERS',
  'ERR_QUALIFY_INVALID',
  'ERR_QUALIFY_NOT_RESUMABLE',
  'ERR_QUALIFY_OTHER_MACHINE',
  'ERR_QUALIFY_OTHER_VERSION',
]);

/** A failure of an earlier run with the name of that run and the remedy; any other failure as it is. */
export function namingRun(runFolder: string, error: unknown): unknown {
  if (!(error instanceof QualifyError) || !OF_THE_RUN.has(error.code)) return error;
  const why = error.message.replace(/\.$/, '');
  return new QualifyError(
    error.code,
    `The run ${basename(runFolder)} of before the interruption cannot be used: ${why}. ` +
      'Take its folder away to measure that commit again, or begin a new bisection with --anew.',
    { exit: error.exit, where: runFolder, cause: error },
  );
}

const refuse = (message: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_INVALID', message, { exit: 'invalid' });

/** Whether a plan is of the session that is wanted: the digest covers commits, model, protocol and budgets. */
function requireWanted(plan: Plan, { matrix, cell, rounds }: Wanted): void {
  const looks = rounds === undefined ? matrix.protocol.looks : [rounds];
  if (
    plan.matrix.digest !== matrixDigest(narrow(matrix, [cell]).matrix) ||
    plan.cells.map(({ id }) => id).join() !== cell ||
    plan.decision.looks.join() !== looks.join()
  )
    throw refuse(`${PLAN_FILE} is of another session: other commits, cell, matrix, budget or rounds`);
}

/**
 * Looks at the run folder that a session of this bisection has, or had. What counts is verified, by a key of this user.
 * @throws QualifyError with the run's name and the remedy: what `verifyRun` throws (exit 16), also when it is of another session or
 * another signer; `ERR_QUALIFY_OTHER_MACHINE` (14).
 */
export async function earlierRun(runFolder: string, wanted: Wanted): Promise<EarlierRun> {
  try {
    if (statSync(runFolder, { throwIfNoEntry: false })?.isDirectory() === false)
      throw refuse('it is no folder');
    if (existsSync(join(runFolder, MANIFEST_FILE))) return await measuredRun(runFolder, wanted);
    const path = join(runFolder, PLAN_FILE);
    if (existsSync(path)) {
      requireWanted(parseJson(PLAN_FILE, readFileSync(path), planSchema), wanted);
      return { kind: 'unfinished' };
    }
    return { kind: 'none' };
  } catch (error) {
    throw namingRun(runFolder, error);
  }
}

async function measuredRun(runFolder: string, wanted: Wanted): Promise<EarlierRun> {
  const { record, signer } = await verifyRun(runFolder);
  // One that signs from outside the key folder is this user's too.
  if (signer.trust !== 'own' && (await loadSigningKey()).publicKey.keyId !== signer.key.keyId)
    throw refuse(`it is signed by ${signer.key.keyId}, which is no key of yours`);
  const { plan, entries, machine, verdict } = record;
  requireWanted(plan, wanted);
  if (machine.id !== fingerprint().id)
    throw new QualifyError('ERR_QUALIFY_OTHER_MACHINE', 'it was measured on another machine', {
      exit: 'unmatched',
    });
  const end = entries.at(-1);
  if (end?.kind === 'end' && end.complete) return { kind: 'measured', verdict, failure: null };
  const failure = entries.findLast((entry) => entry.kind === 'failure') ?? null;
  if (failure !== null && isOfTheCommit(failure)) return { kind: 'measured', verdict, failure };
  return { kind: 'unfinished' };
}
