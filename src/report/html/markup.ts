/** HTML that is safe by construction: what is put into a template is escaped, unless a template made it. */
import { htmlText } from '../escape.js';

/** Text that is HTML already. Made by `html`, and by `trusted` of text that is ours. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What a template takes: text and numbers, which it escapes, and markup, alone or many. */
export type Part = string | number | Markup | readonly Part[];

function textOf(part: Part): string {
  if (part instanceof Markup) return part.text;
  if (typeof part === 'string' || typeof part === 'number') return htmlText(String(part));
  return part.map(textOf).join('');
}

/** A template of HTML, as in `` html`<p>${text}</p>` ``; attributes must be quoted. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Markup {
  return new Markup(
    strings.map((text, index) => text + (index < parts.length ? textOf(parts[index] ?? '') : '')).join(''),
  );
}

/** Markup of text that nobody else had a hand in. */
export const trusted = (text: string): Markup => new Markup(text);

/** Nothing. */
export const nothing = new Markup('');
