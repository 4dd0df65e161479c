/** Makes text of others harmless: an engine's name for a stage must not move the cursor, nor close a table. */

/** Control characters, line and paragraph separators, and marks that reverse the direction of text or are not seen. */
export const unsafe = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** Text of one line for a terminal: each unsafe character becomes `\u{…}`. */
export const plainText = (text: string): string =>
  text.replaceAll(unsafe, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);

/** Text for the message of an error, which quotes what strangers wrote: each unsafe character but those of `kept` becomes a `?`. */
export const masked = (text: string, kept = ''): string =>
  text.replace(unsafe, (character) => (kept.includes(character) ? character : '?'));

/** Text for Markdown, also inside of a table: nothing in it formats, links, mentions, is a picture or a formula of GitHub's, or ends a cell. */
export const markdownText = (text: string): string =>
  plainText(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/#(?=\w)/g, '&#35;<!-- -->')
    .replaceAll('@', '&#64;<!-- -->')
    .replaceAll(/[\\`*[\]|~]/g, (character) => `\\${character}`)
    .replaceAll(/(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/g, '\\_')
    .replaceAll('$', '&#36;<!-- -->')
    .replaceAll(/\bGH-(?=\d)/gi, (word) => `${word}<!-- -->`)
    // `:+1:` is a picture; what stands between two digits of a time is none.
    .replaceAll(/:(?=(?!\d\d:)[\w+-]+:)/g, ':<!-- -->')
    .replaceAll(/:\/\//g, ':<!-- -->//')
    .replaceAll(/\bwww(?=\.)/gi, (word) => `${word}<!-- -->`);

/** Text for HTML, between tags and inside of a quoted attribute alike. */
export const htmlText = (text: string): string =>
  plainText(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

/** A code span for Markdown tables: backquotes and bars cannot be in it, so they are replaced. */
export const markdownCode = (text: string): string =>
  `\`${plainText(text).replaceAll('`', "'").replaceAll('|', '/')}\``;

/** A field of a CSV file (RFC 4180) that no spreadsheet takes for a formula. */
export function csvField(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
