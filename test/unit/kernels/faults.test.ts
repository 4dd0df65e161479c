import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { Command } from 'commander';
import { register } from '../../../src/cli/kernels.js';
import { QualifyError } from '../../../src/errors.js';
import { harnessFolder } from '../../../src/harness.js';
import { FAULTS_FILE, type Fault, readFaults } from '../../../src/kernels/faults.js';
import { scratchFolder } from '../../support/folder.js';

const FAULT: Fault = {
  name: 'sum of one',
  why: 'half of the values are lost',
  file: 'cpu/sum.cpp',
  text: 'a + b',
  replacement: 'a',
  filter: '',
};

async function sources(context: TestContext, kernel: string, faults: unknown): Promise<string> {
  const folder = await scratchFolder(context);
  await mkdir(join(folder, 'kernels/cpu'), { recursive: true });
  await mkdir(join(folder, 'kernels/suite'));
  await writeFile(join(folder, 'kernels/cpu/sum.cpp'), kernel);
  await writeFile(join(folder, FAULTS_FILE), JSON.stringify(faults));
  return folder;
}

async function refusal(work: Promise<unknown>): Promise<QualifyError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof QualifyError, String(error));
  assert.equal(error.code, 'ERR_QUALIFY_FAULT');
  return error;
}

it('finds every planted fault of our own kernels where it is to be planted', async () => {
  const faults = await readFaults(harnessFolder);
  assert.ok(faults.length >= 10, `${faults.length} faults`);
  assert.equal(new Set(faults.map(({ name }) => name)).size, faults.length);
  for (const { text, replacement } of faults) assert.notEqual(text, replacement);
  const program = new Command();
  register(program);
  const help = program.commands[0]?.commands.find((one) => one.name() === 'test')?.helpInformation() ?? '';
  assert.match(help, new RegExp(`each of the\\s+${faults.length}\\s+faults`));
});

it('names a fault whose text is gone or is there twice', async (context) => {
  const good = await sources(context, 'return a + b;', [FAULT]);
  assert.deepEqual(await readFaults(good), [FAULT]);
  for (const [kernel, count] of [
    ['return b + a;', 0],
    ['return a + b > a + b;', 2],
  ] as const) {
    const { message } = await refusal(readFaults(await sources(context, kernel, [FAULT])));
    assert.equal(
      message,
      `fault "sum of one": its text occurs ${count} times in kernels/cpu/sum.cpp instead of once`,
    );
  }
});

it('refuses a list that is empty or no list of faults', async (context) => {
  for (const list of [[], {}, [{ ...FAULT, text: '' }], [{ ...FAULT, extra: 1 }]]) {
    const error = await refusal(readFaults(await sources(context, 'a + b', list)));
    assert.match(error.message, /^the list of faults cannot be read: /);
    assert.match(error.where ?? '', /kernels\/suite\/faults\.json$/);
  }
});
