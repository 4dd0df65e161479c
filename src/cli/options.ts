/** Parsers of option values; what they refuse ends as a usage error that names the option. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { QualifyError } from '../errors.js';

/**
 * Refuses a file or folder of no name, as an unset variable of a script gives one: to node it is the folder where one stands.
 * @throws QualifyError `ERR_QUALIFY_USAGE` (exit 64)
 */
export function refuseUnnamed(command: Command): void {
  for (const option of command.options) {
    if (!/<(file|folder)(\.\.\.)?>/.test(option.flags)) continue;
    const value: unknown = command.getOptionValue(option.attributeName());
    if (value !== '' && !(Array.isArray(value) && value.includes(''))) continue;
    throw new QualifyError('ERR_QUALIFY_USAGE', `${option.long} is empty`, {
      exit: 'usage',
      hint: 'Name a file or folder, or leave the option out.',
    });
  }
}

/** A parser of whole numbers in a range. */
export function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d{1,15}$/.test(text) || value < minimum || value > maximum) {
      throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`);
    }
    return value;
  };
}

/** A parser of percents above 0, as `3%`, `3` or `2.5 %`. */
export function percentUpTo(maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(/^(\d{1,3}(?:\.\d{1,6})?) ?%?$/.exec(text.trim())?.[1] ?? Number.NaN);
    if (!(value > 0 && value <= maximum))
      throw new InvalidArgumentError(`It must be a percentage above 0 and up to ${maximum}, such as 3%.`);
    return value;
  };
}

const UNIT_MS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A parser of durations as `30m`, `12h` or `7d`, up to a number of days. Answers milliseconds. */
export function durationUpTo(days: number): (text: string) => number {
  return (text) => {
    const [, count, unit = ''] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? [];
    const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN);
    if (ms <= days * 86_400_000) return ms;
    throw new InvalidArgumentError(`Write it as 30m, 12h or 7d, up to ${days}d.`);
  };
}

/** `NAME=VALUE` of a switch, collected into one record. */
export function switchValue(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('Write it as NAME=VALUE, the name in capitals.');
  if (name in before) throw new InvalidArgumentError(`${name} is given twice.`);
  return { ...before, [name]: value };
}

/** `--lever NAME=VALUE`, which may be given more than once. */
export const leverOption = (): Option =>
  new Option(
    '--lever <name=value>',
    'a switch that the change brings, at the value that turns it off (may be repeated)',
  ).argParser(switchValue);

/** Most that may be planted. */
export const MOST_PLANTED = 50;

/** `--plant-slowdown 3%`. */
export const plantOption = (): Option =>
  new Option(
    '--plant-slowdown <percent>',
    'slow down every arm but the first, to see that it is found; never a qualification',
  ).argParser(percentUpTo(MOST_PLANTED));

/** `--cell ID`, which may be given more than once. */
export const cellOption = (): Option =>
  new Option(
    '--cell <id>',
    'only this cell of the matrix (may be repeated): a quick look, no qualification',
  ).argParser((id: string, before: string[] | undefined) => [...(before ?? []), id]);
