/** A path, a revision or a name in a command that people paste. Pure. */

/** What every POSIX shell takes as it stands, a tilde not at the beginning. */
const PLAIN = /^[\p{L}\p{N}_.,/@:+%-][\p{L}\p{N}_.,/@:+%~-]*$/u;

/** The text as one word of a POSIX shell: in single quotes where it needs them, else as it is. */
export const shellWord = (text: string): string =>
  PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The path as one word of a POSIX shell that no command takes for an option. */
export const shellPath = (path: string): string => shellWord(path.startsWith('-') ? `./${path}` : path);
