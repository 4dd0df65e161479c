/** A journal that says something else than the engine's own answers and files is caught, though sealed as it is. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import { edit, first, refuses } from '../../fixtures/lies.js';

/** Edits the n-th request or response, by name. */
const editExchange =
  (kind: 'requests' | 'responses', name: RegExp, from: RegExp, to: string) => async (run: string) => {
    const files = (await readdir(join(run, 'evidence', kind), { recursive: true }))
      .filter((file) => name.test(file))
      .sort();
    const path = `evidence/${kind}/${files[0]}`;
    await edit(path, from, to)(run);
    // The journal names the digest of each body, so the liar corrects it there.
    const digest = sha256(await readFile(join(run, path)));
    await edit(
      'journal.jsonl',
      new RegExp(`("path":"${path.replaceAll('.', '\\.').replaceAll('+', '\\+')}","sha256":")[0-9a-f]{64}`),
      `$1${digest}`,
    )(run);
  };

test('a time in the journal that the engine did not say', (context) =>
  refuses(
    context,
    'journal.jsonl',
    /line \d+ says another promptCpuMs than the engine's answer in evidence/,
    {
      alter: first('sample', ({ answer }) => {
        answer.promptCpuMs = 1;
      }),
    },
  ));

test('token ids in the journal that the engine did not say', (context) =>
  refuses(context, 'journal.jsonl', /another tokens? than/, {
    alter: first('control', ({ second }) => {
      second.tokens = [1];
    }),
  }));

test('a chunk in the journal that the engine did not say', (context) =>
  refuses(context, 'journal.jsonl', /another chunk than/, {
    alter: first('sample', ({ answer }) => {
      answer.chunk = 32;
    }),
  }));

test('a tokenizer in the journal that the engine did not name', (context) =>
  refuses(context, 'journal.jsonl', /another tokenizerSha256 than/, {
    alter: first('ready', ({ witness }) => {
      witness.tokenizerSha256 = 'a'.repeat(64);
    }),
  }));

test('a warm-up that is the same in every launch', (context) => {
  let planned = '';
  return refuses(
    context,
    'journal.jsonl',
    /names the prompt "32\/32#warmup-0", which the plan does not have/,
    {
      alterPlan: (plan) => {
        planned = plan.prompts.find(({ kind }) => kind === 'warmup')?.sha256 ?? '';
      },
      alter: first('sample', (sample) => {
        sample.promptSha256 = planned;
      }),
    },
  );
});

test('a digest of logits that the engine did not say', (context) =>
  refuses(context, 'journal.jsonl', /another logitsSha256/, {
    alter: first('sample', ({ answer }) => {
      answer.logitsSha256 = 'a'.repeat(64);
    }),
  }));

test('likely ids that the engine did not name', (context) =>
  refuses(context, 'journal.jsonl', /another probabilities than/, {
    alter: first('sample', ({ answer }) => {
      answer.probabilities = [[[1, -0.1]]];
    }),
  }));

test('an answer that was replaced together with its digest', (context) =>
  refuses(context, 'journal.jsonl', /another promptMs/, {
    change: editExchange('responses', /sample-0/, /"prompt_ms":[0-9.]+/, '"prompt_ms":1'),
  }));

test('a request for another prompt', (context) =>
  refuses(context, /^evidence\/requests\//, /does not ask what the plan says/, {
    change: editExchange('requests', /sample-0/, /"prompt":\[\d+/, '"prompt":[1'),
  }));

test('a request that allowed the cache', (context) =>
  refuses(context, /^evidence\/requests\//, /does not ask what the plan says/, {
    change: editExchange('requests', /sample-1/, /"cache_prompt":false/, '"cache_prompt":true'),
  }));

test('a request for another chunk', (context) =>
  refuses(context, /^evidence\/requests\//, /does not ask what the plan says/, {
    change: editExchange('requests', /sample-1/, /"chunk":\d+/, '"chunk":64'),
  }));

test('an answer that is no answer', (context) =>
  refuses(context, /^evidence\/responses\//, /is not what an engine answers/, {
    change: editExchange('responses', /warmup-0/, /^\{/, '['),
  }));

test('a sample under the name of another prompt', (context) =>
  refuses(
    context,
    'journal.jsonl',
    /names the prompt "32\/32#parity-0", which the plan does not have for a sample/,
    {
      alter: (draft) =>
        draft.kind === 'sample' && draft.purpose === 'sample'
          ? { ...draft, prompt: '32/32#parity-0' }
          : draft,
    },
  ));

test('a sample that is counted as another', (context) =>
  refuses(context, 'journal.jsonl', /uses the prompt 32\/32#sample-1 for 32\/32, number 0/, {
    alter: (draft) =>
      draft.kind === 'sample' && draft.prompt.endsWith('sample-1') ? { ...draft, index: 0 } : draft,
  }));

test('a witness that the engine did not give', (context) =>
  refuses(context, 'journal.jsonl', /another buildDigest than the engine's \/props/, {
    alter: first('ready', ({ witness }) => {
      witness.buildDigest = 'x';
    }),
  }));

test('a file that the journal rests on and nobody has', (context) =>
  refuses(context, 'journal.jsonl', /rests on evidence\/none\.log, which is not in the evidence/, {
    alter: first('stop', ({ log }) => {
      log.path = 'evidence/none.log';
    }),
  }));

test('a log that was changed after the journal named it', (context) =>
  refuses(context, 'journal.jsonl', /rests on evidence\/builds\/worktree\.log with the SHA-256/, {
    change: edit('evidence/builds/worktree.log', 'built', 'not built'),
  }));

test('counters that the last answer of the engine does not have', async (context) => {
  await refuses(context, 'journal.jsonl', /says other counters than the engine's \/props/, {
    alter: first('counters', (entry) => {
      entry.counters = { ...entry.counters, 'moe.grouped': 77 };
    }),
  });
});

test('counters of another launch', (context) =>
  refuses(context, 'journal.jsonl', /whose nonce is not that of the launch/, {
    change: async (run) => {
      const file = join(run, 'journal.jsonl');
      const lines = (await readFile(file, 'utf8')).split('\n');
      const at = lines.flatMap((line, index) => (line.includes('"kind":"counters"') ? [index] : []));
      const [one = 0, two = 0] = at;
      const told = /"counters":\{.*\}/;
      const [left = '', right = ''] = [one, two].map((line) => told.exec(lines[line] ?? '')?.[0]);
      lines[one] = (lines[one] ?? '').replace(told, right);
      lines[two] = (lines[two] ?? '').replace(told, left);
      await writeFile(file, lines.join('\n'));
    },
  }));

test('a summary of telemetry that its file does not give', (context) =>
  refuses(context, 'journal.jsonl', /sums up the telemetry of r0-0-\w+ otherwise than/, {
    alter: first('telemetry', (entry) => {
      entry.throttles = 0;
    }),
  }));

test('telemetry of one reading', (context) =>
  refuses(context, /telemetry\.jsonl$/, /fewer than the two readings/, {
    change: async (run) => {
      const journal = join(run, 'journal.jsonl');
      const entries = (await readFile(journal, 'utf8')).split('\n');
      const at = entries.findIndex((line) => line.includes('"kind":"telemetry"'));
      const { path, sha256: told } = JSON.parse(entries[at] ?? '').log;
      const one = `${(await readFile(join(run, path), 'utf8')).split('\n')[0]}\n`;
      await writeFile(join(run, path), one);
      entries[at] = (entries[at] ?? '').replace(told, sha256(one));
      await writeFile(journal, entries.join('\n'));
    },
  }));
