/** The one kind of error that a user can act on. All others are bugs and are thrown on. */
import { EXIT, type ExitName } from './exit-codes.js';

/** What a known failure carries besides its message. */
interface ErrorDetails {
  /** How the process exits. */
  exit: ExitName;
  /** The next thing to do, as a sentence or a command. */
  hint?: string;
  /** File and position, as `matrices/a.yaml:12:3`. */
  where?: string;
  cause?: unknown;
}

/**
 * A failure that the user can act on. `code` is stable API (`ERR_QUALIFY_…`); everything that is not a `QualifyError` is what the
 * system refuses (`system-error.ts`), or a bug of ours that is rethrown, never swallowed.
 */
export class QualifyError extends Error {
  readonly code: string;
  readonly exit: ExitName;
  readonly hint: string | undefined;
  readonly where: string | undefined;

  constructor(code: string, message: string, details: ErrorDetails) {
    super(message, { cause: details.cause });
    this.name = 'QualifyError';
    this.code = code;
    this.exit = details.exit;
    this.hint = details.hint;
    this.where = details.where;
  }

  get exitCode(): number {
    return EXIT[this.exit];
  }
}
