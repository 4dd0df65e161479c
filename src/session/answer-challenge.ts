/** Refuses a session that would not answer its challenge, before anything is built: what `verify` would say after hours, at once. */
import { short } from '../digest.js';
import { QualifyError } from '../errors.js';
import { commitAsked } from '../manifest/replay-challenge.js';
import { matrixDigest } from '../matrix/digest.js';
import type { Matrix } from '../matrix/schema.js';
import type { Challenge } from '../plan/challenge.js';
import { followsFromMatrix } from '../plan/from-matrix.js';
import type { Plan } from '../plan/schema.js';
import { revisionOfTree } from '../revision/resolve.js';
import type { ArmSource } from './arm-builds.js';

/** What a session is asked. */
export interface Asked {
  challenge: Challenge;
  /** The matrix as it was named, before revisions are put in. */
  matrix: Matrix;
}

/**
 * @throws QualifyError `ERR_QUALIFY_CHALLENGE_DIFFERS` (exit 64) when the matrix or the commit of an arm is another than the challenge
 * asks for.
 */
export async function requireAnswer(
  plan: Plan,
  sources: ReadonlyMap<string, ArmSource>,
  { challenge, matrix }: Asked,
): Promise<void> {
  const { name, digest } = challenge.matrix;
  const given = matrixDigest(matrix);
  if (matrix.name !== name || given !== digest) {
    throw differs(
      `The challenge asks for the matrix ${name} (sha256 ${short(digest)}), and this is ${matrix.name} (sha256 ${short(given)}).`,
      'Name the matrix that the challenge was issued for, in the very version: --matrix FILE.',
    );
  }
  if (!followsFromMatrix(plan, matrix)) {
    throw differs(
      `The plan is not the whole of the matrix ${name}.`,
      'Run it as it stands: no --rounds, no --cell, nothing planted.',
    );
  }
  for (const arm of plan.arms) {
    const commit = await commitOf(sources.get(arm.revision));
    const asked = commitAsked(plan, arm.name);
    if (commit === asked) continue;
    throw differs(
      `The challenge asks for ${asked} as ${arm.name}, and ${arm.revision} is ${commit ?? 'no commit'}.`,
      'Name the commits of the challenge; of a working tree, one without changes.',
    );
  }
}

async function commitOf(source: ArmSource | undefined): Promise<string | null> {
  if (source?.kind === 'commit') return source.commit;
  return source?.kind === 'tree' ? (await revisionOfTree(source.requested, source.folder)).commit : null;
}

/** @throws QualifyError `ERR_QUALIFY_CHALLENGE_EXPIRED` (exit 64) when a session that begins at `now` would come too late, or too early. */
export function requireInTime({ issuedAt, expiresAt }: Challenge, now: Date): void {
  const late = now.getTime() > Date.parse(expiresAt);
  if (!late && now.getTime() >= Date.parse(issuedAt)) return;
  throw new QualifyError(
    'ERR_QUALIFY_CHALLENGE_EXPIRED',
    late
      ? `The challenge expired at ${expiresAt}; it is ${now.toISOString()}.`
      : `The challenge was issued at ${issuedAt}, and here it is ${now.toISOString()}.`,
    {
      exit: 'usage',
      hint: late ? 'Ask its issuer for a new one.' : 'Set the clock of this machine right.',
    },
  );
}

const differs = (message: string, hint: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_CHALLENGE_DIFFERS', message, { exit: 'usage', hint });
