/** Ctrl-C and SIGTERM as an `AbortSignal`: the first asks everything to end in order, a second one ends at once. */
import { QualifyError } from '../errors.js';

let controller: AbortController | undefined;

/**
 * The signal that aborts on SIGINT, SIGTERM or SIGHUP, with a `QualifyError` of exit `notMeasured` as its reason. The
 * handlers are installed at the first call; without it the system's default applies.
 */
export function interruptSignal(): AbortSignal {
  if (controller !== undefined) return controller.signal;
  const made = new AbortController();
  controller = made;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      // Not a number below 10 or a verdict's: 128 and up is what a shell calls ended by a signal.
      if (made.signal.aborted) process.exit(130);
      made.abort(
        new QualifyError('ERR_QUALIFY_INTERRUPTED', `interrupted by ${name}`, { exit: 'notMeasured' }),
      );
    });
  }
  return made.signal;
}
