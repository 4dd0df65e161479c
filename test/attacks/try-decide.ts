/** Tries an attack on what a gate has read, and on the decision without a guard of it, where it must succeed. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { decide } from '../../src/gate/decide.js';
import { gather } from '../../src/gate/gate.js';
import type { GateInput, VerifiedRun } from '../../src/gate/input.js';
import type { GateSite } from '../fixtures/gate-site.js';
import { codesOf } from './try-gate.js';
import { type Guard, importWithout } from './without-guard.js';

/** Tries an attack on what a gate has read, and on the decision without a guard of it. */
export async function tryDecide(t: TestContext, input: GateInput, code: string, guard: Guard): Promise<void> {
  const decision = decide(input);
  assert.equal(decision.result, 'missing');
  assert.ok(codesOf(decision).includes(code), codesOf(decision).join());
  const unguarded = await importWithout<{ decide: typeof decide }>(t, 'gate/decide', guard);
  assert.equal(unguarded.decide(input).result, 'pass');
}

/** What a gate reads of an honest run, which passes, to be changed. */
export async function honest(site: GateSite): Promise<{ input: GateInput; run: VerifiedRun }> {
  await site.run('honest');
  const input = await gather(site.options());
  const run = input.runs[0]?.run;
  assert.ok(run);
  assert.equal(decide(input).result, 'pass');
  return { input, run };
}
