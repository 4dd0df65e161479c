/** `qualify github`: what a workflow posts of a gate's decision, as files. */
import { type Command, InvalidArgumentError } from 'commander';
import { isPlainUrl } from '../gate/github/render.js';
import { writeGithub } from '../gate/github/write.js';
import { readDecision } from '../gate/read-decision.js';
import { answer, answerJson } from './output.js';

interface Options {
  decision: string;
  out: string;
  id?: string;
  checkName: string;
  runUrl?: string;
  json?: true;
}

function plainUrl(text: string): string {
  if (!isPlainUrl(text)) throw new InvalidArgumentError('It must be a plain https address.');
  return text;
}

export function register(program: Command): void {
  program
    .command('github')
    .description("write what GitHub shows of a gate's decision: summary, comment, check run, annotations")
    .requiredOption('--decision <file>', 'what `qualify gate --json` printed')
    .requiredOption('--out <folder>', 'where the files go; those of the same names are replaced')
    .option('--id <id>', 'tells comments of several policies apart (default: path of the policy)')
    .option('--check-name <name>', 'name of the check run, as branch protection requires it', 'qualify')
    .option('--run-url <url>', "address of the workflow's run, for a link", plainUrl)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Nothing is sent anywhere: a workflow posts the files.
  summary.md        for $GITHUB_STEP_SUMMARY, at most 1 MiB
  comment.md        one comment, found again by its first line, at most 65,536
                    characters
  check-run.json    for gh api repos/OWNER/REPO/check-runs --input FILE
  annotations.txt   workflow commands, for the output of a step
  outputs.txt       result and exit-code, for $GITHUB_OUTPUT
Exits 0 once they are written, whatever the decision is. docs/ci.md has the
workflows.`,
    )
    .action(async ({ decision, out, json, ...options }: Options) => {
      const paths = await writeGithub(readDecision(decision), out, options);
      if (json) answerJson({ schemaVersion: 1, files: paths });
      else answer(paths.map((path) => `${path}\n`).join(''));
    });
}
