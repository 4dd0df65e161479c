/** `qualify gate`: whether a change may be merged, by the rules of its base and the evidence that is there. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { repositoryAt } from '../gate/commits.js';
import { renderCtrf } from '../gate/ctrf.js';
import { WAIVERS_FOLDER } from '../gate/find-waivers.js';
import { gate } from '../gate/gate.js';
import { renderSummary } from '../gate/github/render.js';
import { writeGithub } from '../gate/github/write.js';
import { renderJunit } from '../gate/junit.js';
import { POLICY_FILE } from '../gate/policy.js';
import { rulesOnDisk } from '../gate/rules.js';
import { renderGateText } from '../gate/text.js';
import { TRUST_FILE } from '../manifest/trust-policy.js';
import { RUNS } from './find-run.js';
import { clearOutputs } from './gate-outputs.js';
import { answer, answerJson, note } from './output.js';
import { writeAnswer } from './write-answer.js';

interface Options {
  policy: string;
  head: string;
  base?: string;
  repository: string;
  manifests?: string[];
  waivers?: string[];
  challenge?: string[];
  attestations?: string[];
  policyFromDisk?: true;
  json?: true;
  markdown?: string;
  junit?: string;
  ctrf?: string;
  github?: string;
}

const HELP = `
The policy says what must have been qualified: matrices, machines, rounds. It,
the trust policy and the matrices are read from the base revision, never from
the change. Every run that is found is verified in full and judged; all that
count for this head decide together, each cell by its worst run.

Exits 0 when all requirements hold (also when a cell was waived, which every
output says first), 10 when a cell fails, 11 when one is undecided, 12 when
evidence is missing, 13 to 15 when a run that counts was refused, 16 when
evidence is missing and a run that was offered does not verify.

An option that takes several (...) may also be given several times.

  qualify gate --head HEAD
  qualify gate --head $SHA --base origin/main --manifests incoming --json`;

export function register(program: Command): void {
  program
    .command('gate')
    .description('decide whether a change may be merged, by a policy and the signed runs that are there')
    .requiredOption('--head <ref>', 'the change: a commit, branch or tag of the repository')
    .option(
      '--base <ref>',
      'where it is to be merged, and the rules are read (default: the main branch of origin)',
    )
    .option('--policy <file>', 'path of the policy below the root of the repository', POLICY_FILE)
    .option('--manifests <folder...>', `where runs are (default: manifests and ${RUNS})`)
    .option('--waivers <folder...>', 'where waivers are (default: waivers)')
    .option('--challenge <file...>', 'challenges that were issued for this change')
    .option('--attestations <file...>', 'summaries that verifiers signed')
    .option('--repository <folder>', 'a folder of the repository', '.')
    .option('--policy-from-disk', 'take the rules from the working tree: for trying them out')
    .option('--json', 'print the decision as JSON')
    .option('--markdown <file>', 'write it as Markdown, too: the summary that GitHub shows')
    .option('--junit <file>', 'write it as JUnit XML, too')
    .option('--ctrf <file>', 'write it as CTRF JSON, too')
    .option('--github <folder>', 'write what GitHub shows of it, too, as `qualify github` does')
    .addHelpText('after', HELP)
    .action(async (options: Options) => {
      const manifests = options.manifests ?? ['manifests', RUNS].filter((folder) => existsSync(folder));
      const waivers = options.waivers ?? [WAIVERS_FOLDER].filter((folder) => existsSync(folder));
      const { repository, challenge: challenges = [], attestations = [] } = options;
      // Where there is no repository the gate says so, and what an earlier one wrote goes all the same.
      const root = await repositoryAt(repository).catch(() => repository);
      const onDisk = options.policyFromDisk ? await rulesOnDisk(root, options.policy) : [];
      const rules = [options.policy, TRUST_FILE, ...onDisk].map((path) => join(root, path));
      await clearOutputs({
        files: [options.markdown, options.junit, options.ctrf],
        github: options.github,
        reads: [...manifests, ...waivers, ...challenges, ...attestations, ...rules],
      });
      const decision = await gate({
        repository,
        policy: options.policy,
        head: options.head,
        ...(options.base !== undefined && { base: options.base }),
        manifests,
        waivers,
        challenges,
        attestations,
        policyFromDisk: options.policyFromDisk === true,
        onProgress: note,
      });
      const files: [string | undefined, (of: typeof decision) => string][] = [
        [options.markdown, (of) => renderSummary(of)],
        [options.junit, renderJunit],
        [options.ctrf, renderCtrf],
      ];
      for (const [path, render] of files)
        if (path !== undefined) await writeAnswer(path, render(decision), { inFolder: true });
      if (options.github !== undefined) await writeGithub(decision, options.github);
      if (options.json) answerJson(decision);
      else answer(renderGateText(decision));
      process.exitCode = decision.exitCode;
    });
}
