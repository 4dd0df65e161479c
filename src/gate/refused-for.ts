/** Why something that was offered cannot be taken, as its reason beside its path says it. Pure. */
import { masked } from '../report/escape.js';

/**
 * What an error says of the file or folder at `path`, in one line: it stands beside the path, so that it begins with "it", and the faults
 * that an error puts on lines of their own follow each other.
 */
export function refusedFor(path: string, { message }: Error): string {
  const named = [path, masked(path, '\n')].find((name) => message.startsWith(`${name} `));
  const text = named === undefined ? message : `it${message.slice(named.length)}`;
  return text.replace(/:\n\s*/, ': ').replaceAll(/\n\s*/g, '; ');
}
