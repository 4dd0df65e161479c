/** `qualify challenge`: issues the question that a run is to answer. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { sha256, short } from '../digest.js';
import { QualifyError } from '../errors.js';
import { requireFreshBase } from '../gate/fresh-base.js';
import { parsePolicy } from '../gate/policy-file.js';
import { type PolicyOnDisk, tipAt } from '../gate/tip.js';
import { requireRulesOfTip } from '../gate/tip-rules.js';
import { writeNew } from '../machine/write-new.js';
import { matrixDigest } from '../matrix/digest.js';
import { type Challenge, challengeSchema } from '../plan/challenge.js';
import { resolveRevision } from '../revision/resolve.js';
import { shellPath } from '../shell-word.js';
import { askedMatrix } from './asked-matrix.js';
import { durationUpTo, wholeNumber } from './options.js';
import { answer, note } from './output.js';
import { DEFAULT_MATRIX } from './revision-matrix.js';

interface Flags {
  repository: string;
  pr?: number;
  head: string;
  base: string;
  matrix?: string;
  policy?: string;
  tip?: string;
  valid: number;
  out?: string;
}

const MOST_DAYS = 90;
const WEEK_MS = 7 * 86_400_000;

export function register(program: Command): void {
  program
    .command('challenge')
    .description('issue a challenge: the question that a run must answer, for one change and matrix')
    .requiredOption('--repository <url>', 'what the change is a change of: https://github.com/org/engine')
    .option('--pr <number>', 'number of the pull request', wholeNumber(1, 999_999_999))
    .requiredOption('--head <ref>', 'the change: a full commit, or a name in the git repository here')
    .requiredOption('--base <ref>', 'what it is compared against, in the same way')
    .option(
      '--matrix <matrix>',
      `what is asked for, a name or a file (default: the one that --policy requires, else ${DEFAULT_MATRIX})`,
    )
    .option('--policy <file>', 'the policy of the gate that will read the answer')
    .option('--tip <ref>', 'of the branch it is merged into: refuses what its rules would count no answer to')
    .option('--valid <duration>', 'how long a run may begin: 30m, 12h (default: 7d)', durationUpTo(MOST_DAYS))
    .option('--out <file>', 'write it there, into a new file (default: print it)')
    .addHelpText(
      'after',
      '\nWhoever wants the claim proved issues the challenge and keeps it; whoever\n' +
        'measures answers it with `qualify pr --challenge FILE` (or run, or compare).\n' +
        'Its nonce seeds every prompt and the order, so that the answer was made after\n' +
        'the challenge, and for this change. `qualify verify RUN --challenge FILE` checks\n' +
        'the answer. Nothing in it is secret once the run may begin.',
    )
    .action(async (flags: Flags) => {
      const { challenge, matrix } = await issue(flags, new Date());
      const text = `${JSON.stringify(challenge, null, 2)}\n`;
      if (flags.out === undefined) {
        answer(text);
        return;
      }
      await writeNew(flags.out, text);
      answer(flags.out);
      note(
        `To answer it, by ${challenge.expiresAt}: qualify pr --challenge ${shellPath(flags.out)}` +
          `${matrix === challenge.matrix.name ? '' : ` --matrix ${shellPath(matrix)}`}`,
      );
    });
}

/** The challenge, and its matrix as `--matrix` takes it. */
async function issue(flags: Flags, now: Date): Promise<{ challenge: Challenge; matrix: string }> {
  const policy = flags.policy === undefined ? null : openPolicy(flags.policy);
  const { name, matrix } = await askedMatrix(flags.matrix, policy);
  const [head, base] = [await commitOf(flags.head), await commitOf(flags.base)];
  if (head === base)
    throw new QualifyError('ERR_QUALIFY_USAGE', `Head and base are the same commit, ${short(head)}.`, {
      exit: 'usage',
      hint: 'A challenge asks about a change: give the commit that it starts from as --base.',
    });
  if (flags.tip !== undefined) {
    if (policy === null)
      throw new QualifyError('ERR_QUALIFY_USAGE', '--tip means nothing without --policy', {
        exit: 'usage',
        hint: 'Give --policy FILE too: it says how many commits the base may be behind.',
      });
    const tip = await tipAt('.', flags.tip);
    await requireRulesOfTip(tip, policy, matrix);
    await requireFreshBase(tip, policy, base);
  }
  const parsed = challengeSchema.safeParse({
    schemaVersion: 1,
    nonce: randomBytes(32).toString('base64url'),
    repository: flags.repository,
    pullRequest: flags.pr ?? null,
    head,
    base,
    matrix: { name: matrix.name, digest: matrixDigest(matrix) },
    policy: policy && sha256(policy.bytes),
    issuedAt: now.toISOString(),
    expiresAt: new Date(now.getTime() + (flags.valid ?? WEEK_MS)).toISOString(),
  } satisfies Challenge);
  if (parsed.success) return { challenge: parsed.data, matrix: name };
  const [issueFound] = parsed.error.issues;
  throw new QualifyError('ERR_QUALIFY_USAGE', `${issueFound?.path.join('.')}: ${issueFound?.message}`, {
    exit: 'usage',
    hint: 'The repository is its address, of at most 300 characters.',
  });
}

/** A full commit is taken as it is: whoever issues a challenge need not have the sources. */
async function commitOf(name: string): Promise<string> {
  if (/^[0-9a-f]{40}$/.test(name)) return name;
  const resolved = await resolveRevision(name, process.cwd()).catch((error: unknown) => {
    if (!(error instanceof QualifyError) || error.code !== 'ERR_QUALIFY_REVISION') throw error;
    // What else a revision may be elsewhere, a challenge does not ask for.
    throw new QualifyError(error.code, error.message, {
      exit: 'usage',
      hint: 'Give a branch, a tag or a commit of this repository (git fetch gets what others have), or all 40 digits of a commit that need not be here.',
      cause: error,
    });
  });
  if (resolved.kind === 'commit') return resolved.commit;
  throw new QualifyError('ERR_QUALIFY_USAGE', `${name} is no commit, and a challenge asks for commits.`, {
    exit: 'usage',
    hint: 'Commit the change and name the commit or its branch.',
  });
}

function openPolicy(path: string): PolicyOnDisk {
  const bytes = readPolicy(path);
  return { path, bytes, policy: parsePolicy(bytes, path) };
}

function readPolicy(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new QualifyError(
      'ERR_QUALIFY_USAGE',
      `The policy ${path} cannot be read (${(cause as NodeJS.ErrnoException).code}).`,
      {
        exit: 'usage',
        where: path,
        hint: 'Give the file that the gate reads: qualify.policy.yaml.',
        cause,
      },
    );
  }
}
