/** `qualify waive`: a maintainer signs that one cell of one change may pass in spite of its result. */

import { randomUUID } from 'node:crypto';
import { link, rm, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { QualifyError } from '../errors.js';
import { headOf, repositoryAt } from '../gate/commits.js';
import { WAIVER_ENDING } from '../gate/find-waivers.js';
import { signWaiver } from '../gate/waiver.js';
import { DEFAULT_KEY, loadKey } from '../manifest/key-store.js';
import { nameSchema } from '../matrix/schema.js';
import { answer, note } from './output.js';

interface Options {
  head: string;
  matrix: string;
  cell: string;
  reason: string;
  expires: number;
  key: string;
  out: string;
  repository: string;
}

const HELP = `
A waiver is for one commit (or another one of the same tree), one matrix, one
cell, and a time. It reaches cells that failed or stayed undecided, never a
refusal, a run that does not verify, or evidence that is missing. The gate takes
it from a key with the role "maintainer", and says WAIVED before anything else.

  qualify waive --head HEAD --matrix prefill-short-pr --cell 2048/2048 \\
    --reason 'slower until #647 lands' --expires 14d \\
    --out waivers/2048.waiver.json`;

const DAY_MS = 86_400_000;
const MOST_DAYS = 366;

export function register(program: Command): void {
  program
    .command('waive')
    .description('sign that one cell of one change may pass in spite of its result, until a date')
    .requiredOption('--head <ref>', 'the change: a commit, branch or tag of the repository')
    .requiredOption('--matrix <name>', 'name of the matrix', parseName)
    .requiredOption('--cell <id>', 'id of the cell, as the gate prints it')
    .requiredOption('--reason <text>', 'why, for everybody who reads the decision', parseReason)
    .requiredOption('--expires <time>', 'for how long: 14d, 12h', parseDuration)
    .requiredOption('--out <file>', `where to write it; the gate reads what ends in ${WAIVER_ENDING}`)
    .option('--key <name>', 'which of your keys signs', DEFAULT_KEY)
    .option('--repository <folder>', 'a folder of the repository', '.')
    .addHelpText('after', HELP)
    .action(async (options: Options) => {
      const { matrix, cell, reason, out } = options;
      const head = await headOf(await repositoryAt(options.repository), options.head);
      const key = await loadKey(options.key);
      const now = Date.now();
      const expiresAt = new Date(now + options.expires).toISOString();
      const terms = { matrix, cell, reason, head, issuedAt: new Date(now).toISOString(), expiresAt };
      await writeNew(out, await signWaiver(terms, key));
      if (!out.endsWith(WAIVER_ENDING)) note(`The gate reads only files that end in ${WAIVER_ENDING}.`);
      answer(`${out}: ${cell} of ${matrix} at ${head.commit}, until ${expiresAt}, by ${key.publicKey.keyId}`);
    });
}

function parseName(text: string): string {
  const parsed = nameSchema.safeParse(text);
  if (!parsed.success) throw new InvalidArgumentError('It is no name of a matrix.');
  return parsed.data;
}

function parseReason(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > 1000)
    throw new InvalidArgumentError('Say why, in at most 1000 characters.');
  return trimmed;
}

function parseDuration(text: string): number {
  const [, number, unit] = /^(\d{1,4})([dh])$/.exec(text.trim()) ?? [];
  const milliseconds = Number(number) * (unit === 'd' ? DAY_MS : DAY_MS / 24);
  if (!(milliseconds > 0 && milliseconds <= MOST_DAYS * DAY_MS))
    throw new InvalidArgumentError(`It must be a time of up to ${MOST_DAYS} days, such as 14d or 12h.`);
  return milliseconds;
}

/** Whole, and over nothing that is there. */
async function writeNew(path: string, text: string): Promise<void> {
  const partial = `${path}.${randomUUID()}.partial`;
  try {
    await writeFile(partial, text, { flag: 'wx' });
    await link(partial, path);
  } catch (cause) {
    const isThere = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST';
    throw new QualifyError(
      isThere ? 'ERR_QUALIFY_EXISTS' : 'ERR_QUALIFY_GATE_OUTPUT',
      isThere ? `${path} is there already` : `${path} cannot be written.`,
      {
        exit: isThere ? 'usage' : 'infrastructure',
        where: path,
        hint: isThere ? 'Give the waiver another name.' : 'Name a file in a folder that you may write to.',
        cause,
      },
    );
  } finally {
    await rm(partial, { force: true });
  }
}
