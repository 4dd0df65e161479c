/** A cache that outlives its process: counts say cold, and samples are faster than what nobody can have seen before. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EntryOf } from '../../../src/journal/entries.js';
import type { Verdict } from '../../../src/verdict/schema.js';
import { alterAnswers, type JournalOptions, makePlan, verdictOf } from '../../fixtures/journal.js';

const plan = makePlan();
/** Arms in order of their launches. */
const launches = plan.rounds.flatMap(({ round, order }) => order.map((arm) => `r${round}-${arm}`));
const [first = '', second = ''] = launches;

/** Divides the prefill times of samples, or warm-ups, that `where` picks. */
const faster = (
  by: number,
  where: (sample: EntryOf<'sample'>) => boolean,
  purpose: 'sample' | 'warmup' = 'sample',
): JournalOptions => ({
  alter: alterAnswers(
    (sample) => sample.purpose === purpose && where(sample),
    ({ answer: { promptMs, promptCpuMs, clientMs } }) => ({
      promptMs: (promptMs ?? 0) / by,
      promptCpuMs: (promptCpuMs ?? 0) / by,
      clientMs: clientMs - (promptMs ?? 0) * (1 - 1 / by),
    }),
  ),
});

function refused(verdict: Verdict): void {
  const [cell] = verdict.cells;
  assert.equal(verdict.result, 'cold-unproved');
  assert.equal(verdict.exitCode, 14);
  assert.equal(cell?.coldness.status, 'violated');
  assert.deepEqual(
    cell.coldness.reasons.map(({ code }) => code),
    ['warm-across-launches'],
  );
  assert.deepEqual(cell.arms, {});
}

function borne(options: JournalOptions): void {
  const [cell] = verdictOf(plan, options).cells;
  assert.equal(cell?.coldness.status, 'proved');
}

describe('samples that outrun the new prompt of a warm-up', () => {
  test('are refused in all launches but the first, in both arms alike', () =>
    refused(
      verdictOf(
        plan,
        faster(2, ({ launch }) => launch !== first),
      ),
    ));

  test('are refused in the arm that comes second, from the first round on', () => {
    const arm = second.split('-')[1] ?? '';
    refused(
      verdictOf(
        plan,
        faster(8, ({ launch }) => launch.endsWith(`-${arm}`)),
      ),
    );
  });

  test('are refused where it is the second launch of each round', () => {
    const late = plan.rounds.map(({ round, order }) => `r${round}-${order[1]}`);
    refused(
      verdictOf(
        plan,
        faster(8, ({ launch }) => late.includes(launch)),
      ),
    );
  });

  test('are refused in a single round, where they are more than twice as fast', () => {
    const one = makePlan({ protocol: { looks: [1] } });
    refused(
      verdictOf(
        one,
        faster(2.1, ({ launch }) => launch !== first),
      ),
    );
    assert.equal(
      verdictOf(
        one,
        faster(1.9, ({ launch }) => launch !== first),
      ).result,
      'inconclusive',
    );
  });

  test('are refused where every launch has them, the first too: another session has left them there', () =>
    refused(
      verdictOf(
        plan,
        faster(10, () => true),
      ),
    ));

  test('are borne to a quarter', () => borne(faster(1.2, ({ launch }) => launch !== first)));

  test('are borne where the first launch had them too: that is warming up', () =>
    borne(faster(1.9, () => true)));

  test('are borne where the first of them is as slow as the warm-up: that is too few warm-ups', () => {
    const begun = new Set<string>();
    borne(
      faster(3, ({ launch }) => {
        const isFirst = !begun.has(launch);
        begun.add(launch);
        return launch !== first && !isFirst;
      }),
    );
  });

  test('are borne in fewer than half of the launches: those are hiccups of the warm-up', () =>
    borne(faster(3, ({ launch }) => ['r1-head', 'r3-head'].includes(launch))));

  describe('where the arm computed as fast what was new in other launches, so that these were half awake,', () => {
    const awake = plan.arms.flatMap(({ name }) =>
      launches.filter((launch) => launch.endsWith(`-${name}`)).slice(0, 2),
    );
    const halfAwake = (but: readonly string[]): JournalOptions =>
      faster(0.6, ({ launch }) => launch !== first && !but.includes(launch), 'warmup');

    test('are borne', () => borne(halfAwake(awake)));

    test('are refused where it was one launch: a slip of a clock', () => {
      refused(verdictOf(plan, halfAwake([second])));
      refused(verdictOf(plan, halfAwake([])));
    });

    test('are refused where the client waited for what the engine says to have computed so fast', () => {
      const { alter } = halfAwake(awake);
      const waited: JournalOptions = {
        alter: (draft) => {
          const altered = alter?.(draft) ?? null;
          return altered?.kind === 'sample' && altered.purpose === 'warmup' && awake.includes(altered.launch)
            ? { ...altered, answer: { ...altered.answer, clientMs: 3 * altered.answer.clientMs } }
            : altered;
        },
      };
      refused(verdictOf(plan, waited));
    });
  });

  test('are looked for in the prefill of a cell that times decoding', () => {
    const decode = makePlan({
      cells: [{ promptTokens: 64, chunk: 32, phase: 'decode', generatedTokens: 32 }],
    });
    refused(
      verdictOf(
        decode,
        faster(2, ({ launch }) => launch !== first),
      ),
    );
  });

  test('cannot be seen without warm-ups, which is said', () => {
    const bare = makePlan({ protocol: { warmups: 0 } });
    const verdict = verdictOf(bare);
    assert.equal(verdict.result, 'pass');
    assert.ok(verdict.warnings.some(({ code }) => code === 'no-warm-ups'));
    assert.ok(!verdictOf(plan).warnings.some(({ code }) => code === 'no-warm-ups'));
  });
});
