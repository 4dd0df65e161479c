/** Samples whose coldness is not proved, or whose times cannot be, are refused. */
import { describe } from 'node:test';
import { alterAnswers } from '../../fixtures/journal.js';
import { type Case, inHead, refusesEach } from '../../fixtures/refused.js';

const cold: Case[] = [
  ['a cache hit', 'cold-unproved', 'cache-hit', 14, alterAnswers(inHead, () => ({ cacheN: 16 }))],
  [
    'a cache count that is absent',
    'cold-unproved',
    'cache-count-absent',
    14,
    alterAnswers(inHead, () => ({ cacheN: null })),
  ],
  [
    'a prompt that was not evaluated whole',
    'cold-unproved',
    'prompt-not-evaluated',
    14,
    alterAnswers(inHead, () => ({ promptN: 63 })),
  ],
  [
    'a token that the engine adds',
    'cold-unproved',
    'tokens-added',
    14,
    alterAnswers(inHead, () => ({ promptN: 65 })),
  ],
  [
    'no positive control',
    'cold-unproved',
    'control-missing',
    14,
    (draft) => (draft.kind === 'control' && inHead(draft) ? null : draft),
  ],
  [
    'a positive control without reuse',
    'cold-unproved',
    'control-without-reuse',
    14,
    (draft) => (draft.kind === 'control' ? { ...draft, second: { ...draft.second, cacheN: 0 } } : draft),
  ],
];

describe('coldness that is not proved', () => refusesEach(cold));

const timed: Case[] = [
  [
    'a time that no clock can tell',
    'cold-unproved',
    'time-too-short',
    14,
    alterAnswers(inHead, () => ({ promptCpuMs: 0.001 })),
  ],
  [
    'a server time beyond the client',
    'cold-unproved',
    'time-beyond-client',
    14,
    alterAnswers(inHead, () => ({ clientMs: 20 })),
  ],
  [
    'a speed that no arithmetic allows',
    'cold-unproved',
    'impossible-speed',
    14,
    alterAnswers(inHead, () => ({ promptCpuMs: 0.2 })),
  ],
];

describe('times that cannot be', () => refusesEach(timed));
