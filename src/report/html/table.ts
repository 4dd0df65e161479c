/** Tables of data: headings that a screen reader can tell, numbers that line up, and a frame that scrolls by itself. */
import { html, type Markup, nothing, type Part } from './markup.js';

interface Column {
  head: Part;
  /** Numbers are aligned at the right. */
  number?: boolean;
}

/** A frame that scrolls, with what is in it. */
const framed = (caption: string, kind: Markup, content: Markup): Markup =>
  html`<div class="scroll${kind}" role="region" aria-label="${caption}" tabindex="0">${content}</div>`;

/**
 * A table that a narrow screen shows as a list: of each line its heading, and below it field by field, with the head of the column beside it.
 * The heads are texts.
 */
export function stackedTable(
  caption: string,
  columns: readonly (Column & { head: string })[],
  lines: readonly (readonly Part[])[],
): Markup {
  const label = (index: number): Markup => html`<span class="label">${columns[index]?.head ?? ''}</span>`;
  return framed(caption, html` stack`, plainTable(caption, columns, lines, label));
}

/** A table. The first field of each line is its heading. `caption` is for those who do not see where it stands. */
export function table(
  caption: string,
  columns: readonly Column[],
  lines: readonly (readonly Part[])[],
): Markup {
  return framed(caption, nothing, plainTable(caption, columns, lines));
}

function plainTable(
  caption: string,
  columns: readonly Column[],
  lines: readonly (readonly Part[])[],
  label: (index: number) => Markup = () => nothing,
): Markup {
  const kind = (index: number): Markup => (columns[index]?.number ? html` class="number"` : nothing);
  const heads = columns.map(({ head }, index) => html`<th scope="col"${kind(index)}>${head}</th>`);
  const body = lines.map((line) => {
    const fields = line.map((part, index) =>
      index === 0
        ? html`<th scope="row"${kind(index)}>${part}</th>`
        : html`<td${kind(index)}>${label(index)}${part}</td>`,
    );
    return html`<tr>${fields}</tr>`;
  });
  return html`<table><caption>${caption}</caption><thead><tr>${heads}</tr></thead><tbody>${body}</tbody></table>`;
}

/** A table behind a line that opens it. */
export const folded = (summary: string, content: Part): Markup =>
  html`<details><summary>${summary}</summary>${content}</details>`;

/** Labels with their texts. */
export const listed = (items: readonly { label: string; text: Part }[]): Markup =>
  items.length === 0
    ? nothing
    : html`<dl>${items.map(({ label, text }) => html`<div><dt>${label}</dt><dd>${text}</dd></div>`)}</dl>`;
