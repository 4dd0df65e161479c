/** A decision in the Common Test Report Format. Pure. */
import { type GateCase, propertiesOf, suitesOf } from './cases.js';
import type { GateDecision, GateResult } from './decision.js';

/** Of the specification that this is written by. */
const SPEC_VERSION = '0.0.0';

type Status = 'passed' | 'failed' | 'other';

/** A waived cell has not passed, and does not block: `other`. Everything that blocks has failed, whatever the reason. */
const statusOf = (result: GateResult): Status =>
  result === 'pass' ? 'passed' : result === 'waived' ? 'other' : 'failed';

/** The JSON of a decision, ending with a line feed. Times are the decision's; a cell has no duration of its own. */
export function renderCtrf(decision: GateDecision): string {
  const at = Date.parse(decision.decidedAt);
  const suites = suitesOf(decision);
  const tests = suites.flatMap(({ name, cases }) => cases.map((one) => testOf(name, one)));
  const count = (status: Status): number => tests.filter((test) => test.status === status).length;
  const report = {
    reportFormat: 'CTRF',
    specVersion: SPEC_VERSION,
    timestamp: decision.decidedAt,
    generatedBy: `qualify ${decision.harness}`,
    results: {
      tool: { name: 'qualify', version: decision.harness },
      summary: {
        tests: tests.length,
        passed: count('passed'),
        failed: count('failed'),
        skipped: 0,
        pending: 0,
        other: count('other'),
        suites: suites.length,
        start: at,
        stop: at,
        extra: {
          result: decision.result,
          exitCode: decision.exitCode,
          ...Object.fromEntries(propertiesOf(decision)),
        },
      },
      tests,
    },
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}

const testOf = (suite: string, { name, result, message, lines, waiver }: GateCase) => ({
  name: `${suite}: ${name}`,
  status: statusOf(result),
  duration: 0,
  rawStatus: result,
  suite: [suite],
  message,
  ...(waiver !== null && { tags: ['waived'] }),
  stdout: lines,
});
