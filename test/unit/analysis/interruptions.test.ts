import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { analyse } from '../../../src/analysis/analyse.js';
import {
  bearableLosses,
  clockSetBackWarnings,
  resumeWarnings,
  splitRounds,
  tooManyLost,
} from '../../../src/analysis/interruptions.js';
import {
  failedByItself,
  launchUnderWay,
  lostLaunches,
  standingEntries,
} from '../../../src/analysis/lost-launches.js';
import { sha256 } from '../../../src/digest.js';
import { type Entry, entrySchema } from '../../../src/journal/entries.js';
import { launchName, placeOfName } from '../../../src/plan/launch-name.js';
import { promptDigest } from '../../../src/plan/prompts.js';
import { judge } from '../../../src/verdict/judge.js';
import { makeJournal, makePlan } from '../../fixtures/journal.js';
import {
  endEntry,
  entriesOfLaunch,
  failureEntry,
  inPlaceOf,
  resumeEntry,
} from '../../fixtures/resumed-run.js';

const plan = makePlan();
const numbered = (entries: readonly Entry[]): Entry[] =>
  entries.map((entry, seq) => entrySchema.parse({ ...entry, seq, atNs: String(seq) }));

const LOST = plan.rounds[0]?.order[0] ?? '';
const launch = `r0-${LOST}`;

/** The launch again, as `name`, with the salt of its own. */
const again = (entries: readonly Entry[], name: string): Entry[] =>
  entriesOfLaunch(entries, launch).map((entry) => {
    const asked = entry.kind === 'sample' && { promptSha256: promptDigest(plan, entry.prompt, name) };
    return { ...entry, ...asked, launch: name } as Entry;
  });

/** A session that lost its first launch so many times. */
function lostTimes(times: number, code: string | null = null): Entry[] {
  const entries = makeJournal(plan);
  const names = Array.from({ length: times + 1 }, (_, at) => (at === 0 ? launch : `${launch}.${at + 1}`));
  const blocks = names.flatMap((name, at) => {
    const own = again(entries, name);
    if (at === times) return own;
    const failure = code === null ? [] : [failureEntry(name, code), ...own.slice(-1), endEntry(false)];
    return [...own.slice(0, 4), ...failure, resumeEntry(name)];
  });
  return numbered(inPlaceOf(entries, launch, blocks));
}

describe('launches that were lost', () => {
  test('count for nothing: what remains is the session without them', () => {
    const bare = (entries: readonly Entry[]): unknown[] =>
      entries.map(({ seq: _seq, atNs: _at, ...entry }) => ({
        ...entry,
        ...('launch' in entry && { launch: entry.launch?.replace('.2', '') }),
        ...(entry.kind === 'sample' && { promptSha256: promptDigest(plan, entry.prompt, launch) }),
      }));
    for (const code of [null, 'ERR_QUALIFY_ENGINE_DIED'])
      assert.deepEqual(bare(standingEntries(lostTimes(1, code))), bare(makeJournal(plan)));
  });

  test('are named with what ended them', () => {
    const died = 'ERR_QUALIFY_ENGINE_DIED';
    assert.deepEqual(lostLaunches(lostTimes(1, died)), [{ launch, round: 0, position: 0, code: died }]);
    assert.equal(lostLaunches(lostTimes(1))[0]?.code, null);
    const unready = numbered([...makeJournal(plan).slice(0, 4), resumeEntry('r02-1-head')]);
    assert.deepEqual(lostLaunches(unready), [{ launch: 'r02-1-head', round: 2, position: 1, code: null }]);
  });

  test('failed by themselves or not', () => {
    const by = (code: string | null) => failedByItself({ code });
    assert.equal(by(null), false);
    assert.equal(by('ERR_QUALIFY_INTERRUPTED'), false);
    assert.equal(by('ERR_QUALIFY_DISK_FULL'), false);
    assert.equal(by('ERR_QUALIFY_ENGINE_DIED'), true);
    assert.equal(by('ERR_QUALIFY_TIMEOUT'), true);
  });

  test('are found while they are under way: without a stop, or with a failure', () => {
    const entries = makeJournal(plan, { rounds: 1 }).slice(0, -1);
    assert.equal(launchUnderWay(entries), null);
    assert.equal(launchUnderWay(entries.slice(0, -1))?.launch, `r0-${plan.rounds[0]?.order[1]}`);
    const failed = numbered([...entries.slice(0, -1), failureEntry('r0-head', 'X'), ...entries.slice(-1)]);
    const last = `r0-${plan.rounds[0]?.order[1]}`;
    assert.equal(launchUnderWay(failed)?.launch ?? null, last === 'r0-head' ? last : null);
    assert.equal(launchUnderWay(numbered([...entries.slice(0, -1), resumeEntry(last)])), null);
  });

  test('are one, or a tenth of the launches of a look', () => {
    assert.deepEqual([2, 12, 19, 20, 24, 48].map(bearableLosses), [1, 1, 1, 2, 2, 4]);
    const one = lostLaunches(lostTimes(1));
    assert.deepEqual(tooManyLost(plan, one, 6), []);
    const two = lostLaunches(lostTimes(2));
    assert.deepEqual(
      tooManyLost(plan, two, 6).map(({ code }) => code),
      ['launches-lost'],
    );
    const longer = makePlan({ protocol: { looks: [10, 12] } });
    assert.deepEqual(tooManyLost(longer, two, 10), [], 'two of twenty');
    assert.deepEqual(
      tooManyLost(longer, [...two, { launch: 'x', round: 10, position: 0, code: null }], 10),
      [],
    );
  });

  test('are counted against the launches that the plan has, as the null arm is not in every round', () => {
    const withNull = makePlan({
      protocol: { nullRounds: 2 },
    });
    // 6 rounds of base and head, 2 of the null arm: 14 launches, not 18; 20 would be needed for a second loss.
    const most = makePlan({
      protocol: { looks: [8], nullRounds: 2 },
    });
    const two = [0, 1].map((round) => ({ launch: `r${round}-head`, round, position: 0, code: null }));
    assert.match(tooManyLost(withNull, two, 6)[0]?.message ?? '', /of 14 at most 1 /);
    assert.match(tooManyLost(most, two, 8)[0]?.message ?? '', /of 18 at most 1 /, '24 would bear two');
  });

  test('void the verdict beyond that, and are a warning before', () => {
    const verdict = (entries: Entry[]) => judge(plan, analyse(plan, entries));
    const whole = verdict(makeJournal(plan));
    const once = verdict(lostTimes(1));
    assert.equal(once.result, whole.result);
    assert.deepEqual(once.cells, whole.cells);
    assert.deepEqual(
      once.warnings.map(({ code }) => code),
      ['resumed', ...whole.warnings.map(({ code }) => code)],
    );
    const twice = verdict(lostTimes(2));
    assert.equal(twice.result, 'contaminated');
    assert.deepEqual(
      twice.reasons.map(({ code }) => code),
      ['launches-lost'],
    );
  });

  test('are told with how often the session was resumed', () => {
    const entries = numbered([...makeJournal(plan).slice(0, 4), resumeEntry(null), resumeEntry(null)]);
    assert.match(resumeWarnings(entries)[0]?.message ?? '', /resumed 2 times; no launch was lost/);
    assert.deepEqual(resumeWarnings(makeJournal(plan)), []);
  });
});

