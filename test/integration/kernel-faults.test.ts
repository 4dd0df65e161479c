/** Plants faults in a suite of one kernel, which is built with the real tools. */
import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { FAULTS_FILE, type Fault, plantFaults } from '../../src/kernels/faults.js';
import { findToolchain } from '../../src/revision/toolchain.js';
import { scratchFolder } from '../support/folder.js';
import { refusal } from '../support/refusal.js';

const CMAKE = `cmake_minimum_required(VERSION 3.20)
project(tiny LANGUAGES CXX)
add_executable(qualify-kernels ../kernels/suite/main.cpp ../kernels/cpu/sum.cpp)
set_target_properties(qualify-kernels PROPERTIES RUNTIME_OUTPUT_DIRECTORY \${CMAKE_BINARY_DIR})
`;
const SUM = 'int sum(int a, int b) { return a + b; }\nint difference(int a, int b) { return a - b; }\n';
/** Two cases, of which the filter "sum" takes one; nothing looks at `difference`. */
const MAIN = `#include <cstdio>
#include <cstring>
int sum(int a, int b);
int main(int count, char** arguments) {
  bool all = true;
  for (int i = 1; i < count; ++i) all = all && std::strcmp(arguments[i], "sum") != 0;
  const bool right = sum(2, 3) == 5;
  const char* form = "{\\"type\\":\\"case\\",\\"group\\":\\"sum\\",\\"name\\":\\"%s\\",\\"isa\\":\\"portable\\",\\"class\\":\\"exact\\",\\"outcome\\":\\"%s\\"}\\n";
  std::printf(form, "of two", right ? "passed" : "failed");
  if (all) std::printf(form, "CLEAN", "passed");
  return right ? 0 : 1;
}
`;
const fault = (name: string, text: string, replacement: string): Fault => ({
  name,
  why: 'a test',
  file: 'cpu/sum.cpp',
  text,
  replacement,
  filter: 'sum',
});

async function plant(context: TestContext, faults: Fault[], main = MAIN) {
  const folder = await scratchFolder(context);
  for (const place of ['native', 'kernels/cpu', 'kernels/suite'])
    await mkdir(join(folder, place), { recursive: true });
  await writeFile(join(folder, 'native/CMakeLists.txt'), CMAKE);
  await writeFile(join(folder, 'kernels/cpu/sum.cpp'), SUM);
  await writeFile(join(folder, 'kernels/suite/main.cpp'), main);
  await writeFile(join(folder, FAULTS_FILE), JSON.stringify(faults));
  return plantFaults({ sourceFolder: folder, toolchain: await findToolchain(), isa: 'portable', seed: '1' });
}

it('tells the fault that a case catches from the one that none sees, and leaves nothing', async (context) => {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = await scratchFolder(context);
  context.after(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  });
  const outcomes = await plant(context, [
    fault('half a sum', 'a + b', 'a'),
    fault('no difference', 'a - b', 'a'),
  ]);
  assert.deepEqual(
    outcomes.map(({ fault: { name }, caughtBy }) => [name, caughtBy.map((one) => one.name)]),
    [
      ['half a sum', ['of two']],
      ['no difference', []],
    ],
  );
  const left = (await readdir(tmpdir())).filter((name) => name.startsWith('qualify-faults-'));
  assert.deepEqual(left, []);
});

it('counts a crash of the suite as caught', async (context) => {
  const [outcome] = await plant(context, [fault('trap', 'a + b', '(__builtin_trap(), a + b)')]);
  assert.deepEqual(outcome?.caughtBy, []);
  assert.match(outcome?.crash ?? '', /^the suite ended by SIG(ILL|TRAP|ABRT) /);
});

it('refuses a fault that does not compile', async (context) => {
  const { message } = await refusal(plant(context, [fault('no words', 'a + b', 'a +')]));
  assert.match(message, /^the suite does not compile with "no words":\n/);
});

it('refuses to plant anything where a case fails already', async (context) => {
  const broken = MAIN.replace('== 5', '== 6');
  const { message } = await refusal(plant(context, [fault('half a sum', 'a + b', 'a')], broken));
  assert.match(message, /^1 cases fail without any fault: sum\/of two$/);
});
