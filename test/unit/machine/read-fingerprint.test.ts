/** The fingerprint and the doctor's words are read off the machine: each file of one that is made up is changed alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { examine } from '../../../src/machine/doctor.js';
import { fingerprint } from '../../../src/machine/fingerprint.js';
import { found, type Row, shownMachine } from '../../fixtures/made-up-machine.js';

const machine = shownMachine();

const CPU = '/sys/devices/system/cpu';
const CARD = '/sys/class/drm/card0/device';
const NVIDIA = '/proc/driver/nvidia/gpus/0000:41:00.0/information';

test('a file of the machine that is changed alone changes its field of the fingerprint alone', async () => {
  const rows: Row[] = [
    ['/etc/os-release', 'PRETTY_NAME=Another', { 'system.distribution': 'Another' }],
    ['/.dockerenv', '', { 'system.container': true }],
    ['/proc/cpuinfo', 'flags\t: sse4_2 avx2 f16c\n', { 'cpu.features.1': 'f16c', 'cpu.features.2': 'avx2' }],
    [
      '/proc/cpuinfo',
      'flags\t: fpu sse4_2 avx2 avx_vnni avx512f avx512bw avx512vl avx512_vnni avx512_fp16\n',
      {
        'cpu.features.2': 'avx_vnni',
        'cpu.features.3': 'avx512f',
        'cpu.features.4': 'avx512bw',
        'cpu.features.5': 'avx512vl',
        'cpu.features.6': 'avx512_vnni',
      },
    ],
    ['/sys/fs/cgroup/cpu.max', '50000 100000', { 'cpu.quota': '50000 100000' }],
    [`${CPU}/cpu0/cpufreq/scaling_governor`, 'powersave', { 'cpu.governor': 'powersave' }],
    [`${CPU}/cpu0/cpufreq/energy_performance_preference`, 'power', { 'cpu.energyPreference': 'power' }],
    [`${CPU}/cpufreq/boost`, '0', { 'cpu.boost': '0' }],
    [`${CPU}/smt/control`, 'off', { 'cpu.smt': 'off' }],
    ['/sys/devices/system/node/node2/cpulist', '', { 'cpu.numaNodes': 3 }],
    ['/proc/meminfo', { piece: ' 2000000 kB', by: ' 1 kB' }, { 'memory.swapTotalBytes': '1024' }],
    ['/proc/meminfo', { piece: ' 1500000 kB', by: ' 1 kB' }, {}],
    [
      '/sys/kernel/mm/transparent_hugepage/enabled',
      '[always] madvise never',
      { 'memory.transparentHugePages': 'always' },
    ],
    ['/sys/kernel/mm/transparent_hugepage/defrag', '[always]', {}],
    [`${CARD}/vendor`, '0x8086', { 'gpus.0.vendor': '0x8086' }],
    // A card of NVIDIA is told once, by its driver.
    [
      `${CARD}/vendor`,
      '0x10de',
      {
        'gpus.0.vendor': '0x10de',
        'gpus.0.device': '0000:41:00.0',
        'gpus.0.name': 'NVIDIA X',
        'gpus.1.vendor': undefined,
        'gpus.1.device': undefined,
        'gpus.1.name': undefined,
      },
    ],
    [`${CARD}/device`, '0x1', { 'gpus.0.device': '0x1' }],
    [`${CARD}/product_name`, 'B card', { 'gpus.0.name': 'B card' }],
    [NVIDIA, { piece: 'NVIDIA X', by: 'NVIDIA Y' }, { 'gpus.1.name': 'NVIDIA Y' }],
  ];
  assert.deepEqual(await found(machine, rows, fingerprint), rows);
  assert.equal(fingerprint().system.kernel, '6.1.0-made-up');
});

test('the doctor says of a machine what its files say', async (t) => {
  const path = process.env.PATH;
  t.after(() => {
    process.env.PATH = path;
  });
  // Its tools are not what is asked for here.
  process.env.PATH = '/nowhere';
  const read = async () => {
    // The disk is this machine's own, and others write on it.
    const findings = (await examine()).filter(({ check }) => check !== 'disk');
    return Object.fromEntries(findings.map(({ check, status, found }) => [check, `${status}: ${found}`]));
  };
  const rows: Row[] = [
    [`${CPU}/cpu0/cpufreq/scaling_governor`, 'powersave', { governor: 'warn: powersave' }],
    [
      '/proc/meminfo',
      { piece: '12000000 kB', by: '1000000 kB' },
      { memory: 'warn: 1.0 GB of 16.4 GB available' },
    ],
    ['/proc/meminfo', { piece: ' 1500000 kB', by: ' 2000000 kB' }, { swap: 'ok: 0.0 GB in use' }],
    ['/sys/fs/cgroup/memory.max', '7000000000', { memory: 'ok: 4.0 GB of 16.4 GB available' }],
    [`${CARD}/product_name`, 'B card', { gpus: 'ok: B card, NVIDIA X' }],
  ];
  assert.deepEqual(await found(machine, rows, read), rows);
  await machine.during([['/sys/fs/cgroup/memory.max', '7000000000']], async () => {
    const used: Row[] = [
      ['/sys/fs/cgroup/memory.current', '6000000000', { memory: 'warn: 1.0 GB of 16.4 GB available' }],
    ];
    assert.deepEqual(await found(machine, used, read), used);
  });
});
