/** What a signer who lies is caught at: the folder is sealed after the change, so signature and digests all hold. */
import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import { generateKey } from '../../../src/manifest/key-store.js';
import { replayPlan } from '../../../src/manifest/replay-plan.js';
import { seal } from '../../../src/manifest/seal.js';
import { buildPrompts } from '../../../src/plan/prompts.js';
import { edit, first, refuses } from '../../fixtures/lies.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

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

test('a median that the samples do not have', (context) =>
  refuses(context, 'verdict.json', /cells\[0\]\.arms\.head\.median is 9999/, {
    change: edit('verdict.json', /("head": \{[^}]*?"median": )[0-9.]+/, '$19999'),
  }));

test('a verdict that the rule does not give', (context) =>
  refuses(context, 'verdict.json', /does not follow .*result is "fail"/, {
    change: edit('verdict.json', /"result": "[a-z-]+"/, '"result": "fail"'),
  }));

test('a verdict that is spelt differently', (context) =>
  refuses(context, 'verdict.json', /spelt differently/, { change: edit('verdict.json', /\n$/, '') }));

test('a verdict of another version of qualify, which is named', (context) =>
  refuses(context, 'verdict.json', /; the run was sealed by qualify 0\.0\.9 and this is qualify \d/, {
    alter: first('session', ({ harness }) => {
      harness.version = '0.0.9';
    }),
    change: edit('verdict.json', /"result": "[a-z-]+"/, '"result": "fail"'),
  }));

test('a report that says something else than the verdict', (context) =>
  refuses(context, 'report.md', /is not the report of verdict\.json/, {
    change: edit('report.md', /inconclusive/, 'improved'),
  }));

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

test('a look that went on with other cells', (context) =>
  refuses(context, 'journal.jsonl', /goes on with 32\/32 .* by the rule it is no cell/, {
    rounds: 6,
    alter: (draft) => (draft.kind === 'look' ? { ...draft, undecided: ['32/32'] } : draft),
  }));

test('launches in another order than the plan', (context) =>
  refuses(context, 'journal.jsonl', /line \d+ launches base at place \d of round 0, which is not next/, {
    alter: (draft) => (draft.kind === 'launch' ? { ...draft, arm: 'base' } : draft),
  }));

test('a plan that was changed after the session began', (context) =>
  refuses(context, 'plan.json', /began with that of another plan/, {
    change: edit('plan.json', /"marginPercent": 2/, '"marginPercent": 20'),
  }));

test('a short plan of very many tokens is refused before any is drawn', async (context) => {
  const { plan, entries } = await writeRun(await scratchFolder(context), {
    alterPlan: ({ protocol, cells }) => {
      protocol.samples = 400;
      for (const cell of cells) cell.promptTokens = 65_536;
    },
  });
  const began = performance.now();
  assert.throws(
    () => replayPlan(plan, entries),
    /prompts that its seed does not make: 32\/32#control differs/,
  );
  // To draw them takes twenty times as long.
  assert.ok(performance.now() - began < 1500);
});

test('prompts that the seed does not make', (context) =>
  refuses(context, 'plan.json', /prompts that its seed does not make: 32\/32#sample-0 differs/, {
    alterPlan: ({ prompts }) => {
      const [control, warmup, sample, ...rest] = prompts;
      if (control && warmup && sample) prompts.splice(0, prompts.length, control, sample, warmup, ...rest);
    },
  }));

test('an order of launches that the seed does not make', (context) =>
  refuses(context, 'plan.json', /order of launches that its seed does not make/, {
    alterPlan: ({ rounds }) => {
      for (const round of rounds) round.order.reverse();
    },
  }));

test('a level that the protocol does not make', (context) =>
  refuses(
    context,
    'plan.json',
    /does not follow from its own protocol and budgets: decision\.levelPerLook is 0\.4/,
    {
      alterPlan: ({ decision }) => {
        decision.levelPerLook = 0.4;
      },
    },
  ));

