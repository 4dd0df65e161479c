/** A decision as GitHub-flavoured Markdown, losing cell first. Pure. */
import { markdownTable } from 'markdown-table';
import { markdownCode, markdownText } from '../report/escape.js';
import type { GateDecision, RequirementResult } from './decision.js';
import {
  boundsText,
  headlineOf,
  percentText,
  rateText,
  reasonText,
  rulesText,
  runText,
  titleOf,
  usedWaivers,
  verdictOf,
  waiverText,
} from './words.js';

const bullets = (title: string, lines: readonly string[]): string =>
  lines.length === 0
    ? ''
    : [`**${title}**`, '', ...lines.map((line) => `- ${markdownText(line)}`)].join('\n');

/** The Markdown of a decision, ending with a line feed. */
export function renderGateMarkdown(decision: GateDecision): string {
  const { requirements, evidence, waivers, reasons, head, base } = decision;
  const unused = waivers.filter(({ applies }) => !applies);
  const parts = [
    `### qualify: ${markdownText(headlineOf(decision))}`,
    ...reasons.map((reason) => `**${markdownText(reasonText(reason))}**`),
    bullets('Waived', usedWaivers(decision).map(waiverText)),
    ...requirements.map((requirement) => section(requirement, decision)),
    bullets(
      'Not counted',
      evidence
        .filter(({ counts }) => !counts)
        .map((run) => `${runText(run)}; ${run.reasons.map(reasonText).join('; ')}`),
    ),
    bullets(
      'Waivers that do not apply',
      unused.map((waiver) => `${waiverText(waiver)}; ${waiver.reasons.map(reasonText).join('; ')}`),
    ),
    [
      `- rules: ${markdownText(rulesText(decision))}`,
      `- head: ${markdownCode(head.commit)}, base: ${markdownText(base.branch)} ${markdownCode(base.commit)}`,
      `- decided: ${decision.decidedAt} by qualify ${markdownText(decision.harness)}`,
    ].join('\n'),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function section(requirement: RequirementResult, { evidence }: GateDecision): string {
  const head = ['Cell', 'base', 'head', 'Change', 'Interval', 'Budget', 'Rounds', 'Verdict'];
  const rows = requirement.cells.map((cell) => [
    markdownText(cell.id),
    rateText(cell.baseMedian),
    rateText(cell.headMedian),
    percentText(cell.deltaPercent),
    cell.baseMedian === null ? '–' : boundsText(cell),
    `-${cell.marginPercent} %`,
    String(cell.rounds),
    markdownText(verdictOf(cell)),
  ]);
  const refused = requirement.cells.flatMap((cell) =>
    cell.baseMedian === null ? cell.reasons.map((reason) => `${cell.id}: ${reasonText(reason)}`) : [],
  );
  const runs = requirement.evidence.flatMap((index) => {
    const run = evidence[index];
    return run === undefined ? [] : [[runText(run), ...run.reasons.map(reasonText)].join('; ')];
  });
  const lines = [...requirement.reasons.map(reasonText), ...refused, ...runs];
  return [
    `#### ${markdownText(titleOf(requirement))}: ${requirement.result}`,
    ...(rows.length === 0 ? [] : [markdownTable([head, ...rows], { align: ['l', ...'rrrrrr', 'l'] })]),
    lines.map((line) => `- ${markdownText(line)}`).join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}
