/** The manual page, made of what `--help` says, so that the two cannot differ. */
import type { Argument, Command, Option } from 'commander';
import { EXIT } from '../exit-codes.js';
import { SIGNER_KEY_VARIABLE, SIGNER_VARIABLE } from '../manifest/external-signer.js';

/** Text for roff: no backslash, leading dot or quote of it is a request, and a minus is one that can be pasted. */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gm, '\\&');

const item = (term: string, text: string): string => `.TP\n\\fB${roff(term)}\\fR\n${roff(text)}`;

const optionItem = (option: Option): string => item(option.flags, option.description);
const argumentItem = (argument: Argument): string => item(argument.name(), argument.description);

/** The help that stands after the options, as it is printed. */
function textAfter(command: Command): string {
  const pieces: string[] = [];
  const bare = command.helpInformation();
  const writer = { ...command.configureOutput(), writeOut: (text: string) => pieces.push(text) };
  command.configureOutput(writer).outputHelp();
  return pieces.join('').replace(bare, '').trim();
}

function section(command: Command, path: string): string {
  const help = command.createHelp();
  const inner = command.commands.filter((one) => one.name() !== 'help');
  const after = textAfter(command);
  return [
    `.SS ${roff(`${path} ${help.commandUsage(command).replace(/^.*?(?=\[|<|$)/, '')}`.trim())}`,
    roff(command.description()),
    ...command.registeredArguments.map(argumentItem),
    ...help
      .visibleOptions(command)
      .filter(({ long }) => long !== '--help')
      .map(optionItem),
    ...(after === '' ? [] : ['.PP', '.nf', roff(after), '.fi']),
    ...inner.map((one) => section(one, `${path} ${one.name()}`)),
  ].join('\n');
}

/** Meaning of each exit code, in the words of `exit-codes.ts`. */
const exitTexts: Record<keyof typeof EXIT, string> = {
  pass: 'every required cell passed, or the command did what it was asked',
  overBudget: 'a cell is slower than its budget allows',
  inconclusive: 'measured and proved, but the samples do not decide',
  notMeasured: 'nothing was measured',
  parity: 'outputs differ, or prove nothing',
  unmatched: 'arms not comparable, coldness unproved, or something else was running',
  infrastructure: 'build, launch, lock or disk failed, not the change',
  invalid: 'a signature, a digest or a replayed number is wrong',
  usage: 'wrong flags, or a file of yours that does not parse',
  unsupported: 'qualify kernels: this CPU cannot run it',
};

/** `qualify.1`, in roff with the macros of man(7). `program` must have every command in full. */
export function renderManPage(program: Command): string {
  const commands = program.commands.filter((one) => !['help', 'complete'].includes(one.name()));
  const codes = Object.entries(EXIT).map(([name, code]) =>
    item(String(code), exitTexts[name as keyof typeof EXIT]),
  );
  return `${[
    '.TH QUALIFY 1 "" "qualify" "User Commands"',
    '.SH NAME',
    'qualify \\- qualify performance changes of a native LLM engine',
    '.SH SYNOPSIS',
    '.B qualify',
    '.I command',
    '[options]',
    '.SH DESCRIPTION',
    roff(program.description()),
    '.SH COMMANDS',
    ...commands.map((command) => section(command, command.name())),
    '.SH EXIT STATUS',
    ...codes,
    '.SH FILES',
    item('.qualify/runs/SESSION', 'run folders'),
    item('$XDG_CONFIG_HOME/qualify/keys', 'keys that sign, and keys that you trust'),
    item('$XDG_CACHE_HOME/qualify', 'builds and models'),
    '.SH ENVIRONMENT',
    item('NO_COLOR, FORCE_COLOR', 'colour never, or always'),
    item(
      SIGNER_VARIABLE,
      'program that signs in the place of a key of yours: a key in an agent, a token or a service',
    ),
    item(SIGNER_KEY_VARIABLE, 'the public key of that program'),
  ].join('\n')}\n`;
}
