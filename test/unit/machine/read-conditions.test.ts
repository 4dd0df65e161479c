/** Conditions are read off the machine: each file of one that is made up is changed alone, and its field alone changes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import { gatherConditions } from '../../../src/machine/conditions.js';
import {
  auxiliaryVector,
  engineStat,
  machineFiles,
  socketTable,
  statLine,
} from '../../fixtures/machine-files.js';
import { found, type Row, shownMachine } from '../../fixtures/made-up-machine.js';

const machine = shownMachine();

const facts = { pid: 4242, port: 8080, environment: {}, variables: [], buildFolder: '/nowhere/build' };
const read = () => gatherConditions(facts);
const digest = (text: string): string => `sha256:${sha256(text)}`;

const CPU = '/sys/devices/system/cpu';
const cpus: Row[] = [
  ['/proc/cpuinfo', '', { 'cpu.microcode': null, 'cpu.flags': null, 'cpu.features': '' }],
  ['/proc/cpuinfo', 'microcode\t: 0xb5\nflags\t: fpu sse4_2 avx2\n', { 'cpu.microcode': '0xb5' }],
  [
    '/proc/cpuinfo',
    'microcode\t: 0xb4\nFeatures\t: asimd\n',
    { 'cpu.flags': digest('asimd'), 'cpu.features': '' },
  ],
  [
    '/proc/cpuinfo',
    'microcode\t: 0xb4\nflags\t: avx fma\n',
    { 'cpu.flags': digest('avx fma'), 'cpu.features': 'avx fma' },
  ],
  [`${CPU}/online`, '0', { 'cpu.online': '0' }],
  [`${CPU}/possible`, '0', {}],
  [`${CPU}/isolated`, '1', { 'cpu.isolated': '1' }],
  [`${CPU}/cpu0/cpufreq/scaling_governor`, 'powersave', { 'cpu.governor': 'performance, powersave' }],
  [`${CPU}/cpu1/cpufreq/scaling_governor`, 'powersave', { 'cpu.governor': 'performance, powersave' }],
  [`${CPU}/cpu1/cpufreq/scaling_driver`, 'none', { 'cpu.scalingDriver': 'acpi-cpufreq, none' }],
  [
    `${CPU}/cpu1/cpufreq/energy_performance_preference`,
    'performance',
    { 'cpu.energyPreference': 'balance_performance, performance' },
  ],
  [`${CPU}/cpu1/cpufreq/scaling_max_freq`, '4100000', { 'cpu.maximumFrequency': '4100000, 4200000' }],
  [`${CPU}/cpu1/cpufreq/scaling_min_freq`, '4100000', {}],
  [`${CPU}/cpu0/cpufreq/scaling_cur_freq`, '1000000', { 'start.frequency': '1000000' }],
  [`${CPU}/cpufreq/boost`, '0', { 'cpu.boost': '0' }],
  [`${CPU}/smt/control`, 'off', { 'cpu.smt': 'off' }],
  [`${CPU}/smt/active`, '0', {}],
  [`${CPU}/cpuidle/current_driver`, 'intel_idle', { 'cpu.idleDriver': 'intel_idle' }],
  [
    `${CPU}/vulnerabilities/meltdown`,
    'Vulnerable',
    { 'cpu.mitigations': digest('meltdown: Vulnerable\nspectre_v2: Mitigation: Retpolines') },
  ],
  ['/sys/devices/system/node/node2/cpulist', '', { 'numa.nodes': '3' }],
  ['/sys/devices/system/node/online', '0', {}],
];

const MEMORY = '/sys/kernel/mm/transparent_hugepage';
const memory: Row[] = [
  ['/proc/meminfo', { piece: ' 4000000 kB', by: ' 1 kB' }, { 'start.freeMemory': '1024' }],
  ['/proc/meminfo', { piece: '12000000 kB', by: '2 kB' }, { 'start.availableMemory': '2048' }],
  ['/proc/meminfo', { piece: ' 6000000 kB', by: ' 3 kB' }, { 'start.pageCache': '3072' }],
  [
    '/proc/meminfo',
    { piece: ' 2000000 kB', by: ' 3000000 kB' },
    { 'memory.swapTotal': '3072000000', 'start.swapUsed': '1536000000' },
  ],
  ['/proc/meminfo', { piece: ' 1500000 kB', by: ' 2000000 kB' }, { 'start.swapUsed': '0' }],
  ['/proc/sys/vm/nr_hugepages', '0', { 'memory.hugePages': '0' }],
  [`${MEMORY}/enabled`, 'always madvise [never]', { 'memory.transparentHugePages': 'never' }],
  [`${MEMORY}/defrag`, '[always] defer madvise never', { 'memory.hugePageDefrag': 'always' }],
  ['/sys/kernel/mm/ksm/run', '1', { 'memory.ksm': '1' }],
  ['/sys/module/zswap/parameters/enabled', 'Y', { 'memory.zswap': 'Y' }],
  ['/proc/sys/vm/swappiness', '10', { 'memory.swappiness': '10' }],
  ['/proc/sys/vm/overcommit_memory', '1', { 'memory.overcommit': '1' }],
  ['/proc/sys/vm/overcommit_ratio', '1', {}],
];

const kernel: Row[] = [
  ['/proc/sys/kernel/version', '#2 SMP', { 'kernel.version': '#2 SMP' }],
  ['/proc/cmdline', 'nosmt', { 'kernel.commandLine': digest('nosmt') }],
  ['/proc/sys/kernel/randomize_va_space', '0', { 'kernel.aslr': '0' }],
  ['/proc/sys/kernel/numa_balancing', '1', { 'kernel.numaBalancing': '1' }],
  ['/proc/sys/kernel/sched_autogroup_enabled', '0', { 'kernel.autogroup': '0' }],
  [
    '/sys/devices/system/clocksource/clocksource0/current_clocksource',
    'hpet',
    { 'kernel.clockSource': 'hpet' },
  ],
  [
    '/etc/machine-id',
    'another',
    { 'machine.id': sha256('qualify machine ["another","A CPU",2,16384000000]') },
  ],
  ['/etc/os-release', 'PRETTY_NAME="Another 1"', { 'system.distribution': 'Another 1' }],
  ['/.dockerenv', '', { 'system.container': 'true' }],
  ['/run/.containerenv', '', { 'system.container': 'true' }],
  ['/proc/1/cgroup', '0::/kubepods/a', { 'system.container': 'true' }],
  ['/proc/loadavg', '3.25 0.60 0.70 1/200 4300', { 'start.load': '3.25' }],
  ['/proc/uptime', '1.00 9.00', { 'start.uptime': '1.00' }],
  ['/proc/pressure/cpu', { piece: '0.11', by: '7.10' }, { 'start.cpuPressure': '7.10' }],
  ['/proc/pressure/memory', { piece: '0.22', by: '7.20' }, { 'start.memoryPressure': '7.20' }],
  ['/proc/pressure/io', { piece: '0.33', by: '7.30' }, { 'start.ioPressure': '7.30' }],
  ['/proc/pressure/io', { piece: '9.10', by: '7.30' }, {}],
];

const sensors: Row[] = [
  ['/sys/class/hwmon/hwmon2/temp1_input', '71000', { 'start.temperature': '71.0' }],
  ['/sys/class/hwmon/hwmon2/name', 'nvme', { 'start.temperature': '60.0' }],
  ['/sys/class/hwmon/hwmon1/temp1_input', '99000', {}],
  ['/sys/class/thermal/thermal_zone0/temp', '72500', { 'start.temperature': '72.5' }],
  ['/sys/class/thermal/thermal_zone1/temp', '99000', {}],
  ['/sys/firmware/acpi/platform_profile', 'low-power', { 'system.powerProfile': 'low-power' }],
  ['/sys/class/power_supply/AC/online', '0', { 'system.powerSource': null }],
  ['/sys/class/power_supply/BAT0/status', 'Discharging', { 'system.powerSource': 'battery' }],
];

const CARD = '/sys/class/drm/card0/device';
const NVIDIA = '/proc/driver/nvidia/gpus/0000:41:00.0/information';
const list = (amd: string, model = ', NVIDIA X') => ({ 'gpu.list': `${amd}, nvidia@0000:41:00.0${model}` });
const driver = (text: string) => ({ 'gpu.driver': text });
const gpus: Row[] = [
  [`${CARD}/vendor`, '0x8086', list('0x8086:0x74a1@0000:03:00.0')],
  [`${CARD}/device`, '0x0001', list('0x1002:0x0001@0000:03:00.0')],
  [`${CARD}/uevent`, 'PCI_SLOT_NAME=0000:04:00.0', list('0x1002:0x74a1@0000:04:00.0')],
  [NVIDIA, { piece: 'NVIDIA X', by: 'NVIDIA Y' }, list('0x1002:0x74a1@0000:03:00.0', ', NVIDIA Y')],
  [NVIDIA, { piece: '96.00', by: '97.00' }, { 'gpu.vbios': '113-A, 97.00' }],
  [NVIDIA, { piece: '535.104', by: '536' }, { 'gpu.firmware': '536' }],
  [`${CARD}/vbios_version`, '113-B', { 'gpu.vbios': '113-B, 96.00' }],
  [`${CARD}/mem_info_vram_total`, '1', { 'gpu.memory': '1' }],
  [`${CARD}/mem_info_vram_used`, '2', { 'gpu.memoryUsed': '2' }],
  [`${CARD}/power_dpm_force_performance_level`, 'high', { 'gpu.performanceLevel': 'high' }],
  [`${CARD}/current_link_speed`, '2.5 GT/s PCIe', { 'gpu.link': '2.5 GT/s PCIe' }],
  [`${CARD}/hwmon/hwmon4/power1_cap`, '300000000', { 'gpu.powerCap': '300000000' }],
  [`${CARD}/hwmon/hwmon4/temp1_input`, '81000', { 'start.gpuTemperature': '81.0' }],
  ['/proc/driver/nvidia/version', 'Kernel Module  550.1  x', driver('nvidia 550.1, amdgpu 6.8.5, kfd')],
  ['/sys/module/amdgpu/version', '6.9', driver('nvidia 535.104.05, amdgpu 6.9, kfd')],
  ['/sys/class/kfd/kfd/topology/system_properties', null, driver('nvidia 535.104.05, amdgpu 6.8.5')],
];

const GROUPS = '/sys/fs/cgroup';
const groups: Row[] = [
  [`${GROUPS}/slice/engine/cpu.max`, '50000 100000', { 'cgroup.cpuLimit': '50000 100000' }],
  [`${GROUPS}/slice/engine/cpu.max`, 'max 100000', { 'cgroup.cpuLimit': 'none' }],
  [`${GROUPS}/slice/cpu.max`, '10000 100000', { 'cgroup.cpuLimit': '200000 100000, 10000 100000' }],
  [`${GROUPS}/slice/engine/cpuset.cpus.effective`, '1', { 'cgroup.cpus': '1' }],
  [`${GROUPS}/slice/engine/memory.max`, '1000', { 'cgroup.memoryLimit': '1000' }],
  [`${GROUPS}/slice/engine/memory.high`, '1000', {}],
  [`${GROUPS}/slice/memory.max`, '2000', { 'cgroup.memoryLimit': '8000000000, 2000' }],
  [
    '/proc/4242/cgroup',
    '0::/slice',
    { 'cgroup.cpuLimit': 'none', 'cgroup.cpus': null, 'cgroup.memoryLimit': 'none' },
  ],
];

/** Of one who runs in a group of the first version, where each controller has a tree of its own. */
const groupsOfVersion1: Row[] = [
  [`${GROUPS}/cpu/a/cpu.cfs_quota_us`, '40000', { 'cgroup.cpuLimit': '40000 100000' }],
  [`${GROUPS}/cpu/a/cpu.cfs_period_us`, '50000', { 'cgroup.cpuLimit': '30000 50000' }],
  [`${GROUPS}/cpuset/b/cpuset.cpus`, '1', { 'cgroup.cpus': '1' }],
  [`${GROUPS}/memory/c/memory.limit_in_bytes`, '2000', { 'cgroup.memoryLimit': '2000' }],
  [`${GROUPS}/memory/c/memory.limit_in_bytes`, '9223372036854771712', { 'cgroup.memoryLimit': 'none' }],
];

