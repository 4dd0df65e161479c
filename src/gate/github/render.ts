/**
 * A decision as GitHub shows it: summary of a step, one comment that is kept up to date, check run, annotations. Files in, files out; a
 * workflow posts them (docs/ci.md).
 */
import { EXIT } from '../../exit-codes.js';
import type { GateDecision } from '../decision.js';
import { checkRunOf } from './check-run.js';
import { annotationLines, findingsOf } from './findings.js';
import { fit, type Section, whole } from './fit.js';
import { LIMITS, ROWS_AT_FIRST_SIGHT } from './limits.js';
import {
  detailSection,
  evidenceSection,
  footSection,
  headSection,
  reasonSection,
  tableSection,
  waiverSection,
} from './sections.js';
import { contradictionOf, shownResult } from './words.js';

export interface GithubOptions {
  /** Tells the comments of several policies apart; made of the path of the policy when absent. */
  id?: string;
  /** Name of the check run, which branch protection requires. */
  checkName?: string;
  /** Address of the workflow's run, for a link; must be an `https` URL of plain characters. */
  runUrl?: string;
}

/** What is written; `outputs.txt` has lines for `$GITHUB_OUTPUT`: `result` and `exit-code`. */
export const GITHUB_FILES = [
  'summary.md',
  'comment.md',
  'check-run.json',
  'annotations.txt',
  'outputs.txt',
] as const;

/** Contents by file name. */
type GithubFiles = Record<(typeof GITHUB_FILES)[number], string>;

/** The first line of the comment, by which the next run finds it. The id is reduced to what cannot end an HTML comment. */
export const markerOf = (id: string): string =>
  `<!-- qualify:${id.replaceAll(/[^A-Za-z0-9._/]+/g, '-').slice(0, 100)} -->`;

const isEmpty = ({ head, rows, tail }: Section): boolean => head.length + rows.length + tail.length === 0;

function sectionsOf(decision: GateDecision, rows: number, runUrl: string | undefined): Section[] {
  return [
    headSection(decision),
    waiverSection(decision),
    reasonSection(decision),
    tableSection(decision, rows),
    evidenceSection(decision),
    detailSection(decision),
    footSection(decision, runUrl),
  ].filter((section) => !isEmpty(section));
}

/** A decision that was damaged or made up, with the fields that show it as the first of its reasons. */
function explained(decision: GateDecision): GateDecision {
  const contradiction = contradictionOf(decision);
  return contradiction === null ? decision : { ...decision, reasons: [contradiction, ...decision.reasons] };
}

/** The whole of a decision as GitHub-flavoured Markdown, within what a step's summary may have. */
export const renderSummary = (decision: GateDecision, runUrl?: string): string =>
  fit(sectionsOf(explained(decision), Number.POSITIVE_INFINITY, runUrl), LIMITS.summaryBytes);

/** The five files. @throws TypeError when `runUrl` is no plain `https` address */
export function renderGithub(offered: GateDecision, options: GithubOptions = {}): GithubFiles {
  const decision = explained(offered);
  const { id = decision.policy.path, checkName = 'qualify', runUrl } = options;
  if (runUrl !== undefined && !isPlainUrl(runUrl))
    throw new TypeError(`not a plain https address: ${JSON.stringify(runUrl)}`);
  const first = sectionsOf(decision, ROWS_AT_FIRST_SIGHT, runUrl);
  const findings = findingsOf(decision);
  const summary = fit(first, LIMITS.checkSummaryBytes);
  const checkRun = checkRunOf(decision, { name: checkName, summary, findings, runUrl });
  return {
    'summary.md': renderSummary(offered, runUrl),
    'comment.md': fit([whole(markerOf(id)), ...first], LIMITS.commentBytes),
    'check-run.json': `${JSON.stringify(checkRun, null, 2)}\n`,
    'annotations.txt': annotationLines(findings),
    'outputs.txt': outputLines(decision),
  };
}

/** A decision that contradicts itself does not come out with a 0. */
function outputLines(decision: GateDecision): string {
  const result = shownResult(decision);
  const contradicts = decision.exitCode === EXIT.pass && result !== 'pass' && result !== 'waived';
  return `result=${result}\nexit-code=${contradicts ? EXIT.invalid : decision.exitCode}\n`;
}

/** Whether an address can stand in a Markdown link as it is. */
export const isPlainUrl = (url: string): boolean =>
  /^https:\/\/[A-Za-z0-9._~:/?#@!$&+,;=%-]{1,500}$/.test(url);
