/**
 * `kill -9` of the harness at 200 points of sessions, each followed by `qualify resume`: during the build phase, in launches, between
 * them, at a look, while the run is sealed, while it is resumed. Each kill loses at most one launch.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { launchUnderWay, lostLaunches, standingEntries } from '../../src/analysis/lost-launches.js';
import type { Entry } from '../../src/journal/entries.js';
import { parseCutJournal } from '../../src/journal/read.js';
import { takeMachineLock } from '../../src/machine/lock.js';
import { MANIFEST_FILE } from '../../src/manifest/evidence-index.js';
import { replayPlan } from '../../src/manifest/replay-plan.js';
import { verifyRun } from '../../src/manifest/verify.js';
import { placesOf } from '../../src/plan/launch-name.js';
import { type Plan, planSchema } from '../../src/plan/schema.js';
import { nothingRunsOf } from '../support/eventually.js';
import { Home } from '../support/run-cli.js';

const KILLS = Number(process.env.QUALIFY_TEST_KILLS ?? 200);
/** Sessions that run side by side; each has a home, a lock and a cache of its own. */
const LANES = 4;
const SEED = Number(process.env.QUALIFY_TEST_SEED ?? Date.now() % 2 ** 31);
const PATIENCE_MS = 60_000;
const POLL_MS = 2;

/** Numbers from 0 to 1 that a seed gives: mulberry32. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const entriesOf = (home: Home): Entry[] => {
  const path = home.path('run', 'journal.jsonl');
  return existsSync(path) ? parseCutJournal(readFileSync(path), path).entries : [];
};

/** How many whole lines the journal has, and which kind the last one is. */
function linesOf(home: Home): { count: number; last: string | undefined } {
  const path = home.path('run', 'journal.jsonl');
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  const last = lines.at(-1);
  return { count: lines.length, last: last && (JSON.parse(last) as { kind: string }).kind };
}

/** The same, asked every few milliseconds: it reads no journal that is as long as it was. */
function watchedLines(home: Home): () => ReturnType<typeof linesOf> {
  let bytes: number | undefined;
  let lines = linesOf(home);
  return () => {
    const now = statSync(home.path('run', 'journal.jsonl'), { throwIfNoEntry: false })?.size;
    if (now !== bytes) lines = linesOf(home);
    bytes = now;
    return lines;
  };
}

/** Launches that are whole and count. */
const whole = (entries: readonly Entry[]): number => {
  const launches = standingEntries(entries).filter((entry) => entry.kind === 'launch').length;
  return launches - (launchUnderWay(entries) === null ? 0 : 1);
};

const planOf = (home: Home): Plan =>
  planSchema.parse(JSON.parse(readFileSync(home.path('run', 'plan.json'), 'utf8')));

/** A launch is nine lines, so that a session of four takes several kills. */
const MOST_LINES = 16;
/** Exit codes of two rounds that went through: too few to decide, and too many launches lost. */
const VERDICTS = [11, 14];

/**
 * Runs a command and kills it: some lines of the journal from now, or some time from now where no line comes. Answers whether the
 * kill hit; a command that was done before is none.
 */
async function killSomewhere(home: Home, args: string[], random: () => number): Promise<boolean> {
  const lines = watchedLines(home);
  const before = lines().count;
  // One in eight waits for the end, to hit the seal.
  const awaited = random() < 1 / 8 ? Number.POSITIVE_INFINITY : Math.floor(random() * MOST_LINES);
  const delayMs = random() * (awaited === 0 ? 400 : 40);
  const { child, finished } = home.start(args);
  const deadline = performance.now() + PATIENCE_MS;
  const isThere = (): boolean => {
    const { count, last } = lines();
    return count >= before + awaited || (count > before && last === 'end');
  };
  while (!isThere() && child.exitCode === null && performance.now() < deadline) await sleep(POLL_MS);
  await sleep(delayMs);
  child.kill('SIGKILL');
  const result = await finished;
  assert.ok(result.signal === 'SIGKILL' || VERDICTS.includes(result.exitCode ?? -1), result.stderr);
  return result.signal === 'SIGKILL';
}

interface Tally {
  kills: number;
  lost: number;
  sessions: number;
  /** How often a kill found which kind of entry last. */
  found: Record<string, number>;
}

