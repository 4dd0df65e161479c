/** Output that nobody gets: a pipe that is closed, a disk that is full. */
import { QualifyError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { describeError } from './describe-error.js';
import { note } from './output.js';

/**
 * A reader that has gone (`qualify … | head`) is no failure of ours. An answer that cannot be written, as on a full disk, is one of the
 * infrastructure, whatever the command came to; what it made stays. Of notes that cannot be written nobody can be told.
 */
export function bearLostOutput(): void {
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    note(describeError(lostAnswer(error)));
    // After the command has set its own.
    process.once('exit', () => {
      process.exitCode = EXIT.infrastructure;
    });
  });
}

const lostAnswer = (cause: NodeJS.ErrnoException): QualifyError =>
  new QualifyError('ERR_QUALIFY_OUTPUT', 'The answer cannot be written to stdout.', {
    exit: 'infrastructure',
    where: cause.message,
    hint: 'See where stdout leads. A run that was made is whole: qualify report prints it again.',
    cause,
  });
