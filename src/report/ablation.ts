/** What an ablation found, in words and as Markdown: one table of switches a cell, the joint effect, pairs to look at. */

import { markdownTable } from 'markdown-table';
import { counted } from '../counted.js';
import type { Ablation, AblationCell, SwitchEffect } from '../verdict/ablation-schema.js';
import { plainPercent, signedPercent } from '../verdict/percent.js';
import type { CellVerdict, Verdict } from '../verdict/schema.js';
import { markdownText } from './escape.js';
import { workload } from './format.js';

/** Pairs that are shown; `verdict.json` has them all. */
const shownPairs = 3;

const signed = (percent: number): string => signedPercent(1 + percent / 100);

/** `< 0.0001`, `0.012`. */
const probability = (p: number): string => (p < 1e-4 ? '< 0.0001' : String(Number(p.toPrecision(2))));

function claim({ effect }: SwitchEffect): string[] {
  if (effect === null) return ['refused'];
  if (effect.adjustedP === null) return ['no interval'];
  return [effect.stands ? 'it matters' : 'not shown', `p ${probability(effect.adjustedP)}`];
}

type Bounds = Pick<NonNullable<AblationCell['joint']>, 'lowerPercent' | 'upperPercent' | 'level'>;

/** Two intervals of one contrast are alike only at one level, so each says its own. */
function bounds(effect: Bounds | null): string[] {
  if (effect === null || effect.lowerPercent === null || effect.upperPercent === null) return ['-'];
  const level = effect.level === null ? [] : [`at ${plainPercent(100 * effect.level)}`];
  return [`${signed(effect.lowerPercent)}`, `to ${signed(effect.upperPercent)}`, ...level];
}

/** Cells of a line of the table, each as its own lines; the switch that changes most first, refused ones last. */
function lines({ switches }: AblationCell): string[][][] {
  const size = ({ effect }: SwitchEffect): number => (effect === null ? -1 : Math.abs(effect.percent));
  return switches
    .toSorted((a, b) => size(b) - size(a))
    .map((own) => [
      [own.switch, `${own.low} -> ${own.high}`],
      [own.effect === null ? '-' : signed(own.effect.percent)],
      bounds(own.effect),
      claim(own),
    ]);
}

const heads = ['switch, off -> on', 'change', 'interval', 'by Holm'];

function noiseText({ noise, switches }: AblationCell, { rounds, kind }: Ablation): string {
  const how = kind === 'one-at-a-time' ? 'one switch at a time' : 'folded Plackett-Burman design';
  const size = `${how}, ${counted(switches.length, 'switch', 'es')}, ${counted(rounds, 'round')}`;
  if (noise.percent === null) return `${size}: nothing tells the noise, so there are no intervals.`;
  const from =
    noise.from === 'replicates'
      ? 'from the arms repeated over rounds'
      : 'from what single switches do not explain, effects of pairs among it';
  return `${size}. One launch varies by ${plainPercent(noise.percent)} (${noise.freedom} degree${noise.freedom === 1 ? '' : 's'} of freedom, ${from}).`;
}

function jointText({ joint }: AblationCell, cell: CellVerdict | undefined): string[] {
  if (joint === null) return ['All on against all off: not measured.'];
  const rates = ['all-off', 'all-on'].map((arm) => cell?.arms[arm]?.median.toFixed(2));
  const moved = rates.every((rate) => rate !== undefined) ? ` (${rates.join(' -> ')} tok/s)` : '';
  const range = joint.lowerPercent === null ? '' : `, ${bounds(joint).join(' ')}`;
  return [
    `All on against all off, as measured: ${signed(joint.percent)}${range}${moved}. Effects of single switches are not multiplied: each depends on what the others are.`,
  ];
}

