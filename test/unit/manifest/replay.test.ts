/** What a signer who lies of the verdict is caught at: the folder is sealed after the change, so signature and digests all hold. */
import { test } from 'node:test';
import { edit, first, refuses } from '../../fixtures/lies.js';

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