const said = (piece: string, by: string) => ({ piece, by });
const STATUS = '/proc/4242/status';
const LIMITS = '/proc/4242/limits';
const processes: Row[] = [
  ['/proc/4242/stat', engineStat({ 19: 5 }), { 'process.nice': '5' }],
  ['/proc/4242/stat', engineStat({ 41: 1 }), { 'process.scheduler': 'fifo' }],
  [STATUS, said('Cpus_allowed_list:\t0-1', 'Cpus_allowed_list:\t1'), { 'process.cpus': '1' }],
  [STATUS, said('Mems_allowed_list:\t0-1', 'Mems_allowed_list:\t1'), { 'process.memoryNodes': '1' }],
  [STATUS, said('THP_enabled:\t1', 'THP_enabled:\t0'), { 'process.transparentHugePages': '0' }],
  [STATUS, said('thread vulnerable', 'not affected'), { 'process.speculation': 'not affected' }],
  [STATUS, said('Seccomp:\t2', 'Seccomp:\t0'), { 'process.seccomp': '0' }],
  [STATUS, said('50000 kB', '60000 kB'), { 'start.residentMemory': '60000 kB' }],
  [STATUS, said('4 kB', '5 kB'), { 'start.swappedMemory': '5 kB' }],
  [STATUS, said('Threads:\t7', 'Threads:\t8'), { 'start.threads': '8' }],
  ['/proc/4242/task/4250/status', 'Cpus_allowed_list:\t1', { 'process.threadCpus': '0 and 1' }],
  [LIMITS, said('8388608 ', '1 '), { 'process.stackLimit': '1' }],
  [LIMITS, said('65536 ', '2 '), { 'process.lockedMemoryLimit': '2' }],
  [LIMITS, said('unlimited            unlimited', '3 4'), { 'process.addressSpaceLimit': '3' }],
  ['/proc/4242/auxv', auxiliaryVector(65_536n), { 'process.pageSize': '65536' }],
  ['/proc/4242/numa_maps', '5566 bind:0 heap\n', { 'process.memoryPolicy': 'bind:0' }],
  ['/proc/4242/oom_score', '7', { 'start.oomScore': '7' }],
  ['/proc/4242/oom_score_adj', '8', { 'process.oomScoreAdjust': '8' }],
  ['/proc/4242/environ', 'LANG=en\0OTHER=2\0', { 'environment.LANG': 'en' }],
  ['/proc/4242/environ', 'LANG=C\0GGML_X=1\0', { 'environment.GGML_X': '1' }],
  [
    '/proc/4242/exe',
    { link: '/nowhere/build/engine' },
    { 'process.executable': 'of the build', 'library.count': '1', 'library.engine': 'unreadable' },
  ],
  [
    '/proc/4242/maps',
    ['libcudart.so.1', 'libcuda.so.2', 'libamdhip64.so.3', 'libhsa-runtime64.so.4', 'libvulkan.so.5']
      .map((name) => `7f00-7f01 r-xp 00000000 fe:00 34  /nowhere/${name}\n`)
      .join(''),
    {
      'library.count': '5',
      'library.libcudart.so.1': 'unreadable',
      'library.libcuda.so.2': 'unreadable',
      'library.libamdhip64.so.3': 'unreadable',
      'library.libhsa-runtime64.so.4': 'unreadable',
      'library.libvulkan.so.5': 'unreadable',
      'runtime.cuda': '1',
      'runtime.cudaDriver': '2',
      'runtime.hip': '3',
      'runtime.hsa': '4',
      'runtime.vulkan': '5',
    },
  ],
  ['/proc/4243/stat', statLine(4243, 'worker', { 5: 4243 }), { 'start.processes': '1' }],
  ['/proc/4243/stat', { piece: ') S ', by: ') Z ' }, { 'start.processes': '1' }],
];