function pairTexts({ pairs, noise }: AblationCell): string[] {
  if (pairs.length === 0) return [];
  const told = noise.from === 'replicates' ? 'ranked with false-discovery rates' : 'by size alone';
  const title = `Pairs, exploratory, ${told}: half of what one switch of a pair does more when the other is on.`;
  const texts = pairs.slice(0, shownPairs).map(({ pairs: aliases, percent, adjustedP, mixed }) => {
    const names = aliases.map((pair) => pair.join(' x ')).join(' or ');
    const rank = adjustedP === null ? '' : `, q ${probability(adjustedP)}`;
    return `${signed(percent)}${rank}: ${names}${mixed ? ', mixed with parts of other pairs' : ''}`;
  });
  const more =
    pairs.length > shownPairs ? [`${pairs.length - shownPairs} smaller ones are in verdict.json`] : [];
  return [title, ...[...texts, ...more].map((text) => `- ${text}`)];
}

const refusedTexts = ({ refused }: AblationCell): string[] =>
  refused.length === 0 ? [] : [`Refused arms: ${refused.join(', ')}. What needs them has no effect here.`];

/** What is said under a table, one paragraph or item a text. */
const texts = (own: AblationCell, ablation: Ablation, cell: CellVerdict | undefined): string[] => [
  noiseText(own, ablation),
  ...jointText(own, cell),
  ...refusedTexts(own),
  ...pairTexts(own),
];

const legend = ({ jointLevel, cells }: Ablation, { clock }: Verdict): string =>
  `A change is that of the rate by ${clock === 'cpu' ? 'CPU' : 'wall'} time from off to on, in the mean over the arms of this design that differ in it. The intervals in the table are those of Holm's steps, each two-sided at the level below it; that of all on against all off is one of its own, at its own level. One in the table leaves out no change just when "it matters" stands, with a chance of ${plainPercent(100 * jointLevel)} of any false claim over all ${cells.reduce((count, cell) => count + cell.switches.length, 0)}.`;

const witnessTexts = ({ witnesses }: Ablation): string[] =>
  witnesses.map(({ switch: name, message }) => `${name}: ${message}`);

/** Title of a cell as in other tables. */
function titled(verdict: Verdict): { own: AblationCell; cell: CellVerdict | undefined; title: string }[] {
  return (verdict.ablation?.cells ?? []).map((own) => {
    const cell = verdict.cells.find(({ id }) => id === own.cell);
    return { own, cell, title: cell === undefined ? own.cell : workload(cell) };
  });
}

/** What an ablation found, in words: renderers lay it out. */
interface AblationParts {
  /** Headings of the columns of each cell's table. */
  heads: readonly string[];
  cells: {
    title: string;
    own: AblationCell;
    /** Lines of the table; each field is a list of short texts. */
    lines: string[][][];
    /** Paragraphs; items begin with `- `. */
    texts: string[];
  }[];
  legend: string;
  /** What shows that each switch worked. */
  witnesses: string[];
}

/** The parts of the report of an ablation; null when the session is none. */
export function ablationParts(verdict: Verdict): AblationParts | null {
  const { ablation } = verdict;
  if (ablation === undefined) return null;
  return {
    heads,
    cells: titled(verdict).map(({ own, cell, title }) => ({
      title,
      own,
      lines: lines(own),
      texts: texts(own, ablation, cell),
    })),
    legend: legend(ablation, verdict),
    witnesses: witnessTexts(ablation),
  };
}

/** As Markdown; empty when the session is no ablation. */
export function ablationMarkdown(verdict: Verdict): string {
  const parts = ablationParts(verdict);
  if (parts === null) return '';
  const cells = parts.cells.map(({ title, lines: own, texts: said }) => {
    const body = own.map(([name = [], change = [], interval = [], found = []]) =>
      [name.join(' '), change.join(), interval.join(' '), found.join(', ')].map(markdownText),
    );
    const table = markdownTable([heads.map(markdownText), ...body], { align: ['l', 'r', 'r', 'l'] });
    const below = said.map((text) =>
      text.startsWith('- ') ? `- ${markdownText(text.slice(2))}` : markdownText(text),
    );
    return [`#### ${markdownText(title)}`, table, ...below].join('\n\n');
  });
  const seen = parts.witnesses.map((text) => `- ${markdownText(text)}`);
  return [...cells, markdownText(parts.legend), 'What shows that each switch worked:', seen.join('\n')].join(
    '\n\n',
  );
}
