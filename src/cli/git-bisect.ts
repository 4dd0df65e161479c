/**
 * `--bisect`: exit codes as `git bisect run` reads them. 0 is good, 125 cannot be tested, and every other code up to 127 is bad, so that a
 * mistyped option or a bug would make all commits bad: with this option, what is no answer ends the bisection instead.
 */
import { isOfTheCommit, judgementOf, type Outcome } from '../bisect/outcome.js';
import type { SessionResult } from '../session/session.js';

/** For the help of commands that take the option. */
export const BISECT_OPTION = '--bisect';

const codes: Readonly<Record<Outcome, number>> = { good: 0, bad: 1, undecided: 125, refused: 125 };

/** Ends `git bisect run`, as any code from 128 on does. */
const ABORT = 255;

type Ended = Pick<SessionResult, 'verdict' | 'failure'>;

/** The code of a session: of what it says of the commit, or the one that ends the bisection. */
export const gitBisectCode = ({ verdict, failure }: Ended): number =>
  failure !== null && !isOfTheCommit(failure) ? ABORT : codes[judgementOf(verdict, failure).outcome];

/** One line about that code, which is not the one that the report names. */
export function gitBisectLine(ended: Ended): string {
  const code = gitBisectCode(ended);
  const { outcome, word } = judgementOf(ended.verdict, ended.failure);
  if (code === ABORT) return `git bisect: ${code}, the bisection ends: ${word} is not of the commit`;
  return outcome === 'good' || outcome === 'bad'
    ? `git bisect: ${code}, ${outcome}: ${word}`
    : `git bisect: ${code}, skip: ${word} says neither good nor bad`;
}

/** Runs a command line; where `git bisect run` reads its code, what throws and every code that is none of an outcome ends the bisection. */
export async function forGitBisect(
  argv: readonly string[],
  run: () => Promise<number>,
  tell: (error: unknown) => void,
): Promise<number> {
  if (!argv.includes(BISECT_OPTION)) return run();
  // Node ends with 1 at what nobody caught, which would be "bad".
  process.once('uncaughtException', (error) => {
    tell(error);
    process.exit(ABORT);
  });
  try {
    const code = await run();
    return Object.values(codes).includes(code) ? code : ABORT;
  } catch (error) {
    tell(error);
    return ABORT;
  }
}
