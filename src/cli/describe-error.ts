/** How a failure reads on a terminal. */
import type { QualifyError } from '../errors.js';
import { printable, styled } from './output.js';

/** A failure as people read it: what, where, what next, and the stable code. */
export function describeError(error: QualifyError): string {
  const lines = [`${styled('red', 'qualify:', process.stderr)} ${printable(error.message)}`];
  if (error.where !== undefined) lines.push(`  at:   ${printable(error.where)}`);
  if (error.hint !== undefined) lines.push(`  next: ${printable(error.hint)}`);
  lines.push(`  code: ${error.code}`);
  return lines.join('\n');
}
