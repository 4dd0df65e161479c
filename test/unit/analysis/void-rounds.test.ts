/** Rounds that telemetry voids: when, how often, and what is left of them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { analyse } from '../../../src/analysis/analyse.js';
import {
  launchUnderWay,
  nextAttempt,
  standingEntries,
  voidRounds,
} from '../../../src/analysis/lost-launches.js';
import { bearableVoids, dueVoid, tooManyVoid, voidWarnings } from '../../../src/analysis/void-rounds.js';
import type { Entry } from '../../../src/journal/entries.js';
import type { Plan } from '../../../src/plan/schema.js';
import { judge } from '../../../src/verdict/judge.js';
import type { Verdict } from '../../../src/verdict/schema.js';
import { calmTelemetry, makeJournal, makePlan } from '../../fixtures/journal.js';
import { resumeEntry } from '../../fixtures/resumed-run.js';
import {
  again,
  launchesOfRound,
  numbered,
  repeatedRound,
  SWAPPED,
  voidEntry,
  withSwapIns,
} from '../../fixtures/void-round.js';

const plan = makePlan();
const quiet = makeJournal(plan);
const ROUND = 2;
const [FIRST = '', LAST = ''] = launchesOfRound(quiet, ROUND);
const verdictOf = (of: Plan, entries: readonly Entry[]): Verdict => judge(of, analyse(of, entries));
const codesOf = (findings: readonly { code: string }[]): string[] => findings.map(({ code }) => code);

/** The journal up to the end of a launch. */
const until = (entries: readonly Entry[], launch: string): Entry[] =>
  entries.slice(0, entries.findLastIndex((entry) => 'launch' in entry && entry.launch === launch) + 1);

/** A session that others disturbed once, in the first launch of a round, up to the end of that round. */
const disturbed = (changes: object, kind: Entry['kind'] = 'load', launch = FIRST): Entry[] =>
  until(quiet, LAST).map((entry) =>
    entry.kind === kind && 'launch' in entry && entry.launch === launch
      ? ({ ...entry, ...changes } as Entry)
      : entry,
  );

