/** `qualify resume`: goes on with a run that did not come to its end. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { engineRepository } from '../revision/resolve.js';
import { resumeSession } from '../session/resume.js';
import { findRun, RUN_ARGUMENT } from './find-run.js';
import { interruptSignal } from './interrupt.js';
import { withProgress } from './session-command.js';

interface Flags {
  wait?: true;
  json?: true;
}

export function register(program: Command): void {
  program
    .command('resume')
    .description('go on with a run that was killed, interrupted or broke: same plan, same order')
    .argument('<run>', RUN_ARGUMENT)
    .option('--wait', 'wait for the machine when another session measures on it')
    .option('--json', 'print verdict.json instead of the table')
    .addHelpText(
      'after',
      '\nLaunches that are whole count and are not repeated, nor are looks. The launch\n' +
        'that was under way is lost and repeated whole; the report names it. At most one\n' +
        'launch of a look, or a tenth of them, may be lost: beyond that the verdict is\n' +
        '"contaminated". An engine that fails twice in one launch is not started again.\n' +
        'Refused with exit code 14 on another machine, by another version of qualify, or\n' +
        'when builds or model are not the very same. Exits as `qualify run` does.',
    )
    .action(async (run: string, flags: Flags) => {
      const repository = await engineRepository(process.cwd());
      await withProgress(flags.json === true, (progress) =>
        resumeSession({
          runFolder: resolve(findRun(run)),
          repository,
          wait: flags.wait === true,
          progress,
          signal: interruptSignal(),
        }),
      );
    });
}
