/** `qualify switches`: which switches of the engine matter, and by how much. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { stringify } from 'yaml';
import { type AblationOptions, ablationMatrix } from '../matrix/ablate.js';
import { switchWarnings } from '../matrix/switch-names.js';
import { engineRepository } from '../revision/resolve.js';
import { onWorktree, worktreeNotice } from './left-to-pr.js';
import { answer, note } from './output.js';
import { loadRealMatrix } from './real-matrix.js';
import { runAndPrint, type SessionFlags, sessionOptions } from './session-command.js';

const DEFAULT_MATRIX = 'switches';
/** One at a time every switch is measured in two arms only; a design measures each in all of its arms. */
const ROUNDS = { 'one-at-a-time': 6, 'folded-plackett-burman': 2 } as const;
/** So that `without-SWITCH` is still a name of an arm. */
const LONGEST_NAME = 56;

type Factor = NonNullable<AblationOptions['factors']>[number];

interface SwitchesFlags extends SessionFlags {
  switch?: Factor[];
  design: boolean;
  from: 'off' | 'on';
  print: boolean;
}

/** `NAME=LOW,HIGH`, once more for each switch. */
function switchFactor(text: string, before: Factor[] = []): Factor[] {
  const parts = /^([A-Z][A-Z0-9_]*)=([^,]*),(.*)$/.exec(text);
  const [, name = '', low = '', high = ''] = parts ?? [];
  if (parts === null || low === high) {
    throw new InvalidArgumentError('It must be NAME=LOW,HIGH with two levels, such as MY_SWITCH=0,1.');
  }
  if (name.length > LONGEST_NAME)
    throw new InvalidArgumentError(`A name has at most ${LONGEST_NAME} letters.`);
  return [...before, { switch: name, low, high }];
}

const HELP = `
One at a time (the default), every switch is taken away from all on, or with
--from off put onto all off, in 6 rounds. Each is measured against one arm
only, and what two switches do together is not seen.

With --design every arm has about half of the switches on, and every switch is
measured in all arms: up to 8 switches in 16 arms, 12 in 24, 16 in 32; 2 rounds.
Effects of single switches are free of those of pairs; pairs are shown as
something to look at.

Exit 0 says that every proof holds (cold, equal outputs, kernels that ran) and
nothing about budgets: an ablation qualifies nothing. Percentages of switches
are never multiplied; all on against all off is measured beside them.`;

export function register(program: Command): void {
  sessionOptions(
    program
      .command('switches')
      .description('which switches matter: the effect of each, with intervals that hold together')
      .argument(
        '[matrix]',
        'cells, model and protocol; its first arm has the switches off, its last has them on',
        DEFAULT_MATRIX,
      )
      .addOption(
        new Option(
          '--switch <NAME=LOW,HIGH>',
          'a switch and its two levels (may be repeated; default: those that the matrix turns on)',
        ).argParser(switchFactor),
      )
      .option('--design', 'vary all switches at once, by a folded Plackett-Burman design', false)
      .addOption(
        new Option('--from <level>', 'the level of switches that are not being flipped')
          .choices(['off', 'on'])
          .default('on'),
      )
      .option('--print', 'print the matrix that would run, and run nothing', false),
  )
    .addHelpText('after', HELP)
    .action(async (name: string, flags: SwitchesFlags) => {
      const kind = flags.design ? 'folded-plackett-burman' : 'one-at-a-time';
      const repository = await engineRepository(process.cwd());
      const { matrix: asked, left } = await onWorktree(loadRealMatrix(name), repository);
      if (left.length > 0) note(worktreeNotice(name, left));
      const matrix = ablationMatrix(asked, {
        kind,
        from: flags.from,
        factors: flags.switch,
        rounds: flags.rounds ?? ROUNDS[kind],
        cells: flags.cell,
      });
      if (flags.print) {
        for (const warning of switchWarnings(matrix.arms, matrix.design)) note(`warning: ${warning}`);
        answer(stringify(matrix, { aliasDuplicateObjects: false }));
      } else {
        const { rounds: _rounds, cell: _cell, ...session } = flags;
        await runAndPrint(matrix, repository, session);
      }
    });
}
