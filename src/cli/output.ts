/**
 * What a command says: its answer on stdout, everything else on stderr. Colour where a person looks and has not asked
 * for none; a progress line that rewrites itself on a terminal and is a few plain lines in a log.
 */
import { styleText } from 'node:util';
import { unsafe } from '../report/escape.js';

type Format = Parameters<typeof styleText>[0];

/** Whether colour suits a stream: `NO_COLOR` forbids, `FORCE_COLOR` demands, else a terminal that is not dumb. */
export function wantsColour(isTty: boolean, environment: NodeJS.ProcessEnv = process.env): boolean {
  if (environment.NO_COLOR) return false;
  if (environment.FORCE_COLOR !== undefined) return environment.FORCE_COLOR !== '0';
  return isTty && environment.TERM !== 'dumb';
}

/** `text` in a style where the stream is to be coloured, plain elsewhere. */
export function styled(format: Format, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return wantsColour(stream.isTTY === true) ? styleText(format, text) : text;
}

/** Writes the answer, ended by one line feed. */
export function answer(text: string): void {
  process.stdout.write(inert(text.endsWith('\n') ? text : `${text}\n`));
}

/** Writes one JSON document as the answer. */
export function answerJson(value: unknown): void {
  answer(JSON.stringify(value, null, 2));
}

/** Says something beside the answer. */
export function note(text: string): void {
  process.stderr.write(inert(text.endsWith('\n') ? text : `${text}\n`));
}

/** A piece of work that goes on. */
interface Progress {
  /** `share` from 0 to 1 where it is known. */
  update(text: string, share?: number | null): void;
  /** Takes the line away, or says a last word. */
  end(text?: string): void;
}

const REDRAW_MS = 100;
const PLAIN_STEP = 0.25;

const writeLine = (stream: NodeJS.WriteStream, text: string): boolean =>
  stream.write(inert(`${printable(text)}\n`));

function onTerminal(stream: NodeJS.WriteStream): Progress {
  let drawnAt = Number.NEGATIVE_INFINITY;
  const clear = () => stream.write('\r\u001b[2K');
  return {
    update(text) {
      const now = performance.now();
      if (now - drawnAt < REDRAW_MS) return;
      drawnAt = now;
      clear();
      stream.write(printable(text).slice(0, Math.max(20, (stream.columns ?? 80) - 1)));
    },
    end(text) {
      if (drawnAt > Number.NEGATIVE_INFINITY) clear();
      if (text !== undefined) writeLine(stream, text);
    },
  };
}

function inLog(stream: NodeJS.WriteStream): Progress {
  let next = 0;
  let last = 0;
  return {
    update(text, share) {
      if (share === undefined || share === null) return;
      // Another piece of work begins.
      if (share < last) next = 0;
      last = share;
      if (share < next) return;
      next = (Math.floor(share / PLAIN_STEP) + 1) * PLAIN_STEP;
      writeLine(stream, text);
    },
    end(text) {
      if (text !== undefined) writeLine(stream, text);
    },
  };
}

/** Progress on stderr: one line that rewrites itself on a terminal, a line every quarter of the work elsewhere. */
export function startProgress(stream: NodeJS.WriteStream = process.stderr): Progress {
  return stream.isTTY === true ? onTerminal(stream) : inLog(stream);
}

/** As JSON spells a character by its number; none of the unsafe ones needs two. */
const spelt = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** `text` with control characters made visible, so that no engine's output can drive the terminal. */
export const printable = (text: string): string =>
  text.replace(unsafe, (character) => ('\t\n'.includes(character) ? character : spelt(character)));

/**
 * `text` without what a CI service takes for a command (`::name …::` at the start of a line, `##[name]` and `##vso[name]` anywhere) and
 * what steers a terminal. The spelling that stands there instead means the same in JSON.
 */
export function inert(text: string): string {
  return (
    text
      .replace(/^((?:[^\S\r\n\u2028\u2029]|\x85)*):(?=:)/gm, '$1\\u003a')
      .replace(/##(?=\w*\[)/g, '#\\u0023')
      // Below are escapes, with which we colour; JSON leaves none of them.
      .replace(unsafe, (character) => (character < '\x7f' ? character : spelt(character)))
  );
}

/** `1.5 MB`: bytes as people read them, in powers of 1000. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${bytes} B` : `${value.toFixed(1)} ${units[unit]}`;
}
