/** `qualify completion`: what a shell needs to complete command lines, and (hidden) the answers that it asks for. */
import { readdirSync } from 'node:fs';
import type { ArgumentHandler, OptionHandler } from '@bomb.sh/tab';
import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { builtInNames } from '../matrix/built-in.js';
import { SESSION } from '../plan/schema.js';
import { RUNS } from './find-run.js';
import { answer } from './output.js';

/** Names of arguments and options that take a matrix, or a run. */
const MATRIX = 'matrix';
const RUN = /^run(-[a-z]+)?$/;

const offerMatrices: ArgumentHandler & OptionHandler = (complete) => {
  for (const name of builtInNames()) complete(name, 'built-in matrix');
};

const offerRuns: ArgumentHandler = (complete) => {
  for (const name of sessions().toReversed()) complete(name, 'session');
};

/**
 * Names of the sessions below the folder of the shell, oldest first; none where there is no such folder. Only what a session can be
 * called: bash expands what it is offered (`compgen -W`), so that a folder `$(command)` in somebody's checkout would run. All else
 * that is offered is ours, and the words that the script evaluates are those that the user typed.
 */
function sessions(): string[] {
  try {
    return readdirSync(RUNS, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && SESSION.test(entry.name))
      .map(({ name }) => name)
      .toSorted();
  } catch {
    return [];
  }
}

/**
 * For bash our own, shorter than the library's, which hands what was typed to `eval` and needs the package bash-completion. Words come one
 * a line before a tab; where none fits, bash completes names of files.
 */
const BASH_SCRIPT = `# bash completion of qualify: asks it for words, and runs nothing that was typed.
_qualify_complete() {
  local word
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do
    [[ $word == :* || $word != "\${COMP_WORDS[COMP_CWORD]}"* ]] || COMPREPLY+=("$word")
  done < <(qualify complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _qualify_complete qualify
`;

/** Adds `completion SHELL`, and `complete`, which its script calls. `program` must have every other command in full. */
export function register(program: Command): void {
  const completions = tab(program, { completionCommandName: 'completion' });
  const command = program.commands.find((one) => one.name() === 'completion');
  command
    ?.action((shell: string) => {
      if (shell === 'bash') answer(BASH_SCRIPT);
      else completions.setup('qualify', 'qualify', shell);
    })
    .description('print a script that makes your shell complete commands, options, matrices and runs')
    .addHelpText(
      'after',
      '\n  source <(qualify completion bash)                  this shell\n' +
        '  qualify completion bash >> ~/.bashrc               every later one\n' +
        '  qualify completion zsh > _qualify                  in a folder of $fpath\n' +
        '  qualify completion fish > ~/.config/fish/completions/qualify.fish\n\n' +
        '`qualify` must be on the PATH: `npm install --global`, or an alias of\n' +
        '`npx qualify`.',
    );
  for (const { arguments: all, options } of completions.commands.values()) {
    for (const [name, argument] of all) {
      if (name === MATRIX) argument.handler = offerMatrices;
      else if (RUN.test(name)) argument.handler = offerRuns;
    }
    const matrix = options.get(MATRIX);
    if (matrix !== undefined) matrix.handler = offerMatrices;
  }
}
