/** Documents of bounded length, cut between rows and nowhere else, so that no tag, table, escape or code span is left open. */
import { counted } from '../../counted.js';

/** A part of a document. Only rows can be left out, from the last on; what was left out is said below them. */
export interface Section {
  /** Lines that must be there. */
  head: readonly string[];
  /** Each is one line and whole by itself. */
  rows: readonly string[];
  /** Lines that close what `head` opened. */
  tail: readonly string[];
}

/** A section that is never cut. */
export const whole = (...head: string[]): Section => ({ head, rows: [], tail: [] });

const bytes = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);

/** An empty line before it: GitHub would take the line after a table for one of its rows. */
const note = (left: number): string[] =>
  left === 0 ? [] : ['', `${counted(left, 'more row')} left out here: GitHub limits the length.`];

/** A blank line between sections. */
const GAP = 1;
/** For the longest note. */
const NOTE = bytes(note(999_999_999));

/** Which rows of each section are shown, from the first on: all, or what fits when no section takes more than half of what is left. */
function share(sections: readonly Section[], room: number): (readonly string[])[] {
  if (sections.reduce((sum, { rows }) => sum + bytes(rows), 0) <= room)
    return sections.map(({ rows }) => rows);
  let left = room;
  return sections.map(({ rows }) => {
    let most = left / 2;
    const cut = rows.findIndex((row) => {
      most -= bytes([row]);
      return most < 0;
    });
    const shown = cut < 0 ? rows : rows.slice(0, cut);
    left -= bytes(shown);
    return shown;
  });
}

/**
 * The sections as one text of at most `limit` bytes of UTF-8, which is never fewer than the characters that GitHub counts.
 * @throws RangeError when heads and tails alone are longer: what is in them is bounded by whoever makes them.
 */
export function fit(sections: readonly Section[], limit: number): string {
  const fixed = sections.reduce((sum, { head, tail }) => sum + bytes(head) + bytes(tail) + NOTE + GAP, 0);
  if (fixed > limit) throw new RangeError(`the fixed parts have ${fixed} bytes, more than ${limit}`);
  const shown = share(sections, limit - fixed);
  const parts = sections.map(({ head, rows, tail }, index) => {
    const taken = shown[index] ?? [];
    return [...head, ...taken, ...note(rows.length - taken.length), ...tail].join('\n');
  });
  return `${parts.join('\n\n')}\n`;
}
