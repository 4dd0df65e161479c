/** What an ablation found, for a terminal. Apart from the Markdown, which `verify` renders without a library of tables. */
import Table from 'cli-table3';
import type { Verdict } from '../verdict/schema.js';
import { ablationParts } from './ablation.js';
import { plainText } from './escape.js';
import { labelled, wrap } from './wrap.js';

const width = 80;
/** Inner widths; with two spaces a column and five bars they make 80. */
const columns = [34, 8, 12, 13];

/** Lines of a paragraph, or of an item with its dash in front. */
const wrapped = (text: string): string[] =>
  text.startsWith('- ') ? labelled('-', plainText(text.slice(2)), 2, width) : wrap(plainText(text), width);

/** For a terminal, 80 columns; empty when the session is no ablation. */
export function ablationText(verdict: Verdict): string {
  const parts = ablationParts(verdict);
  if (parts === null) return '';
  const cells = parts.cells.map(({ title, lines, texts }) => {
    const table = new Table({
      colWidths: columns.map((inner) => inner + 2),
      style: { head: [], border: [] },
    });
    const fit = (line: readonly (readonly string[])[]): string[] =>
      line.map((own, index) =>
        own.flatMap((part) => wrap(plainText(part), columns[index] ?? width)).join('\n'),
      );
    table.push(fit(parts.heads.map((head) => [head])), ...lines.map(fit));
    return [...wrap(plainText(title), width), table.toString(), ...texts.flatMap(wrapped)].join('\n');
  });
  const seen = ['What shows that each switch worked:', ...parts.witnesses.map((text) => `- ${text}`)];
  const said = seen.flatMap(wrapped).join('\n');
  return [...cells, wrap(parts.legend, width).join('\n'), said].join('\n\n');
}
