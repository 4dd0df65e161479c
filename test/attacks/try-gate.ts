/** Tries an attack on the whole of a gate, files and git and all, and on the gate without a guard of it, where it must succeed. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { QualifyError } from '../../src/errors.js';
import type { GateDecision } from '../../src/gate/decision.js';
import { type GateOptions, gate } from '../../src/gate/gate.js';
import { GateSite, type SiteOptions } from '../fixtures/gate-site.js';
import { scratchFolder } from '../support/folder.js';
import { type Guard, importWithout } from './without-guard.js';

/** A head that loses by 10 % in its second cell. */
export const losing = { headShare: (tokens: number) => (tokens === 64 ? 0.5 : 1.1) };

/** What the policy of an attacked gate asks for, but for cells. */
export const requirement = { matrix: 'fixture', file: 'matrices/fixture.yaml', machine: 'any' };

export const attacked = async (t: TestContext, options?: SiteOptions): Promise<GateSite> =>
  GateSite.make(await scratchFolder(t), options);

/** Tries an attack on files and git, with the gate and without a guard of it. */
export async function tryGate(
  t: TestContext,
  options: GateOptions,
  expected: { result: GateDecision['result']; code?: string },
  ...guards: Guard[]
): Promise<void> {
  const decision = await gate(options);
  assert.equal(decision.result, expected.result);
  assert.notEqual(decision.exitCode, 0);
  if (expected.code !== undefined)
    assert.ok(codesOf(decision).includes(expected.code), codesOf(decision).join());
  const unguarded = await importWithout<{ gate: typeof gate }>(t, 'gate/gate', ...guards);
  assert.ok(['pass', 'waived'].includes((await unguarded.gate(options)).result));
}

/** The same of what a gate cannot decide: a usage error that says so. */
export async function tryUsage(
  t: TestContext,
  options: GateOptions,
  text: RegExp,
  ...guards: Guard[]
): Promise<void> {
  await assert.rejects(gate(options), (error) => {
    assert.ok(error instanceof QualifyError, String(error));
    assert.equal(error.exitCode, 64);
    assert.match(`${error.message}\n${error.hint}`, text);
    return true;
  });
  const unguarded = await importWithout<{ gate: typeof gate }>(t, 'gate/gate', ...guards);
  assert.ok(['pass', 'waived'].includes((await unguarded.gate(options)).result));
}

export const codesOf = ({ evidence, waivers }: GateDecision): string[] =>
  [...evidence, ...waivers].flatMap(({ reasons }) => reasons.map(({ code }) => code));