describe('a round that was interrupted between its launches', () => {
  const [, SECOND = ''] = plan.rounds[0]?.order ?? [];
  const second = `r0-${SECOND}`;
  const entries = makeJournal(plan);
  const own = entriesOfLaunch(entries, second);
  const split = numbered(
    inPlaceOf(entries, second, [
      ...own.slice(0, 4),
      resumeEntry(second),
      ...own.map((entry) => ({ ...entry, launch: `${second}.2` }) as Entry),
    ]),
  );

  test('is told, with the launches that were measured later', () => {
    const [found] = splitRounds(plan, split);
    assert.equal(found?.code, 'round-split');
    assert.match(found?.message ?? '', new RegExp(`^round 1: .*, and ${second}\\.2 measured later`));
    assert.deepEqual(splitRounds(plan, lostTimes(1)), [], 'the first launch of a round splits nothing');
    assert.deepEqual(splitRounds(plan, entries), []);
  });

  test('is not told of an older plan, whose verdict must come out as it was', () => {
    const { voidShare: _later, ...decision } = plan.decision;
    assert.deepEqual(splitRounds({ ...plan, decision }, split), []);
  });
});

describe('names of launches', () => {
  test('say the place and the attempt', () => {
    const place = { round: 3, position: 1, arm: 'base.x' };
    assert.equal(launchName(place), 'r03-1-base.x');
    assert.equal(launchName(place, 2), 'r03-1-base.x.2');
    assert.deepEqual(placeOfName('r03-1-base.x.2'), { round: 3, position: 1 });
    assert.equal(placeOfName('other'), null);
  });
});

describe('a time of day that was set back', () => {
  const at = (kind: 'session' | 'resume' | 'end', time: string, seconds: number): Entry => {
    const common = { seq: 0, atNs: String(BigInt(Math.round(seconds * 1000)) * 1_000_000n) };
    const harness = { version: '0.1.0', node: 'v20' };
    if (kind === 'resume') return { ...resumeEntry(null, { resumedAt: time }), ...common };
    if (kind === 'end') return { ...common, kind, finishedAt: time, complete: true };
    const evidence = { path: 'evidence/x', sha256: sha256('x') };
    const digests = { planDigest: sha256('p'), machineId: sha256('m'), machine: evidence };
    return { ...common, kind, session: 'test-session', startedAt: time, harness, ...digests };
  };
  const codes = (...entries: Entry[]) => clockSetBackWarnings(entries).map(({ code }) => code);
  const start = at('session', '2026-11-29T12:00:00Z', 0);

  test('is told when it fell, or stood while time went on', () => {
    assert.deepEqual(codes(start, at('end', '2026-11-29T11:00:00Z', 60)), ['clock-set-back']);
    assert.deepEqual(codes(start, at('end', '2026-11-29T12:00:10Z', 60)), ['clock-set-back']);
    assert.deepEqual(codes(start, at('resume', '2026-11-29T11:59:00Z', 60)), ['clock-set-back']);
  });

  test('is not told of a pause, of a clock set forward, or of a slewed one', () => {
    assert.deepEqual(codes(start, at('end', '2026-11-29T12:01:00Z', 60)), []);
    assert.deepEqual(codes(start, at('resume', '2026-12-24T12:00:00Z', 60)), []);
    assert.deepEqual(codes(start, at('end', '2026-11-29T12:00:59.500Z', 60)), []);
    assert.deepEqual(codes(start, at('end', '2026-11-29T15:59:50Z', 4 * 3600)), []);
  });
});
