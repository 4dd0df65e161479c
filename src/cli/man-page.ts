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
  return pieces.join('').replace(bare, '').replace(/^\n+/, '').trimEnd();
}

/** Columns of a page, and of the indent of what is shown as it is. */
const WIDTH = 80;
const INDENT = 9;

/** Prose of a help is filled; lines that begin with a space stay as they are, indented as far as they leave room. */
function roffText(text: string): string[] {
  const isKept = (line: string): boolean => line.startsWith(' ');
  const lines = text.split('\n');
  return lines.flatMap((line, at) => {
    const before = lines[at - 1] ?? '';
    if (line === '') return [];
    if (!isKept(line)) return [...(before === '' || isKept(before) ? ['.PP'] : []), roff(line)];
    if (isKept(before)) return [];
    const rest = lines.slice(at);
    const end = rest.findIndex((one) => !isKept(one));
    const kept = end === -1 ? rest : rest.slice(0, end);
    const margin = Math.min(...kept.map((one) => one.length - one.trimStart().length));
    const widest = Math.max(...kept.map((one) => one.length - margin));
    const indent = Math.max(0, Math.min(INDENT, WIDTH - widest));
    return ['.PP', '.nf', `.in ${indent}n`, ...kept.map((one) => roff(one.slice(margin))), '.in', '.fi'];
  });
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
    ...roffText(after),
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
    item('.qualify/bisect/ID', 'bisections: bisect.json and their run folders'),
    item('.qualify/history.jsonl', 'what qualify history knows of past runs; can be deleted at any time'),
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