describe('a round that has just ended', () => {
  test('is void when one of its launches broke a rule of the plan', () => {
    const wall = makePlan({ protocol: { clock: 'wall' } });
    const due = (entries: Entry[], of = plan) => dueVoid(of, entries);
    assert.deepEqual(due(disturbed({ swapIns: SWAPPED })), { round: ROUND, codes: ['swapping'] });
    assert.deepEqual(due(disturbed({ swapIns: SWAPPED }, 'load', LAST)), {
      round: ROUND,
      codes: ['swapping'],
    });
    assert.deepEqual(due(disturbed({ foreignCpuShare: 0.41 }), wall)?.codes, ['foreign-load']);
    assert.deepEqual(due(disturbed({ throttles: 1 }, 'telemetry'))?.codes, ['throttled']);
    assert.deepEqual(due(disturbed({ gpuUsers: ['other'] }, 'telemetry'))?.codes, ['gpu-shared']);
    const waited = { pressure: { cpu: 0, memory: 0.06, io: 0 } };
    assert.deepEqual(due(disturbed(waited, 'telemetry'))?.codes, ['memory-pressure']);
  });

  test('stands when all was borne, whatever its rates are', () => {
    assert.equal(dueVoid(plan, until(quiet, LAST)), null);
    // CPU time bears foreign load.
    assert.equal(dueVoid(plan, disturbed({ foreignCpuShare: 0.41 })), null);
    const slow = makeJournal(plan, { ms: ({ round }) => (round === ROUND ? 9000 : 100) });
    assert.equal(dueVoid(plan, until(slow, LAST)), null);
  });

  test('stands when an engine waited for its own pages: an arm is not forgiven what it causes', () => {
    for (const seen of [{ majorFaults: 65 }, { majorFaults: 65, swapIns: SWAPPED }]) {
      assert.equal(dueVoid(plan, disturbed(seen)), null);
      const { result, reasons } = verdictOf(plan, [
        ...disturbed(seen),
        ...quiet.slice(until(quiet, LAST).length),
      ]);
      assert.equal(result, 'contaminated');
      assert.ok(codesOf(reasons).includes('major-faults'));
    }
  });

  test('stands when something was not seen: what nobody saw voids nothing', () => {
    for (const kind of ['load', 'telemetry'])
      assert.equal(
        dueVoid(
          plan,
          until(quiet, LAST).filter((entry) => entry.kind !== kind),
        ),
        null,
        kind,
      );
  });

  test('stands where the plan is of a version that repeated no round', () => {
    const { voidShare: _later, ...decision } = plan.decision;
    assert.equal(dueVoid({ ...plan, decision }, disturbed({ swapIns: SWAPPED })), null);
  });

  test('is asked about once: not while it is under way, not after the next launch, not after its look', () => {
    const swapped = withSwapIns(quiet, FIRST, SWAPPED);
    const [next = ''] = launchesOfRound(quiet, ROUND + 1);
    assert.equal(dueVoid(plan, until(swapped, FIRST)), null);
    assert.equal(dueVoid(plan, until(swapped, LAST).slice(0, -1)), null);
    assert.deepEqual(codesOf([{ code: dueVoid(plan, until(swapped, LAST))?.codes[0] ?? '' }]), ['swapping']);
    assert.equal(dueVoid(plan, until(swapped, next)), null);
    const [, ofLast = ''] = launchesOfRound(quiet, 5);
    const look: Entry = { seq: 0, atNs: '0', kind: 'look', rounds: 6, undecided: [] };
    const ended = until(withSwapIns(quiet, ofLast, SWAPPED), ofLast);
    assert.equal(dueVoid(plan, ended)?.round, 5);
    assert.equal(dueVoid(plan, numbered([...ended, look])), null);
  });

  test('is one, or the share of the rounds of a look that the plan says, and counts each time', () => {
    const most = (rounds: number, voidShare = plan.decision.voidShare): number =>
      bearableVoids({ decision: { ...plan.decision, voidShare } }, rounds);
    assert.deepEqual(
      [1, 6, 12, 19, 20, 24, 96].map((rounds) => most(rounds)),
      [1, 1, 1, 1, 2, 2, 9],
    );
    assert.deepEqual([most(24, 0.25), most(24, 0)], [6, 1]);
    const { voidShare: _later, ...decision } = plan.decision;
    assert.equal(bearableVoids({ decision }, 24), 0);
    const once = repeatedRound(plan, quiet, ROUND);
    assert.equal(dueVoid(plan, until(withSwapIns(once, `${LAST}.2`, SWAPPED), `${LAST}.2`)), null);
    const [, other = ''] = launchesOfRound(quiet, 4);
    assert.equal(dueVoid(plan, until(withSwapIns(once, other, SWAPPED), other)), null);
    const longer = makePlan({ protocol: { looks: [20] } });
    const twice = repeatedRound(longer, makeJournal(longer), ROUND);
    const [, there = ''] = launchesOfRound(twice, 7);
    assert.equal(dueVoid(longer, until(withSwapIns(twice, there, SWAPPED), there))?.round, 7);
  });
});

