/** Parsers of option values; what they refuse ends as a usage error that names the option. */
import { InvalidArgumentError, Option } from 'commander';

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

/** `--cell ID`, which may be given more than once. */
export const cellOption = (): Option =>
  new Option(
    '--cell <id>',
    'only this cell of the matrix (may be repeated): a quick look, no qualification',
  ).argParser((id: string, before: string[] | undefined) => [...(before ?? []), id]);
