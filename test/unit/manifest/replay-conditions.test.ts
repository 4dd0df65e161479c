/** Conditions that a signer made up: what plan and journal determine is derived again. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Draft } from '../../../src/journal/journal.js';
import { first, refuses } from '../../fixtures/lies.js';

const JOURNAL = 'journal.jsonl';
const tells = (field: string, value: string | null) =>
  first('conditions', ({ fields }) => {
    fields[field] = value;
  });

for (const [field, value] of [
  ['workload.prompts', 'a'.repeat(64)],
  ['workload.sampler', '{"temperature":1}'],
  ['workload.warmups', '0'],
  ['workload.samples', '5'],
  ['workload.parity', 'tokens'],
  ['chunk.32/32', '64'],
  ['prompt.32/32', '33'],
  ['generated.32/32', '2'],
  ['model.sha256', 'a'.repeat(64)],
  ['model.sizeBytes', '1'],
  ['model.tokenizer', 'a'.repeat(64)],
  ['engine.threads', '7'],
  ['engine.isa', 'avx512'],
  ['engine.arguments', '["--fast"]'],
  ['engine.plantedSlowdown', '3'],
  ['build.digest', 'a'.repeat(64)],
  ['build.binary', 'a'.repeat(64)],
  ['build.recipe', 'a'.repeat(64)],
  ['toolchain.cmake', '4.0'],
  ['harness.version', '9.9.9'],
  ['workload.clock', null],
] as const) {
  test(`another ${field} than plan and journal give`, (context) =>
    refuses(context, JOURNAL, new RegExp(`tells ${field}=.* of r0-0-\\w+; plan and journal give `), {
      alter: tells(field, value),
    }));
}

test('conditions without a field that plan and journal give', (context) =>
  refuses(context, JOURNAL, /tells engine\.threads=null/, {
    alter: first('conditions', ({ fields }) => {
      delete fields['engine.threads'];
    }),
  }));

/** Puts the first line of conditions elsewhere, and counts and dates the lines anew. */
const reorder = (change: (lines: string[], at: number) => string[]) => async (run: string) => {
  const file = join(run, JOURNAL);
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  const at = lines.findIndex((line) => line.includes('"kind":"conditions"'));
  const numbered = change(lines, at).map((line, seq) =>
    line.replace(/^\{"seq":\d+,"atNs":"\d+"/, `{"seq":${seq},"atNs":"${seq}"`),
  );
  await writeFile(file, `${numbered.join('\n')}\n`);
};

test('conditions that are told before the launch was ready', (context) =>
  refuses(context, JOURNAL, /tells conditions of r0-0-\w+ before it was ready/, {
    change: reorder((lines, at) => lines.with(at, lines[at - 1] ?? '').with(at - 1, lines[at] ?? '')),
  }));

test('conditions that are told after the first request', (context) =>
  refuses(context, JOURNAL, /tells conditions of r0-0-\w+ after it was asked something/, {
    change: reorder((lines, at) => lines.with(at, lines[at + 1] ?? '').with(at + 1, lines[at] ?? '')),
  }));

test('conditions that are told twice', (context) =>
  refuses(context, JOURNAL, /tells conditions of r0-0-\w+ once more/, {
    change: reorder((lines, at) => lines.toSpliced(at, 0, lines[at] ?? '')),
  }));

test('conditions that were changed afterwards so that the arms look alike', (context) => {
  // The session saw another governor in head; the verdict refuses, and the liar takes the difference away.
  const alter = (draft: Draft): Draft =>
    draft.kind === 'conditions' && draft.launch.endsWith('-head')
      ? { ...draft, fields: { ...draft.fields, 'cpu.governor': 'powersave' } }
      : draft;
  return refuses(context, 'verdict.json', /does not follow from plan and journal/, {
    alter,
    change: async (run) => {
      const file = join(run, JOURNAL);
      await writeFile(file, (await readFile(file, 'utf8')).replaceAll('powersave', 'performance'));
    },
  });
});