describe('a void round', () => {
  const once = repeatedRound(plan, quiet, ROUND);

  test('counts for nothing: what remains is the session with the repetition in its place', () => {
    const bare = (entries: readonly Entry[]): unknown[] =>
      entries.map(({ seq: _seq, atNs: _at, ...entry }) => entry);
    const names = [FIRST, LAST];
    const expected = names.reduce((entries, launch) => {
      const own = again(plan, quiet, launch, `${launch}.2`);
      const at = entries.findIndex((entry) => 'launch' in entry && entry.launch === launch);
      const rest = entries.filter((entry) => !('launch' in entry && entry.launch === launch));
      return [...rest.slice(0, at), ...own, ...rest.slice(at)];
    }, quiet);
    assert.deepEqual(bare(standingEntries(once)), bare(expected));
    assert.deepEqual(voidRounds(once), [{ round: ROUND, launches: names, codes: ['swapping'] }]);
  });

  test('is followed by its next attempt, also where a launch of it was lost', () => {
    const place = { round: ROUND, position: 0 };
    const ended = numbered([...until(quiet, LAST), voidEntry(ROUND)]);
    assert.equal(nextAttempt(until(quiet, LAST), place), 1);
    assert.equal(nextAttempt(ended, place), 2);
    assert.equal(launchUnderWay(ended), null);
    const killed = numbered([
      ...ended,
      ...again(plan, quiet, FIRST, `${FIRST}.2`).slice(0, 4),
      resumeEntry(`${FIRST}.2`),
    ]);
    assert.equal(nextAttempt(killed, place), 3);
    assert.equal(nextAttempt(killed, { round: ROUND, position: 1 }), 2);
    const over = numbered([
      ...killed,
      ...again(plan, quiet, FIRST, `${FIRST}.3`),
      ...again(plan, quiet, LAST, `${LAST}.2`),
    ]);
    assert.deepEqual(launchesOfRound(standingEntries(over), ROUND), [`${FIRST}.3`, `${LAST}.2`]);
  });

  test('leaves the verdict as if nobody had disturbed, with a warning that says what happened', () => {
    const whole = verdictOf(plan, quiet);
    const verdict = verdictOf(plan, once);
    assert.equal(verdict.result, 'pass');
    assert.deepEqual(verdict.cells, whole.cells);
    assert.deepEqual(codesOf(verdict.warnings), ['round-repeated', ...codesOf(whole.warnings)]);
    assert.match(
      verdict.warnings[0]?.message ?? '',
      new RegExp(
        `^round 3 was measured again: 5000 pages came back from swap in ${FIRST}; that is 1 of 6 rounds, at most 1 may be$`,
      ),
    );
    assert.deepEqual(voidWarnings(plan, quiet), []);
  });

  test('names who disturbed', () => {
    const wall = makePlan({ protocol: { clock: 'wall' } });
    const busy = repeatedRound(wall, quiet, ROUND).map((entry): Entry => {
      if (!('launch' in entry) || entry.launch !== FIRST) return entry;
      if (entry.kind === 'load') return { ...entry, swapIns: 0, foreignCpuShare: 0.41 };
      const others = [{ name: 'cc1plus', cpuShare: 0.38 }];
      return entry.kind === 'telemetry' ? { ...entry, ...calmTelemetry, others } : entry;
    });
    assert.match(
      voidWarnings(wall, busy)[0]?.message ?? '',
      new RegExp(`others used 41 % of the machine \\(most of it cc1plus, 38 %\\) in ${FIRST}`),
    );
  });

  test('beyond the limit contaminates, and the counts are told', () => {
    const [other = ''] = launchesOfRound(once, 4);
    for (const launch of [`${FIRST}.2`, other]) {
      const verdict = verdictOf(plan, withSwapIns(once, launch, SWAPPED));
      assert.equal(verdict.result, 'contaminated');
      assert.equal(verdict.exitCode, 14);
      assert.deepEqual(codesOf(verdict.reasons), ['swapping', 'rounds-void']);
      assert.match(
        verdict.reasons[1]?.message ?? '',
        /voided a round 2 times, and of 6 rounds at most 1 may be measured again/,
      );
      assert.deepEqual(verdict.cells[0]?.arms, {}, 'no rate is shown');
    }
  });

  test('of an older plan contaminates as ever, in the same words', () => {
    const { voidShare: _later, ...decision } = plan.decision;
    const older = { ...plan, decision };
    const verdict = verdictOf(older, withSwapIns(quiet, FIRST, SWAPPED));
    assert.deepEqual(codesOf(verdict.reasons), ['swapping']);
    assert.deepEqual(tooManyVoid(older, [], [], 6), []);
  });

  test('stays the first launch of the session, before which nothing could be remembered', () => {
    // From the second process on, what was asked before is answered 2.2 times as fast.
    const first = quiet.find((entry) => entry.kind === 'launch');
    assert.ok(first?.kind === 'launch');
    const cached = (entries: readonly Entry[]): Entry[] =>
      entries.map((entry): Entry => {
        if (entry.kind !== 'sample' || entry.launch === first.launch || entry.purpose === 'warmup')
          return entry;
        const promptMs = (entry.answer.promptMs ?? 0) / 2.2;
        const clientMs = promptMs + (entry.answer.predictedMs ?? 0) + 0.5;
        return { ...entry, answer: { ...entry.answer, promptMs, promptCpuMs: promptMs, clientMs } };
      });
    const reasons = (entries: readonly Entry[]) => codesOf(verdictOf(plan, entries).reasons);
    assert.deepEqual(reasons(cached(quiet)), ['warm-across-launches']);
    assert.deepEqual(reasons(cached(repeatedRound(plan, quiet, 0))), ['warm-across-launches']);
  });
});