const tables = { cpus, memory, kernel, sensors, gpus, groups, processes };

describe('a file of the machine that is changed alone changes its condition alone', () => {
  for (const [name, rows] of Object.entries(tables))
    test(name, async () => assert.deepEqual(await found(machine, rows, read), rows));

  test('and no condition is told without a file', async () => {
    const changed = new Set(
      Object.values(tables).flatMap((rows) => rows.flatMap((row) => Object.keys(row[2]))),
    );
    const others = Object.keys(await read()).filter(
      (field) => !changed.has(field) && !field.startsWith('environment.'),
    );
    // What Node asks the system for.
    assert.deepEqual(others, ['cpu.model', 'cpu.logical', 'memory.total', 'kernel.release']);
  });
});

test('what the system is asked for without a file is told as it answers', async () => {
  const conditions = await read();
  assert.equal(conditions['cpu.model'], 'A CPU');
  assert.equal(conditions['cpu.logical'], '2');
  assert.equal(conditions['memory.total'], '16384000000');
  assert.equal(conditions['kernel.release'], '6.1.0-made-up');
});

test("Intel's word for boost is the inverse, and is asked for where there is no other", async () => {
  const rows = (whenOff: Record<string, string>): Row[] => [
    [`${CPU}/intel_pstate/no_turbo`, '0', whenOff],
    [`${CPU}/intel_pstate/no_turbo`, '1', whenOff['cpu.boost'] === undefined ? {} : { 'cpu.boost': '0' }],
  ];
  assert.deepEqual(await found(machine, rows({}), read), rows({}));
  await machine.during([[`${CPU}/cpufreq/boost`, null]], async () => {
    assert.equal((await read())['cpu.boost'], null);
    const alone = rows({ 'cpu.boost': '1' });
    assert.deepEqual(await found(machine, alone, read), alone);
  });
});

