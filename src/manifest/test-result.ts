/**
 * The second line of a manifest: what the first one says, in the words of in-toto's `test-result`, for policy engines that know these
 * and not ours. A pure function of the first statement, so that it can say nothing of its own.
 */
import { z } from 'zod';
import { canonicalJson } from '../digest.js';
import { digestSchema, STATEMENT_TYPE, type Statement, statementSchema } from './statement.js';

const TEST_RESULT_TYPE = 'https://in-toto.io/attestation/test-result/v0.1';

/** From best to worst. */
const testResults = ['PASSED', 'WARNED', 'FAILED'] as const;
type TestResultWord = (typeof testResults)[number];

/** in-toto Statement v1 with a predicate `test-result/v0.1`. */
export const testResultSchema = z.strictObject({
  _type: z.literal(STATEMENT_TYPE),
  subject: statementSchema.shape.subject,
  predicateType: z.literal(TEST_RESULT_TYPE),
  predicate: z.strictObject({
    result: z.enum(testResults),
    /** Matrix and plan. The digests are over RFC 8785 JSON, as in the first statement. */
    configuration: z.array(z.strictObject({ name: z.string(), digest: digestSchema })).length(2),
    /** Ids of cells, in the order of the plan. */
    passedTests: z.array(z.string()),
    warnedTests: z.array(z.string()),
    failedTests: z.array(z.string()),
  }),
});
export type TestResult = z.infer<typeof testResultSchema>;

/** The second statement that follows from the first. */
export function testResultOf({ subject, predicate }: Statement): TestResult {
  const best = bestWord(predicate);
  const cellsThat = (word: TestResultWord): string[] =>
    predicate.cells.filter(({ verdict }) => wordOf(verdict, best) === word).map(({ id }) => id);
  return {
    _type: STATEMENT_TYPE,
    subject,
    predicateType: TEST_RESULT_TYPE,
    predicate: {
      result: wordOf(predicate.result, best),
      configuration: [
        { name: `matrix ${predicate.matrix.name}`, digest: predicate.matrix.digest },
        { name: 'plan', digest: predicate.plan.digest },
      ],
      passedTests: cellsThat('PASSED'),
      warnedTests: cellsThat('WARNED'),
      failedTests: cellsThat('FAILED'),
    },
  };
}

/** The bytes that are signed: RFC 8785. */
export const serializeTestResult = (result: TestResult): Buffer => Buffer.from(canonicalJson(result), 'utf8');

/** A verdict of ours in in-toto's words, no better than `best`. */
function wordOf(verdict: Statement['predicate']['result'], best: TestResultWord): TestResultWord {
  const word = verdict === 'pass' ? 'PASSED' : verdict === 'inconclusive' ? 'WARNED' : 'FAILED';
  return testResults.indexOf(word) < testResults.indexOf(best) ? best : word;
}

/**
 * Who reads only this line does not see what our predicate says beside the verdict, and must not take for a pass what no gate may rest
 * on: a simulation measured nothing, and an ablation or a planted slowdown says nothing about budgets.
 */
function bestWord({ simulation, design, arms }: Statement['predicate']): TestResultWord {
  if (simulation) return 'FAILED';
  const isPlanted = arms.some(({ plantedSlowdownPercent }) => plantedSlowdownPercent !== undefined);
  return design || isPlanted ? 'WARNED' : 'PASSED';
}
