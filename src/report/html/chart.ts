/** Draws charts: a Vega-Lite specification becomes static SVG, the same bytes wherever it is drawn. */
import type { TopLevelSpec } from 'vega-lite';
import { plainText } from '../escape.js';
import { html, type Markup, trusted } from './markup.js';
import { colour } from './palette.js';

/** A chart, and what it says to those who do not see it. */
export interface Chart {
  title: string;
  description: string;
  spec: TopLevelSpec;
}

/** Draws one chart. */
export type Draw = (chart: Chart) => Promise<Markup>;

/** Widths of a chart across the page. One that is squeezed into a phone cannot be read, so there are two, of which one is shown. */
const widths = { wide: 900, narrow: 340 } as const;

/** Width of a chart in a column, in the units of its own text: near to what a phone is wide, so that text keeps its size there. */
export const columnWidth = 360;
const fontSize = 12;

/** How axes write percents: with a sign, but for nothing. */
export const signedAxis = {
  format: '+~r',
  labelExpr: "datum.value === 0 ? '0' : datum.label",
} as const;

/** A name of somebody else as charts show it. */
export const label = (text: string): string => plainText(text);

/** What all charts share. The font is that of the page. */
const config = {
  font: 'inherit',
  background: 'transparent',
  // The page tells what a chart is; marks by themselves have nothing to say.
  aria: false,
  view: { stroke: null },
  axis: {
    labelFontSize: fontSize,
    titleFontSize: fontSize,
    titleFontWeight: 'normal',
    labelColor: colour('muted'),
    titleColor: colour('muted'),
    gridColor: colour('rule'),
    domainColor: colour('line'),
    tickColor: colour('line'),
    labelOverlap: true,
  },
  legend: {
    labelFontSize: fontSize,
    labelColor: colour('text'),
    // Two of them fit beside each other.
    labelLimit: 130,
    orient: 'top',
    offset: 6,
    title: null,
    symbolOpacity: 1,
  },
} as const;

/** The drawing inside of Vega's own first tag, which has a size in pixels and no name. */
function framed(svg: string, { title, description }: Chart): Markup {
  const [, width = '', height = ''] = /^<svg[^>]* width="([\d.]+)" height="([\d.]+)"/.exec(svg) ?? [];
  const inner = svg.slice(svg.indexOf('>') + 1);
  return html`<svg class="chart" role="img" aria-label="${title}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><title>${title}</title><desc>${description}</desc>${trusted(inner)}`;
}

/** Content with charts across the page, made once for each width. */
export async function acrossPage(make: (width: number) => Promise<Markup>): Promise<Markup> {
  const [wide, narrow] = await Promise.all([make(widths.wide), make(widths.narrow)]);
  return html`<div class="wide">${wide}</div><div class="narrow">${narrow}</div>`;
}

/** Loads Vega, which nothing else needs, and answers what draws. */
export async function loadDraw(): Promise<Draw> {
  const [vega, vegaLite] = await Promise.all([import('vega'), import('vega-lite')]);
  // A canvas that happens to be installed would measure text otherwise, and so move things. Vega's types leave this out.
  const { textMetrics } = vega as unknown as { textMetrics: { canvas(use: boolean): void } };
  textMetrics.canvas(false);
  return async (chart) => {
    const { spec } = vegaLite.compile(chart.spec, { config });
    const view = new vega.View(vega.parse(spec), { renderer: 'none' });
    try {
      return framed(await view.toSVG(), chart);
    } finally {
      view.finalize();
    }
  };
}