test('what can be one of two words is the other at first', async () => {
  const conditions = await read();
  assert.equal(conditions['system.powerSource'], 'mains');
  assert.equal(conditions['system.container'], 'false');
});

test('a machine without graphics processors says so', async () => {
  const card = Object.keys(machineFiles).filter((path) => /^\/sys\/class\/drm|nvidia\/gpus/.test(path));
  await machine.during(
    card.map((path) => [path, null]),
    async () => {
      const conditions = await read();
      assert.equal(conditions['gpu.list'], 'none');
      assert.equal(conditions['gpu.memory'], null);
    },
  );
});

test('every sensor and zone of a CPU is known by its name', async () => {
  const named = ['coretemp', 'k10temp', 'zenpower', 'cpu_thermal'].map(
    (name): Row => ['/sys/class/hwmon/hwmon1/name', name, { 'start.temperature': '88.0' }],
  );
  assert.deepEqual(await found(machine, named, read), named);
  const zones = ['cpu-thermal', 'x86_pkg_temp', 'soc_thermal'].map(
    (type): Row => ['/sys/class/thermal/thermal_zone1/type', type, { 'start.temperature': '99.0' }],
  );
  await machine.during([['/sys/class/thermal/thermal_zone1/temp', '99000']], async () =>
    assert.deepEqual(await found(machine, zones, read), zones),
  );
});