/** One session from its beginning to its verified end, with kills in between until there are enough. */
async function session(random: () => number, tally: Tally): Promise<void> {
  const home = new Home();
  try {
    const matrix = home.fakeMatrix({ head: { FAKE_US_PER_TOKEN: '20' } }, { looks: [2], samples: 1 }, [32]);
    let kills = 0;
    let done = 0;
    for (let isOver = false; !isOver; ) {
      const args = hasPlan(home) ? ['resume', 'run'] : ['run', matrix, '--out', 'run'];
      if (tally.kills >= KILLS) {
        assert.ok(VERDICTS.includes((await home.start(args).finished).exitCode ?? -1));
        break;
      }
      isOver = !(await killSomewhere(home, args, random));
      if (isOver) break;
      kills += 1;
      tally.kills += 1;
      done = assertJournal(home, done, tally);
      // The kill came between the seal and the exit: there is nothing to go on with.
      if (existsSync(home.path('run', MANIFEST_FILE))) break;
      // Half of the time at once, so that engines and guards are still on their way out.
      if (random() < 0.5) await nothingRunsOf(home);
    }
    await assertWhole(home, kills);
    tally.lost += lostLaunches(home.journal()).length;
    tally.sessions += 1;
  } finally {
    await home.remove();
  }
}

/** A folder that was killed before it had a plan is begun anew: nothing was fixed yet. */
function hasPlan(home: Home): boolean {
  if (existsSync(home.path('run', 'plan.json'))) return true;
  rmSync(home.path('run'), { recursive: true, force: true });
  return false;
}

/** What a kill left keeps to the plan, and has every launch that was whole before. Answers how many are. */
function assertJournal(home: Home, before: number, tally: Tally): number {
  const entries = entriesOf(home);
  if (entries.length > 0) replayPlan(planOf(home), entries);
  const now = whole(entries);
  assert.ok(now >= before, `${before} launches were whole, now ${now} are`);
  const last = entries.at(-1)?.kind ?? 'no line';
  tally.found[last] = (tally.found[last] ?? 0) + 1;
  return now;
}

async function assertWhole(home: Home, kills: number): Promise<void> {
  await verifyRun(home.path('run'), { keyFolder: home.path('config', 'qualify', 'keys') });
  const entries = home.journal();
  const places = standingEntries(entries).flatMap((entry) =>
    entry.kind === 'launch' ? [{ round: entry.round, position: entry.position, arm: entry.arm }] : [],
  );
  assert.deepEqual(places, placesOf(planOf(home)));
  const resumed = entries.filter((entry) => entry.kind === 'resume').length;
  const launches = entries.filter((entry) => entry.kind === 'launch').length;
  assert.ok(resumed <= kills && lostLaunches(entries).length <= kills);
  assert.ok(launches <= places.length + kills, `${launches} launches after ${kills} kills`);
  const verdict = home.verdict();
  assert.equal(verdict.warnings.filter(({ code }) => code === 'resumed').length, resumed > 0 ? 1 : 0);
  assert.equal(
    verdict.reasons.some(({ code }) => code === 'launches-lost'),
    lostLaunches(entries).length > 1,
  );

  await nothingRunsOf(home);
  assert.deepEqual(readdirSync(home.path('tmp')), []);
  const lock = await takeMachineLock({ what: 'test', wait: false, address: `\0test ${home.folder}` });
  await lock.release();
}

test(`${KILLS} kills of sessions and of their resumptions lose at most a launch each`, async (t) => {
  const tally: Tally = { kills: 0, lost: 0, sessions: 0, found: {} };
  let failed = false;
  t.diagnostic(`seed ${SEED}`);
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    const random = numbers(SEED + lane);
    try {
      while (tally.kills < KILLS && !failed) await session(random, tally);
    } catch (error) {
      // Where one lane fails, the others begin nothing more.
      failed = true;
      throw error;
    }
  });
  await Promise.all(lanes);
  t.diagnostic(JSON.stringify(tally));
  assert.ok(tally.kills >= KILLS);
  assert.ok(tally.lost > 0 && tally.lost <= tally.kills, `${tally.lost} launches were lost`);
});
