/** A decision for a terminal: 80 columns, no colour, losing cell first. Pure. */
import { counted } from '../counted.js';
import { plainText } from '../report/escape.js';
import { labelled, wrap } from '../report/wrap.js';
import { brief } from './brief.js';
import type { GateCell, GateDecision, NextStep, Reason, RequirementResult } from './decision.js';
import {
  boundsText,
  headlineOf,
  percentText,
  rateText,
  reasonText,
  rulesText,
  runLine,
  titleOf,
  usedWaivers,
  verdictOf,
  waiverText,
} from './words.js';

const width = 80;
const LABEL = 10;
/** Most reasons of one requirement that are shown; `--json` has all. */
const MOST_REASONS = 12;

const paragraph = (text: string): string => wrap(plainText(text), width).join('\n');
const item = (label: string, text: string): string[] =>
  labelled(`  ${label}`, plainText(text), LABEL + 2, width);

/** The text of a decision, ending without a line feed. */
export function renderGateText(decision: GateDecision): string {
  const { requirements, evidence, waivers, reasons, head, base, policy } = decision;
  const uncounted = evidence.filter(({ counts }) => !counts);
  const unused = waivers.filter(({ applies }) => !applies);
  const parts = [
    paragraph(headlineOf(decision)),
    ...reasons.map((reason) => paragraph(reasonText(reason))),
    list('waived', usedWaivers(decision).map(waiverText)),
    ...requirements.map((requirement) => requirementText(requirement, decision)),
    list('not counted', uncounted.map(runLine)),
    list(
      'waivers that do not apply',
      unused.map((waiver) => `${waiverText(waiver)}; ${waiver.reasons.map(reasonText).join('; ')}`),
    ),
    [
      ...(policy.title === null ? [] : labelled('policy', plainText(policy.title), LABEL, width)),
      ...labelled('rules', plainText(rulesText(decision)), LABEL, width),
      ...labelled('head', head.commit, LABEL, width),
      ...labelled('base', `${plainText(base.branch)} (${base.commit})`, LABEL, width),
      ...labelled('decided', `${decision.decidedAt} by qualify ${decision.harness}`, LABEL, width),
    ].join('\n'),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function list(title: string, items: readonly string[]): string {
  if (items.length === 0) return '';
  return [title, ...items.flatMap((text) => labelled('  -', plainText(text), 4, width))].join('\n');
}

/** A reason in at most two lines; `--json` has all of it. */
function reasonLines({ code, message }: Reason): string[] {
  for (let most = 2 * (width - LABEL); ; most -= 4) {
    const lines = item('-', reasonText({ code, message: brief(message, most) }));
    if (lines.length <= 2 || most < width) return lines;
  }
}

/** A command is for pasting: it has a line to itself, however wide. */
function nextLines(next: NextStep | null): string[] {
  if (next === null) return [];
  const { what, command } = next;
  return command === null ? item('next', what) : [...item('next', `${what}:`), `    ${plainText(command)}`];
}

function requirementText(requirement: RequirementResult, { evidence }: GateDecision): string {
  const reasons = requirement.reasons.slice(0, MOST_REASONS);
  const more = requirement.reasons.length - reasons.length;
  return [
    ...wrap(plainText(`${titleOf(requirement)}: ${requirement.result}`), width),
    ...(requirement.cells.length === 0 ? [] : [HEAD]),
    ...requirement.cells.flatMap(cellLines),
    ...reasons.flatMap(reasonLines),
    ...(more > 0 ? item('-', `${more} more: --json has them all`) : []),
    ...requirement.evidence.flatMap((index) => {
      const run = evidence[index];
      return run === undefined ? [] : item('run', runLine(run));
    }),
    ...nextLines(requirement.next),
  ].join('\n');
}

/** Column widths of a table that lies within 80 columns: id, base, head, change; the verdict has what is left. */
const COLUMNS = [14, 16, 16, 10];

const HEAD = `  ${['cell', 'base', 'head', 'change'].map((text, index) => text.padEnd(COLUMNS[index] ?? 0)).join('')} verdict`;

function cellLines(cell: GateCell): string[] {
  const id = plainText(cell.id);
  const [idWidth = 0, ...others] = COLUMNS;
  const numbers = [rateText(cell.baseMedian), rateText(cell.headMedian), percentText(cell.deltaPercent)];
  const row = numbers.map((text, index) => text.padEnd(others[index] ?? 0)).join('');
  const indent = ' '.repeat(idWidth + 2);
  const isLong = id.length >= idWidth;
  const first = `  ${isLong ? '' : id}`.padEnd(idWidth + 2) + row;
  return [
    ...(isLong ? wrap(`  ${id}`, width) : []),
    ...labelled(first, verdictOf(cell), first.length + 1, width),
    ...(cell.baseMedian === null
      ? cell.reasons.flatMap((reason) => labelled('', plainText(reasonText(reason)), indent.length, width))
      : [
          `${indent}${boundsText(cell)} in ${counted(cell.rounds, 'round')}; budget -${cell.marginPercent} %`,
        ]),
  ];
}
