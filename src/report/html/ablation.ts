/** What an ablation found: a table of switches a cell, and the effects drawn. */

import type { AblationCell } from '../../verdict/ablation-schema.js';
import { ablationParts } from '../ablation.js';
import type { Page } from './cell.js';
import { acrossPage, type Chart, label, signedAxis } from './chart.js';
import { html, type Markup, nothing } from './markup.js';
import { colour } from './palette.js';
import { table } from './table.js';

/** Effects of switches with their intervals; null where no switch has one. */
function switchesChart(title: string, { switches }: AblationCell, width: number): Chart | null {
  const values = switches
    .flatMap(({ switch: name, effect }) =>
      effect === null
        ? []
        : [
            {
              name: label(name),
              percent: effect.percent,
              stands: effect.stands ? 'it matters' : 'not shown',
              ...(effect.lowerPercent !== null &&
                effect.upperPercent !== null && { low: effect.lowerPercent, high: effect.upperPercent }),
            },
          ],
    )
    .toSorted((a, b) => Math.abs(b.percent) - Math.abs(a.percent));
  if (values.length === 0) return null;
  const x = {
    type: 'quantitative' as const,
    title: 'change from off to on, %',
    axis: { ...signedAxis, tickCount: 5 },
  };
  const y = {
    field: 'name',
    type: 'nominal' as const,
    sort: values.map(({ name }) => name),
    title: null,
    axis: { domain: false, ticks: false, labelLimit: width / 2 },
  };
  return {
    title: `Effects of switches, ${title}`,
    description: `Change of the rate from off to on, with intervals: ${values.map(({ name, percent }) => `${name} ${percent.toFixed(2)} %`).join('; ')}.`,
    spec: {
      width,
      height: 96 + 26 * values.length,
      autosize: { type: 'fit', contains: 'padding' },
      layer: [
        {
          data: { values: [{ zero: 0 }] },
          mark: { type: 'rule', color: colour('line') },
          encoding: { x: { field: 'zero', ...x } },
        },
        {
          data: { values },
          mark: { type: 'rule', strokeWidth: 2, color: colour('arm-0') },
          encoding: { y, x: { field: 'low', ...x }, x2: { field: 'high' } },
        },
        {
          data: { values },
          mark: { type: 'point', size: 70, opacity: 1, filled: true },
          encoding: {
            y,
            x: { field: 'percent', ...x },
            color: {
              field: 'stands',
              type: 'nominal',
              scale: { domain: ['it matters', 'not shown'], range: [colour('arm-0'), colour('line')] },
              legend: { columns: 1 },
            },
            shape: {
              field: 'stands',
              type: 'nominal',
              scale: { domain: ['it matters', 'not shown'], range: ['circle', 'diamond'] },
            },
          },
        },
      ],
    },
  };
}

/** Paragraphs and, where they begin with a dash, items. */
function paragraphs(texts: readonly string[]): Markup[] {
  return texts.map((text) =>
    text.startsWith('- ') ? html`<p class="item">${text.slice(2)}</p>` : html`<p>${text}</p>`,
  );
}

/** The section of an ablation; nothing for other sessions. */
export async function ablationSection({ verdict, draw }: Page): Promise<Markup> {
  const parts = ablationParts(verdict);
  if (parts === null) return nothing;
  const columns = parts.heads.map((head, index) => ({ head, number: index === 1 || index === 2 }));
  const cells = parts.cells.map(async ({ title, own, lines, texts }) => {
    const drawn = await acrossPage(async (width) => {
      const chart = switchesChart(title, own, width);
      return chart === null ? nothing : html`<figure>${await draw(chart)}</figure>`;
    });
    const body = lines.map((line) => line.map((field) => field.join(' ')));
    return html`<section class="cell"><h3>${title}</h3>${drawn}${table(`Switches, ${title}`, columns, body)}${paragraphs(texts)}</section>`;
  });
  return html`<section aria-labelledby="switches"><h2 id="switches">Switches</h2>
${await Promise.all(cells)}
<p>${parts.legend}</p>
<p>What shows that each switch worked:</p>
<ul>${parts.witnesses.map((text) => html`<li>${text}</li>`)}</ul></section>`;
}
