import assert from 'node:assert/strict';
import { it } from 'node:test';
import { requireRun } from '../../../src/cli/kernels.js';

const run = (counts: { cases?: number; operations?: number }) => ({
  exitCode: 77,
  lines: [
    { type: 'header' as const, version: 1 as const, threads: 2, supported: 'portable avx2', ...counts },
  ],
});

it('refuses a filter that takes nothing, of test and of bench', () => {
  const usage = { code: 'ERR_QUALIFY_USAGE', exitCode: 64 };
  const flags = { filter: 'nosuch' };
  assert.throws(() => requireRun(run({ cases: 0 }), flags), {
    ...usage,
    message: 'no case has "nosuch" in its group and name',
  });
  assert.throws(() => requireRun(run({ operations: 0 }), flags), {
    ...usage,
    message: 'no operation has "nosuch" in its name',
  });
});

it('refuses an instruction set that this CPU or build lacks, and says which there are', () => {
  assert.throws(() => requireRun(run({ cases: 3 }), { filter: '', isa: 'avx512' }), {
    code: 'ERR_QUALIFY_UNSUPPORTED',
    exitCode: 77,
    message: 'this CPU or build cannot run avx512',
    hint: 'it runs portable, avx2',
  });
  requireRun(run({ cases: 3 }), { filter: '', isa: 'avx2' });
  requireRun(run({ operations: 1 }), { filter: '' });
});
