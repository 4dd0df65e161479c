/** A suite that is a shell script: what is read of it, and what becomes of one that crashes or hangs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { QualifyError } from '../../../src/errors.js';
import type { SuiteLine } from '../../../src/kernels/lines.js';
import { runSuite } from '../../../src/kernels/suite.js';
import { processStat } from '../../../src/machine/procfs.js';
import { eventually } from '../../support/eventually.js';
import { scratchFolder } from '../../support/folder.js';
import { refusal } from '../../support/refusal.js';

const HEADER = '{"type":"header","version":1,"seed":"18446744073709551615","threads":2,"cases":1}';
const CASE =
  '{"type":"case","group":"top-k","name":"many ties","isa":"avx2","class":"exact","outcome":"passed","compared":9,"ms":1.5}';

async function program(context: TestContext, ...lines: string[]): Promise<string> {
  const path = join(await scratchFolder(context), 'suite');
  await writeFile(path, `#!/bin/sh\n${lines.join('\n')}\n`);
  await chmod(path, 0o755);
  return path;
}

it('hands on every line as it comes, and the code of failed and of unsupported cases', async (context) => {
  for (const code of [0, 1, 77]) {
    const path = await program(context, `echo '${HEADER}'`, `echo '${CASE}'`, `exit ${code}`);
    const seen: SuiteLine[] = [];
    const { lines, exitCode } = await runSuite(path, [], { onLine: (line) => seen.push(line) });
    assert.equal(exitCode, code);
    assert.deepEqual(seen, lines);
    assert.deepEqual(
      lines.map(({ type }) => type),
      ['header', 'case'],
    );
  }
});

it('takes a crash for no result, and names the case before it', async (context) => {
  const path = await program(context, `echo '${CASE}'`, 'echo oh no >&2', 'kill -SEGV $$');
  const error = await refusal(runSuite(path, []));
  assert.equal(error.code, 'ERR_QUALIFY_KERNEL_SUITE');
  assert.equal(error.exitCode, 15);
  assert.match(error.message, /SIGSEGV after the case "top-k\/many ties" on avx2\noh no/);
});

it('refuses an exit code and a line that are none of the suite', async (context) => {
  assert.match((await refusal(runSuite(await program(context, 'exit 3'), []))).message, /exit 3/);
  const odd = await program(context, `echo '{"type":"case","outcome":"fine"}'`);
  assert.match(
    (await refusal(runSuite(odd, []))).message,
    /the suite printed: \{"type":"case","outcome":"fine"\}/,
  );
});

it('leaves nothing running when it is interrupted', async (context) => {
  const started = join(await scratchFolder(context), 'started');
  const path = await program(context, 'sleep 600 &', `echo $$ $! > '${started}'`, `echo '${HEADER}'`, 'wait');
  const controller = new AbortController();
  const reason = new QualifyError('ERR_QUALIFY_INTERRUPTED', 'interrupted', { exit: 'notMeasured' });
  let pids: number[] = [];
  const run = runSuite(path, [], {
    signal: controller.signal,
    onLine: () => {
      pids = readFileSync(started, 'utf8').trim().split(' ').map(Number);
      assert.deepEqual(pids.map(isRunning), [true, true]);
      controller.abort(reason);
    },
  });
  assert.equal(await refusal(run), reason);
  assert.equal(pids.length, 2);
  await eventually(() => !pids.some(isRunning), 'neither runs');
});

/** Not those that have ended and wait for their parent. */
const isRunning = (pid: number): boolean => !['Z', 'X', undefined].includes(processStat(pid)?.state);
