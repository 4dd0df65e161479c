/** Reading the conditions of a launch: what the texts of the kernel say, and what is told of this very process. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { requiredFields } from '../../../src/analysis/field-classes.js';
import { sha256 } from '../../../src/digest.js';
import { groupOf, lineage } from '../../../src/machine/cgroup-conditions.js';
import { gatherConditions } from '../../../src/machine/conditions.js';
import { nvidiaDriver, nvidiaField } from '../../../src/machine/gpu-conditions.js';
import { listenersOf, listeningInodes } from '../../../src/machine/listener.js';
import { executableMappings, mappedDigest } from '../../../src/machine/mapped-files.js';
import { runtimeVersions } from '../../../src/machine/process-conditions.js';
import { conditionText, isSteering, variableText } from '../../../src/matrix/condition-values.js';
import { removeFolder } from '../../support/folder.js';

const MAPS = `5566-5567 r--p 00000000 fe:00 12 /usr/bin/engine
5567-5568 r-xp 00001000 fe:00 12                         /usr/bin/engine
7f00-7f01 r-xp 00000000 fe:00 34                         /opt/my libs/libx.so.1
7f01-7f02 r-xp 00000000 fe:00 34                         /opt/my libs/libx.so.1
7f02-7f03 r--p 00000000 fe:00 56                         /usr/share/data.bin
7f03-7f04 r-xp 00000000 fe:00 78                         /tmp/old.so (deleted)
7f04-7f05 rwxp 00000000 00:00 0
7ffd-7ffe r-xp 00000000 00:00 0                          [vdso]
`;

describe('mapped files', () => {
  test('are those with an executable mapping, once each, also with blanks in their path', () => {
    assert.deepEqual(executableMappings(MAPS), [
      { path: '/usr/bin/engine', deleted: false },
      { path: '/opt/my libs/libx.so.1', deleted: false },
      { path: '/tmp/old.so', deleted: true },
    ]);
  });

  test('are known by their content, also once that has changed under the same name', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'qualify-mapped-'));
    t.after(() => removeFolder(folder));
    const path = join(folder, 'a.so');
    writeFileSync(path, 'one');
    assert.equal(await mappedDigest({ path, deleted: false }), sha256('one'));
    assert.equal(await mappedDigest({ path, deleted: false }), sha256('one'));
    writeFileSync(path, 'another');
    assert.equal(await mappedDigest({ path, deleted: false }), sha256('another'));
    assert.equal(await mappedDigest({ path, deleted: true }), 'deleted');
    assert.equal(await mappedDigest({ path: join(folder, 'none'), deleted: false }), 'unreadable');
  });

  test('name the versions of runtimes', () => {
    const found = runtimeVersions([
      '/opt/rocm/lib/libamdhip64.so.6.2.60200',
      '/usr/lib/libcudart.so.12.4.127',
    ]);
    assert.equal(found['runtime.hip'], '6.2.60200');
    assert.equal(found['runtime.cuda'], '12.4.127');
    assert.equal(found['runtime.vulkan'], null);
  });
});

test('the driver of NVIDIA is named by both of its kernel modules', () => {
  const closed = 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023';
  const open = 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build  (x@y)';
  assert.equal(nvidiaDriver(closed), '535.104.05');
  assert.equal(nvidiaDriver(open), '550.54.15');
  assert.equal(nvidiaDriver(''), undefined);
});

test('a card of NVIDIA tells its firmware, and nothing while it sleeps', () => {
  const awake = 'Model: \t\t NVIDIA H200\nVideo BIOS: \t 96.00.a5.00.1a\nGPU Firmware: \t 580.159.04\n';
  assert.equal(nvidiaField(awake, 'Model'), 'NVIDIA H200');
  assert.equal(nvidiaField(awake, 'Video BIOS'), '96.00.a5.00.1a');
  assert.equal(nvidiaField(awake, 'GPU Firmware'), '580.159.04');
  assert.equal(nvidiaField('Video BIOS: \t ??.??.??.??.??\n', 'Video BIOS'), undefined);
  assert.equal(nvidiaField(awake, 'None'), undefined);
});

describe('the process that listens', () => {
  test('is known by the inode of its socket in the table of the kernel', () => {
    const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0
   1: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0
   2: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0
`;
    assert.deepEqual(listeningInodes(table, 8080), ['4711']);
    assert.deepEqual(listeningInodes(table, 80), []);
  });

  test('is found among others by its port', async (t) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    assert.deepEqual(listenersOf(port, [1, process.pid]), [process.pid]);
    assert.deepEqual(listenersOf(port === 1 ? 2 : 1, [process.pid]), []);
  });
});

describe('control groups', () => {
  test('of both versions are found, with those above them', () => {
    const mixed = '4:memory:/a/b\n1:cpu,cpuacct:/\n0::/user.slice\n';
    assert.deepEqual(groupOf(mixed, 'memory'), { version: 1, path: '/a/b' });
    assert.deepEqual(groupOf(mixed, 'cpu'), { version: 1, path: '/' });
    assert.deepEqual(groupOf(mixed, 'cpuset'), { version: 2, path: '/user.slice' });
    assert.equal(groupOf('', 'cpu'), null);
    assert.deepEqual(lineage('/m', '/a/b'), ['/m/a/b', '/m/a', '/m']);
    assert.deepEqual(lineage('/m', '/'), ['/m']);
  });
});

describe('a value', () => {
  test('is printable and short, and two long ones stay two', () => {
    assert.equal(conditionText('a\u001b[31m\n\u00e9'), 'a\\u{1b}[31m\\u{a}\\u{e9}');
    const [one, two] = [conditionText(`${'x'.repeat(300)}1`), conditionText(`${'x'.repeat(300)}2`)];
    assert.ok(one.length <= 160);
    assert.notEqual(one, two);
  });

  test('of a variable is null when unset, empty when empty, and names no place', () => {
    const given = { HOME: '/tmp/launch-1/home' };
    assert.equal(variableText('A', undefined, given), null);
    assert.equal(variableText('A', '', given), '');
    assert.equal(variableText('HOME', '/tmp/launch-1/home', given), 'own');
    assert.equal(variableText('HOME', '/home/someone', given), `sha256:${sha256('/home/someone')}`);
    assert.equal(variableText('GGML_FILE', '/home/someone/x', given), `sha256:${sha256('/home/someone/x')}`);
  });

  test('of a variable that steers is told', () => {
    for (const name of ['LD_PRELOAD', 'GGML_X', 'MALLOC_ARENA_MAX', 'HSA_X', 'OMP_NUM_THREADS', 'DFLASH_X'])
      assert.ok(isSteering(name), name);
    for (const name of ['PWD', 'SHLVL', 'GGML', 'MY_GGML_X']) assert.ok(!isSteering(name), name);
  });
});

test('everything that is looked up is looked up, of a process that is there and of one that is not', async () => {
  const facts = { port: 1, environment: {}, variables: ['SOME_SWITCH'], buildFolder: '/none' };
  const known = /^(build|workload|engine|model|harness)\./;
  const found = await gatherConditions({ pid: process.pid, ...facts });
  assert.deepEqual(
    requiredFields.filter((field) => !known.test(field) && !(field in found)),
    [],
  );
  assert.equal(found['environment.SOME_SWITCH'], null);
  assert.ok((found['library.count'] ?? '0') > '0');
  const gone = await gatherConditions({ pid: 2 ** 22 + 1, ...facts });
  assert.equal(gone['process.executable'], null);
  assert.equal(gone['process.cpus'], null);
});
