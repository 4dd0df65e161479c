/** The body of `POST /repos/{owner}/{repo}/check-runs`. */
import { plainText } from '../../report/escape.js';
import { brief } from '../brief.js';
import type { GateDecision } from '../decision.js';
import type { Level } from './command.js';
import type { Finding } from './findings.js';
import { LIMITS } from './limits.js';
import { type Conclusion, conclusionOf, headline, shownResult } from './words.js';

const LEVELS: Readonly<Record<Level, 'failure' | 'warning' | 'notice'>> = {
  error: 'failure',
  warning: 'warning',
  notice: 'notice',
};

interface CheckRun {
  name: string;
  head_sha: string;
  status: 'completed';
  conclusion: Conclusion;
  completed_at: string;
  details_url?: string;
  output: {
    title: string;
    summary: string;
    annotations: {
      path: string;
      start_line: number;
      end_line: number;
      annotation_level: 'failure' | 'warning' | 'notice';
      title: string;
      message: string;
    }[];
  };
}

/** Annotations point at the policy, since what they say is of no line of the change. */
export function checkRunOf(
  decision: GateDecision,
  {
    name,
    summary,
    findings,
    runUrl,
  }: { name: string; summary: string; findings: readonly Finding[]; runUrl: string | undefined },
): CheckRun {
  return {
    name,
    head_sha: decision.head.commit,
    status: 'completed',
    conclusion: conclusionOf[shownResult(decision)],
    completed_at: decision.decidedAt,
    ...(runUrl === undefined ? {} : { details_url: runUrl }),
    output: {
      title: headline(decision),
      summary,
      annotations: findings.slice(0, LIMITS.checkAnnotations).map(({ level, title, message }) => ({
        path: plainText(brief(decision.policy.path, 200)),
        start_line: 1,
        end_line: 1,
        annotation_level: LEVELS[level],
        title: plainText(brief(title, 200)),
        message: plainText(brief(message, 4000)),
      })),
    },
  };
}