test('every policy of the scheduler has its name', async () => {
  const names = ['other', 'fifo', 'rr', 'batch', 'iso', 'idle', 'deadline', 'ext'];
  for (const [policy, name] of names.entries())
    await machine.during([['/proc/4242/stat', engineStat({ 41: policy })]], async () =>
      assert.equal((await read())['process.scheduler'], name),
    );
});

test('limits are read of control groups of the first version', async () => {
  const inVersion1: [string, string][] = [
    ['/proc/4242/cgroup', '3:cpu,cpuacct:/a\n2:cpuset:/b\n1:memory:/c\n0::/slice/engine\n'],
    [`${GROUPS}/cpu/a/cpu.cfs_quota_us`, '30000'],
    [`${GROUPS}/cpu/a/cpu.cfs_period_us`, '100000'],
    [`${GROUPS}/cpuset/b/cpuset.cpus`, '0-1'],
    [`${GROUPS}/memory/c/memory.limit_in_bytes`, '1000'],
  ];
  await machine.during(inVersion1, async () => {
    const conditions = await read();
    assert.equal(conditions['cgroup.cpuLimit'], '30000 100000');
    assert.equal(conditions['cgroup.cpus'], '0-1');
    assert.equal(conditions['cgroup.memoryLimit'], '1000');
    assert.deepEqual(await found(machine, groupsOfVersion1, read), groupsOfVersion1);
  });
});

test('the process that listens is the one whose scheduling is told', async () => {
  assert.equal((await read())['process.cpus'], '0-1');
  const listens: Row[] = [
    ['/proc/4242/fd/3', { link: 'socket:[1]' }, {}],
    ['/proc/4242/net/tcp', socketTable(1), {}],
  ];
  assert.deepEqual(await found(machine, listens, read), listens);
  await machine.during(
    [
      ['/proc/4242/fd/3', { link: '/dev/null' }],
      ['/proc/4243/fd/3', { link: 'socket:[4711]' }],
    ],
    async () => {
      assert.equal((await read())['process.cpus'], '1');
      await machine.during(
        [
          ['/proc/4242/net/tcp', null],
          ['/proc/4242/net/tcp6', socketTable(4711)],
        ],
        async () => assert.equal((await read())['process.cpus'], '1', 'a socket of IPv6'),
      );
    },
  );
});
