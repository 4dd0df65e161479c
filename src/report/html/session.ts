/** The section of a session's course: its timeline in strips, with every launch in a table. */
import { counted } from '../../counted.js';
import type { Page } from './cell.js';
import { acrossPage } from './chart.js';
import { html, type Markup } from './markup.js';
import { folded, table } from './table.js';
import { type TimedLaunch, type Timeline, timelineOf } from './timeline.js';
import { timelineCharts } from './timeline-charts.js';

const digits = (value: number | null, places: number): string =>
  value === null ? '–' : value.toFixed(places);

const columns = [
  { head: 'launch' },
  { head: 'arm' },
  { head: 'from, min', number: true },
  { head: 'seconds', number: true },
  { head: 'clock, MHz', number: true },
  { head: 'load', number: true },
  { head: 'others, %', number: true },
  { head: '°C', number: true },
];

const line = (own: TimedLaunch): string[] => [
  own.left === null ? own.launch : `${own.launch} (${own.left})`,
  own.arm,
  own.fromMinutes.toFixed(2),
  (60 * (own.toMinutes - own.fromMinutes)).toFixed(1),
  own.clockMhz === null
    ? '–'
    : `${own.clockMhz.low.toFixed(0)} / ${own.clockMhz.median.toFixed(0)} / ${own.clockMhz.high.toFixed(0)}`,
  digits(own.highestLoad, 2),
  digits(own.othersPercent, 1),
  digits(own.highestC, 0),
];

async function strips(timeline: Timeline, { context, draw }: Page, width: number): Promise<Markup> {
  const arms = context.plan.arms.map(({ name }) => name);
  const drawn = timelineCharts(timeline, arms, width).map(
    async ({ axis, chart }) => html`<p class="axis">${axis}</p>${await draw(chart)}`,
  );
  return html`${await Promise.all(drawn)}`;
}

/** The timeline; a sentence where nothing was launched. */
export async function timelineFigure(page: Page): Promise<Markup> {
  const timeline = timelineOf(page.context.entries);
  if (timeline.launches.length === 0) return html`<p>No engine was launched.</p>`;
  const events = timeline.events
    .map(({ atMinutes, text }) => `${text} at ${atMinutes.toFixed(2)} min`)
    .join('; ');
  const rounds = new Set(timeline.launches.map(({ round }) => round)).size;
  return html`<figure class="timeline">
${await acrossPage((width) => strips(timeline, page, width))}
<figcaption>${counted(timeline.launches.length, 'launch', 'es')} in ${counted(rounds, 'round')}, the order drawn by the plan's seed; numbers are rounds. Dashed: ${events === '' ? 'nothing' : events}.</figcaption>
${folded('Launches', table('Launches in order', columns, timeline.launches.map(line)))}
</figure>`;
}
