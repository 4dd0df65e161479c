/** A decision as JUnit XML. Pure. */
import junitModule, { type Builder, type TestCase } from 'junit-report-builder';
import { plainText } from '../report/escape.js';
import { type GateCase, propertiesOf, suitesOf } from './cases.js';
import type { GateDecision } from './decision.js';
import { headlineOf } from './words.js';

/** Its types are of an ES module, and it is a CommonJS one: what is imported is the builder itself. */
const junit = junitModule as unknown as Builder;

/**
 * The XML of a decision. What fails, is undecided or missing is a failure; what was refused or does not verify is an error. A waived cell is a
 * case with the property `waived` and who waived it on its standard output.
 */
export function renderJunit(decision: GateDecision): string {
  const report = junit.newBuilder().name(plainText(`qualify gate: ${headlineOf(decision)}`));
  for (const { name, cases } of suitesOf(decision)) {
    const suite = report.testSuite().name(plainText(name)).timestamp(new Date(decision.decidedAt));
    for (const [key, value] of propertiesOf(decision)) suite.property(key, plainText(value));
    for (const one of cases) {
      const testCase = suite.testCase().name(plainText(one.name)).className(plainText(name)).time(0);
      fill(testCase, one);
    }
  }
  return report.build();
}

function fill(testCase: TestCase, { result, type, message, lines, waiver }: GateCase): void {
  const text = plainText(message);
  testCase.property('result', result);
  if (waiver !== null) testCase.property('waived', plainText(waiver));
  if (result === 'refused' || result === 'invalid') testCase.error(text, type);
  else if (result !== 'pass' && result !== 'waived') testCase.failure(text, type);
  // The library splits only the first end of character data; the rest would be markup.
  testCase.standardOutput([...new Set([text, ...lines.map(plainText)])].join('\n').replaceAll(']]>', ']] >'));
}
