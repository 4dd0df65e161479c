/** Lies about the course of a session: what was built, launched, looked at, and which files show it. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { Entry } from '../../../src/journal/entries.js';
import { first, refuses, rewrite } from '../../fixtures/lies.js';
import { endEntry, failureEntry } from '../../fixtures/resumed-run.js';

/** Moves the first entry of a kind behind the first of another. */
const move = (kind: Entry['kind'], behind: Entry['kind']) =>
  rewrite((entries) => {
    const at = entries.findIndex((entry) => entry.kind === kind);
    const moved = entries.splice(at, 1);
    const after = entries.findIndex((entry, index) => index >= at && entry.kind === behind);
    return [...entries.slice(0, after + 1), ...moved, ...entries.slice(after + 1)];
  });

test('a build by another name than what it was made of gives', (context) =>
  refuses(context, 'journal.jsonl', /has the build digest [0-9a-f]{64}; what it was made of gives/, {
    alter: first('build', (build) => {
      build.toolchain = { cmake: '4.0' };
    }),
  }));

test('a build of another revision than the arm has', (context) =>
  refuses(context, 'journal.jsonl', /builds main for base, planned is worktree/, {
    alter: first('build', ({ revision }) => {
      revision.requested = 'main';
    }),
  }));

test('a switch of the arm that the process did not get', (context) =>
  refuses(context, 'journal.jsonl', /launches (base|head) with DFLASH\w+=2, planned is [01]/, {
    alter: first('launch', ({ environment }) => {
      environment.DFLASH_MOE_GROUPED_MMID_PREFILL = '2';
    }),
  }));

test('a variable that no arm asks for, whatever its name', (context) =>
  refuses(context, 'journal.jsonl', /launches (base|head) with OMP_NUM_THREADS, which no arm asks for/, {
    alter: first('launch', ({ environment }) => {
      environment.OMP_NUM_THREADS = '64';
    }),
  }));

for (const name of ['constructor', 'toString', 'valueOf'])
  test(`a variable ${name}, which every object seems to have`, (context) =>
    refuses(context, 'journal.jsonl', /which no arm asks for/, {
      alter: first('launch', ({ environment }) => {
        environment[name] = 'x';
      }),
    }));

test('another number of threads than planned', (context) =>
  refuses(context, 'journal.jsonl', /runs on 2 threads, planned are 4/, {
    alterPlan: ({ engine }) => {
      engine.threads = 4;
    },
  }));

test('a second model', (context) =>
  refuses(context, 'journal.jsonl', /line \d+ names the model once more/, {
    change: rewrite((entries) =>
      entries.flatMap((entry): Entry[] => (entry.kind === 'model' ? [entry, entry] : [entry])),
    ),
  }));

test('two processes at a time', async (context) => {
  await refuses(context, 'journal.jsonl', /launches r0-1-\w+ while r0-0-\w+ is up/, {
    change: move('stop', 'launch'),
  });
  await refuses(context, 'journal.jsonl', /is about r0-0-\w+, which is not up/, {
    change: move('load', 'stop'),
  });
});

for (const kind of ['ready', 'conditions', 'load', 'telemetry', 'counters'] as const)
  test(`${kind} of a launch told twice, of which one is believed`, (context) =>
    refuses(context, 'journal.jsonl', new RegExp(`tells ${kind} of r0-\\d-\\w+ once more`), {
      change: rewrite((entries) =>
        entries.flatMap((entry): Entry[] => (entry.kind === kind ? [entry, entry] : [entry])),
      ),
    }));

for (const code of ['ERR_QUALIFY_BINARY_CHANGED', 'ERR_QUALIFY_ENGINE_DIED']) {
  test(`${code} in the middle of a session, which goes on`, (context) =>
    refuses(context, 'journal.jsonl', new RegExp(`goes on after ${code}, and the session was not resumed`), {
      change: rewrite((entries) => {
        const at = entries.findLastIndex(({ kind }) => kind === 'launch');
        return [...entries.slice(0, at), failureEntry(null, code), ...entries.slice(at)];
      }),
    }));

  test(`${code} in a launch, which goes on`, (context) =>
    refuses(context, 'journal.jsonl', new RegExp(`goes on after ${code}`), {
      change: rewrite((entries) => {
        const at = entries.findIndex(({ kind }) => kind === 'stop');
        const stop = entries[at];
        const failure = failureEntry(stop?.kind === 'stop' ? stop.launch : null, code);
        return [...entries.slice(0, at), failure, ...entries.slice(at)];
      }),
    }));

  test(`${code} of a session that calls itself complete`, (context) =>
    refuses(context, 'journal.jsonl', new RegExp(`calls the session complete after ${code}`), {
      change: rewrite((entries) => [...entries.slice(0, -1), failureEntry(null, code), ...entries.slice(-1)]),
    }));
}

test('a look that the plan has and the journal does not', (context) =>
  refuses(context, 'journal.jsonl', /ends round 0, after which the plan looks; the journal does not/, {
    change: rewrite((entries) => entries.filter((entry) => entry.kind !== 'look')),
  }));

test('a look where the plan has none', (context) =>
  refuses(context, 'journal.jsonl', /looks where the plan does not/, {
    rounds: 2,
    change: rewrite((entries) => {
      const at = entries.findIndex((entry) => entry.kind === 'stop');
      const look = entries.filter((entry) => entry.kind === 'look');
      return [...entries.slice(0, at + 1), ...look, ...entries.slice(at + 1)];
    }),
  }));

test('one file that serves two entries', (context) => {
  let kept: Extract<Entry, { kind: 'stop' }>['log'] | undefined;
  return refuses(
    context,
    'journal.jsonl',
    /rests on evidence\/launches\/\S+\.log, on which line \d+ rests already/,
    {
      alter: (draft) => {
        if (draft.kind !== 'stop') return draft;
        kept ??= draft.log;
        return { ...draft, log: kept };
      },
    },
  );
});

test('a file that no entry rests on', async (context) => {
  const add = (path: string) => (run: string) => writeFile(join(run, path), 'x');
  await refuses(context, 'evidence/launches/r9.log', /nothing in the journal rests on it/, {
    change: add('evidence/launches/r9.log'),
  });
});

for (const path of ['report.html', 'VERDICT-PASS.txt', 'report.md.sh', 'src/x.sh'])
  test(`a signed file that nothing uses: ${path}`, (context) =>
    refuses(context, path, /is no file of a run/, {
      change: async (run) => {
        await mkdir(dirname(join(run, path)), { recursive: true });
        await writeFile(join(run, path), 'PASS');
      },
    }));

test('a file of a launch that went well, in a session that broke at another', (context) =>
  refuses(context, /^evidence\/requests\/r0-0-\w+\//, /nothing in the journal rests on it/, {
    change: rewrite((entries) => {
      const at = entries.findIndex((entry) => entry.kind === 'sample');
      const failure: Entry = {
        ...{ seq: 0, atNs: '0' },
        kind: 'failure',
        ...{ launch: null, code: 'ERR_QUALIFY_X', message: 'x' },
      };
      const kept = entries.filter((_, index) => index !== at);
      return [...kept.slice(0, -1), failure, endEntry(false)];
    }),
  }));
