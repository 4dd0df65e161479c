/** Lines of a given width, in which names and digests stay whole where they fit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimate } from '../../../src/plan/estimate.js';
import { describePlan } from '../../../src/report/plan.js';
import { labelled, wrap } from '../../../src/report/wrap.js';
import { makePlan } from '../../fixtures/journal.js';

test('words break after hyphens only where they are wider than a line', () => {
  assert.deepEqual(wrap('off fused-combine on', 13), ['off', 'fused-combine', 'on']);
  assert.deepEqual(wrap('off fused-combine on', 10), ['off fused-', 'combine on']);
  assert.deepEqual(wrap('abcdefgh', 3), ['abc', 'def', 'gh']);
});

test('a label that reaches into the column of the text has a line to itself', () => {
  assert.deepEqual(labelled('arm', 'a b', 5, 7), ['arm  a', '     b']);
  assert.deepEqual(labelled('arm-x', 'a b', 5, 9), ['arm-x', '     a b']);
});

test('a plan is 80 wide with whole digests, arm names and warnings, and counts one as one', () => {
  const arms = { base: {}, 'expert-major': {}, 'an-arm-with-a-name-of-some-length': {} };
  const plan = makePlan({ arms });
  const text = describePlan(plan, estimate(plan), ['the peer is not installed']);
  for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
  assert.match(text, /^digest +[0-9a-f]{64}$/m);
  assert.match(text, /^seed +[0-9a-f]{64}$/m);
  assert.match(text, /^arm an-arm-with-a-name-of-some-length$/m);
  assert.match(text, /^warning +the peer is not installed$/m);
  assert.match(text.replaceAll(/\s+/g, ' '), / 1 warm-up, 3 samples,/);
  for (const line of text.split('\n')) assert.doesNotMatch(line, /(expert|arm|name|length)-$/);
});
