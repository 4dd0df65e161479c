/** `qualify waive`: a maintainer signs that one cell of one change may pass in spite of its result. */
import { dirname } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { type BaseRules, readBaseRules } from '../gate/base-rules.js';
import { headOf, mainHas, repositoryAt, subjectOf } from '../gate/commits.js';
import { WAIVER_ENDING } from '../gate/find-waivers.js';
import { MOST_WAIVER_DAYS, POLICY_FILE } from '../gate/policy.js';
import { requireWaivable } from '../gate/waivable.js';
import { signWaiver, waiverOf } from '../gate/waiver.js';
import { unwritable, writeNew } from '../machine/write-new.js';
import { makeFolder } from '../make-folder.js';
import { loadSigningKey } from '../manifest/signing-key.js';
import { nameSchema } from '../matrix/schema.js';
import { durationUpTo } from './options.js';
import { answer, note, printable } from './output.js';

interface Options {
  head: string;
  matrix: string;
  cell: string;
  reason: string;
  expires: number;
  key?: string;
  out: string;
  repository: string;
  policy?: string;
  base?: string;
}

const HELP = `
A waiver is for one commit (or another one of the same tree, or its merge onto
the base, as a merge queue makes it), one matrix, one cell, and a time. It
reaches cells that failed or stayed undecided, never a refusal, a run that does
not verify, or evidence that is missing. The gate takes it from a key with the
role "maintainer", and says WAIVED before anything else. What no gate could use
by the rules of the base as they are now (a matrix or cell that they do not
protect, a longer time, a key that is no maintainer's) is not signed.

  qualify waive --head HEAD --matrix prefill-short-pr --cell 2048/2048 \\
    --reason 'slower until #647 lands' --expires 14d \\
    --out waivers/2048.waiver.json`;

export function register(program: Command): void {
  program
    .command('waive')
    .description('sign that one cell of one change may pass in spite of its result, until a date')
    .requiredOption('--head <ref>', 'the change: a commit, branch or tag of the repository')
    .requiredOption('--matrix <name>', 'name of the matrix', parseName)
    .requiredOption('--cell <id>', 'id of the cell, as the gate prints it')
    .requiredOption('--reason <text>', 'why, for everybody who reads the decision', parseReason)
    .requiredOption('--expires <time>', 'for how long: 14d, 12h', durationUpTo(MOST_WAIVER_DAYS))
    .requiredOption('--out <file>', `where to write it; the gate reads what ends in ${WAIVER_ENDING}`)
    .option('--key <name>', 'the key that signs (default: the one that signs your runs)')
    .option('--repository <folder>', 'a folder of the repository', '.')
    .option('--base <ref>', 'where the rules are read that it is checked by (default: the main branch)')
    .option('--policy <file>', `path of the policy there (default: ${POLICY_FILE})`)
    .addHelpText('after', HELP)
    .action(async (options: Options) => {
      const { matrix, cell, reason, out } = options;
      const repository = await repositoryAt(options.repository);
      const head = await headOf(repository, options.head);
      const key = await loadSigningKey(options.key);
      const now = Date.now();
      const issuedAt = new Date(now).toISOString();
      const expiresAt = new Date(now + options.expires).toISOString();
      const terms = { matrix, cell, reason, head, issuedAt, expiresAt };
      const waiver = waiverOf(terms, key.publicKey.keyId);
      const rules = await rulesOf(repository, options);
      if (rules === null)
        note('Not checked: the main branch has no policy here (--base REF, --policy FILE name another one).');
      else requireWaivable(waiver, head, rules, issuedAt);
      makeFolderOf(out);
      await writeNew(out, await signWaiver(waiver, key));
      if (!out.endsWith(WAIVER_ENDING)) note(`The gate reads only files that end in ${WAIVER_ENDING}.`);
      const subject = printable(await subjectOf(repository, head.commit));
      answer(
        `${out}: ${cell} of ${matrix} at ${head.commit} (${subject}), until ${expiresAt}, by ${key.publicKey.keyId}`,
      );
    });
}

/** The rules that a gate would read; null where the main branch has none, unless it was said where they are. */
async function rulesOf(repository: string, { policy, base }: Options): Promise<BaseRules | null> {
  const path = policy ?? POLICY_FILE;
  const isSaid = policy !== undefined || base !== undefined;
  if (!isSaid && !(await mainHas(repository, path))) return null;
  return readBaseRules({ repository, policy: path, ...(base !== undefined && { base }) });
}

function makeFolderOf(path: string): void {
  try {
    makeFolder(dirname(path));
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

function parseName(text: string): string {
  const parsed = nameSchema.safeParse(text);
  if (!parsed.success) throw new InvalidArgumentError('It is no name of a matrix.');
  return parsed.data;
}

function parseReason(text: string): string {
  const trimmed = text.trim();
  // Spaces that are not seen make no reason either.
  if (!/[\p{L}\p{N}]/u.test(trimmed) || trimmed.length > 1000)
    throw new InvalidArgumentError('Say why, in words, in at most 1000 characters.');
  return trimmed;
}