test('a margin that is not the budget', (context) =>
  refuses(context, 'plan.json', /protocol and budgets: cells\[0\]\.marginPercent is 20, not 2/, {
    alterPlan: ({ cells }) => {
      for (const cell of cells) cell.marginPercent = 20;
    },
  }));

test('an interval that the protocol does not name', (context) =>
  refuses(context, 'plan.json', /protocol and budgets: decision\.interval is "walsh", not "t"/, {
    alterPlan: ({ decision }) => {
      decision.interval = 'walsh';
    },
  }));

test('a vocabulary that the model does not have', (context) =>
  refuses(context, 'plan.json', /does not make|protocol and budgets: vocabulary/, {
    alterPlan: (plan) => {
      plan.vocabulary = 7;
      plan.prompts = buildPrompts(plan, plan.cells, plan.protocol);
    },
  }));

test('looks that no matrix may have', (context) =>
  refuses(context, 'plan.json', /is of no matrix: looks must rise/, {
    alterPlan: ({ protocol, decision }) => {
      protocol.looks = [1, 1];
      decision.looks = [1, 1];
    },
  }));

test('a plan of another session', (context) =>
  refuses(context, 'journal.jsonl', /is of session another-1, not fixture-1/, {
    alter: first('session', (draft) => {
      draft.session = 'another-1';
    }),
  }));

test('a machine that is not the one of the journal: such a folder is not even sealed', async (context) => {
  const folder = await scratchFolder(context);
  const key = await generateKey('signer', join(folder, 'signer'));
  const alter = first('session', (draft) => {
    draft.machineId = 'a'.repeat(64);
  });
  await writeRun(join(folder, 'run'), { alter });
  await assert.rejects(seal(join(folder, 'run'), key), { where: 'evidence/machine.json' });
});

test('a number in the statement that the run does not have', (context) =>
  refuses(
    context,
    'qualification.intoto.jsonl',
    /states what does not follow from the run: predicate\.cells\[0\]\.arms\.base\.median/,
    {
      state: ({ predicate }) => {
        for (const cell of predicate.cells) for (const arm of Object.values(cell.arms)) arm.median *= 2;
      },
    },
  ));

test('a result in the statement that the run does not have', (context) =>
  refuses(context, 'qualification.intoto.jsonl', /predicate\.result is "pass"/, {
    state: ({ predicate }) => {
      predicate.result = 'pass';
    },
  }));

test('a commit among the subjects that no arm has', (context) =>
  refuses(context, 'qualification.intoto.jsonl', /subject\[1\]/, {
    state: ({ subject }) => {
      subject.push({ name: 'head', digest: { gitCommit: 'd'.repeat(40) } });
    },
  }));

test('a statement with another predicate type', (context) =>
  refuses(context, 'qualification.intoto.jsonl', /has the predicate type "https:\/\/example\.com\/other"/, {
    state: (statement) => Object.assign(statement, { predicateType: 'https://example.com/other' }),
  }));

test('a statement with a field of its own', (context) =>
  refuses(context, 'qualification.intoto.jsonl', /holds no statement of a run: .*waiver/s, {
    state: ({ predicate }) => Object.assign(predicate, { waiver: 'trust me' }),
  }));

test('a report, or a statement, of another version: both versions are named', async (context) => {
  const version = /; the run was sealed by qualify 0\.0\.9\? and this is qualify \d/;
  const ofOther = () =>
    first('session', ({ harness }) => {
      harness.version = '0.0.9\u001b';
    });
  await refuses(context, 'report.md', version, {
    alter: ofOther(),
    change: edit('report.md', /$/, 'Other words.\n'),
  });
  await refuses(context, 'qualification.intoto.jsonl', version, {
    alter: ofOther(),
    state: ({ predicate }) => Object.assign(predicate, { waiver: 'of another version' }),
  });
});

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
