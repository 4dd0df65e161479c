/** How a failure reads on a terminal. */
import type { QualifyError } from '../errors.js';
import { wrapWhole } from '../report/wrap.js';
import { printable, styled } from './output.js';

const WIDTH = 80;

/** `label text`, below itself where it is wider than a terminal. */
const hung = (label: string, text: string): string[] =>
  text
    .split('\n')
    .flatMap((line) => wrapWhole(line, WIDTH - label.length))
    .map((line, at) => (at === 0 ? label : ' '.repeat(label.length)) + line);

/**
 * A failure as people read it: what, where, what next, and the stable code. In 80 columns on a terminal; elsewhere each is one line, for
 * programs that look for it.
 */
export function describeError(error: QualifyError, onTerminal = process.stderr.isTTY === true): string {
  const part = (label: string, text: string): string[] =>
    onTerminal ? hung(label, text) : [`${label}${text}`];
  const [first = '', ...more] = part('qualify: ', printable(error.message));
  const lines = [first.replace('qualify:', styled('red', 'qualify:', process.stderr)), ...more];
  if (error.where !== undefined) lines.push(...part('  at:   ', printable(error.where)));
  if (error.hint !== undefined) lines.push(...part('  next: ', printable(error.hint)));
  lines.push(`  code: ${error.code}`);
  return lines.join('\n');
}
