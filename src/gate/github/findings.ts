/** What deserves a mark of its own beside a change: as annotations of a step, and of the check run. */
import { counted } from '../../counted.js';
import type { Reason } from '../../verdict/schema.js';
import { brief } from '../brief.js';
import type { GateDecision, GateResult, OfferedWaiver } from '../decision.js';
import { annotationLine, type Level } from './command.js';
import { LIMITS } from './limits.js';
import { firstReasons } from './reasons.js';
import { changeOf, placeOf, ratesOf, rowsOf, workloadOf } from './rows.js';
import { headline, shownResult } from './words.js';

export interface Finding {
  level: Level;
  title: string;
  message: string;
}

const levelOf = (result: GateResult): Level =>
  result === 'pass' ? 'notice' : result === 'waived' ? 'warning' : 'error';

const MOST_REASONS = 3;

const saying = (reasons: readonly Reason[]): string[] =>
  firstReasons(reasons, MOST_REASONS, ({ code, message }) => `${brief(message)} (${brief(code, 60)})`);

const waivedBy = ({ signer, expiresAt, reason }: OfferedWaiver): string =>
  `waived by ${brief(signer ?? '?', 60)} until ${brief(expiresAt ?? '?', 30)}: ${brief(reason ?? 'no reason given')}`;

const together = (parts: readonly string[]): string => parts.join('; ');

/** The result, then every row that is no pass, worst first, then what was offered and does not count. */
export function findingsOf(decision: GateDecision): Finding[] {
  const result = shownResult(decision);
  const rows = rowsOf(decision)
    .filter((row) => row.result !== 'pass')
    .map(({ requirement, cell, result }): Finding => {
      const title = `${result.toUpperCase()}: ${placeOf(requirement)}`;
      if (cell === null)
        return { level: levelOf(result), title, message: together(saying(requirement.reasons)) || title };
      const waiver = cell.waiver === null ? undefined : decision.waivers[cell.waiver];
      const numbers = `${workloadOf(cell)}: ${ratesOf(cell)}, ${changeOf(cell)}`;
      const waived = waiver === undefined ? [] : [waivedBy(waiver)];
      const message = together([numbers, ...waived, ...saying(cell.reasons)]);
      return { level: levelOf(result), title, message };
    });
  const uncounted = decision.evidence
    .filter(({ counts }) => !counts)
    .map(
      ({ path, reasons }): Finding => ({
        level: 'notice',
        title: 'Run that does not count',
        message: `${brief(path, 200)}: ${together(saying(reasons))}`,
      }),
    );
  const idle = decision.waivers
    .filter(({ applies }) => !applies)
    .map(
      ({ path, reasons }): Finding => ({
        level: 'warning',
        title: 'Waiver without effect',
        message: `${brief(path, 200)}: ${together(saying(reasons))}`,
      }),
    );
  const why = together(saying(decision.reasons));
  const message = why === '' ? headline(decision) : `${headline(decision)}. Why: ${why}`;
  const first: Finding = { level: levelOf(result), title: 'qualify', message };
  return [first, ...rows, ...idle, ...uncounted];
}

/**
 * Lines for the output of a step. GitHub drops what is beyond its limit without a word, so the last notice says how many are left out.
 */
export function annotationLines(findings: readonly Finding[]): string {
  const most = LIMITS.annotationsOfALevel;
  const ofLevel = (level: Level): Finding[] => findings.filter((finding) => finding.level === level);
  const wanted: Finding[] = [...ofLevel('error').slice(0, most), ...ofLevel('warning').slice(0, most)];
  const notices = ofLevel('notice');
  const all = wanted.length + Math.min(notices.length, most) === findings.length;
  const shown = [...wanted, ...notices.slice(0, all ? most : most - 1)];
  const left = findings.length - shown.length;
  const lines = shown.map(({ level, title, message }) => annotationLine(level, title, message));
  const rest = `${counted(left, 'more finding')} left out here: GitHub shows ${most} of a kind. All are in the summary.`;
  return `${[...lines, ...(left === 0 ? [] : [annotationLine('notice', 'qualify', rest)])].join('\n')}\n`;
}
