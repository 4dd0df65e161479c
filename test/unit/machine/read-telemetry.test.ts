/** Telemetry and load are read off the machine: each file of one that is made up is changed alone, and its reading alone changes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { telemetrySampleSchema } from '../../../src/journal/telemetry.js';
import { watchLoad } from '../../../src/machine/load.js';
import { TelemetryReader } from '../../../src/machine/telemetry-reading.js';
import { engineStat, statLine } from '../../fixtures/machine-files.js';
import { found, type Instead, type Row, shownMachine } from '../../fixtures/made-up-machine.js';

const machine = shownMachine();

const ENGINE = 4242;

/** The first sample of a new launch, without what it took. */
function read() {
  const reader = new TelemetryReader(ENGINE, []);
  try {
    const { atMs: _, selfCpuMs: __, ...sample } = telemetrySampleSchema.parse(reader.first());
    return sample;
  } finally {
    reader.close();
  }
}

const CPU = '/sys/devices/system/cpu';
const clocks: Row[] = [
  [`${CPU}/cpu0/cpufreq/scaling_cur_freq`, '4100000', { clockMhz: 4100 }],
  [`${CPU}/cpu1/cpufreq/scaling_cur_freq`, '4200000', { clockMhz: 4200 }],
  [`${CPU}/cpu1/cpufreq/scaling_cur_freq`, '1000000', {}],
  [`${CPU}/cpu0/cpufreq/scaling_cur_freq`, null, { clockMhz: 3700 }],
  [`${CPU}/cpu0/cpufreq/scaling_max_freq`, '5000000', {}],
  ['/proc/cpuinfo', 'cpu MHz\t: 9000.000\n', {}],
];

const HWMON = '/sys/class/hwmon';
const heat: Row[] = [
  [`${HWMON}/hwmon2/temp1_input`, '64000', { temperatureC: 64 }],
  [`${HWMON}/hwmon2/temp2_input`, '99500', { temperatureC: 99.5 }],
  [`${HWMON}/hwmon2/temp1_max`, '99000', {}],
  [`${HWMON}/hwmon1/temp1_input`, '99000', {}],
  ...['coretemp', 'k10temp', 'zenpower', 'cpu_thermal'].map(
    (name): Row => [`${HWMON}/hwmon1/name`, name, { temperatureC: 88 }],
  ),
  // No sensor of the CPU answers: the firmware is asked.
  [`${HWMON}/hwmon2/name`, 'nvme', { temperatureC: 60 }],
  ['/sys/class/thermal/thermal_zone0/temp', '99000', {}],
  [`${CPU}/cpu0/thermal_throttle/core_throttle_count`, '14', { throttles: 20 }],
  [`${CPU}/cpu1/thermal_throttle/core_throttle_count`, '7', { throttles: 11 }],
  [`${CPU}/cpu1/thermal_throttle/core_throttle_count`, null, { throttles: 4 }],
  [`${CPU}/cpu0/thermal_throttle/package_throttle_count`, '2000', {}],
];

const counters: Row[] = [
  ['/proc/loadavg', '3.25 0.60 0.70 1/200 4300', { load: 3.25 }],
  ['/proc/vmstat', { piece: 'pswpin 21', by: 'pswpin 1021' }, { swapIns: 1021 }],
  ['/proc/vmstat', { piece: 'pswpout 22', by: 'pswpout 1022' }, {}],
  ['/proc/vmstat', { piece: 'pgmajfault 31', by: 'pgmajfault 1031' }, {}],
  ['/proc/stat', 'cpu  101 22 33 4000 500 6 7 8 0 0', { busyTicks: 177, totalTicks: 4677 }],
  ['/proc/stat', 'cpu  100 20 30 4004 505 6 7 8 0 0', { totalTicks: 4680 }],
  ['/proc/4242/stat', engineStat({ 12: 9 }), { majorFaults: 12 }],
  ['/proc/4242/stat', engineStat({ 13: 9 }), { majorFaults: 15 }],
  ['/proc/4242/stat', engineStat({ 10: 9 }), {}],
  ['/proc/4242/stat', engineStat({ 14: 200 }), { ownTicks: 260 }],
  ['/proc/4242/stat', engineStat({ 15: 50 }), { ownTicks: 170 }],
  ['/proc/4243/stat', statLine(4243, 'worker', { 5: 4242, 12: 3, 14: 10 }), { majorFaults: 10 }],
  ['/proc/77/stat', statLine(77, 'trainer', { 5: 77, 12: 901, 14: 61 }), { 'others.0.cpuTicks': 61 }],
  ['/proc/77/stat', statLine(77, 'miner', { 5: 77, 12: 900, 14: 60 }), { 'others.0.name': 'miner' }],
  ['/proc/pressure/cpu', { piece: 'total=111', by: 'total=5' }, { 'pressureUs.cpu': 5 }],
  ['/proc/pressure/memory', { piece: 'total=222', by: 'total=6' }, { 'pressureUs.memory': 6 }],
  ['/proc/pressure/io', { piece: 'total=333', by: 'total=7' }, { 'pressureUs.io': 7 }],
  ['/proc/pressure/io', { piece: 'total=99', by: 'total=7' }, {}],
];

const CARD = '/sys/class/drm/card0/device';
const gpus: Row[] = [
  [`${CARD}/hwmon/hwmon4/freq1_input`, '900000000', { 'gpus.0.clockMhz': 900 }],
  [`${CARD}/hwmon/hwmon4/freq2_input`, '1', {}],
  [`${CARD}/hwmon/hwmon4/temp1_input`, '91000', { 'gpus.0.temperatureC': 91 }],
  [`${CARD}/hwmon/hwmon4/temp2_input`, '99000', {}],
  [`${CARD}/gpu_busy_percent`, '100', { 'gpus.0.busyPercent': 100 }],
  [`${CARD}/mem_busy_percent`, '100', {}],
  ['/sys/class/drm/card0-DP-1/device/gpu_busy_percent', '100', {}],
  [
    '/sys/class/drm/card1/device/gpu_busy_percent',
    '7',
    { 'gpus.1.clockMhz': null, 'gpus.1.temperatureC': null, 'gpus.1.busyPercent': 7 },
  ],
];

const heldByOther = { 'gpuUsers.others.0': 'trainer' };
const holders: Row[] = [
  ...['/dev/kfd', '/dev/dri/renderD128', '/dev/nvidia0'].map(
    (link): Row => ['/proc/77/fd/4', { link }, heldByOther],
  ),
  ...['/dev/dri/card0', '/dev/nvidiactl', '/dev/kfd2'].map((link): Row => ['/proc/77/fd/4', { link }, {}]),
  ['/proc/4242/fd/3', { link: '/dev/kfd' }, { 'gpuUsers.engine': true }],
  ['/proc/4243/fd/3', { link: '/dev/dri/renderD129' }, { 'gpuUsers.engine': true }],
];

const tables = { clocks, heat, counters, gpus, holders };

describe('a file of the machine that is changed alone changes its reading alone', () => {
  for (const [name, rows] of Object.entries(tables))
    test(name, async () => assert.deepEqual(await found(machine, rows, read), rows));

  test('where nothing is changed, each reading is what its file says', () => {
    assert.deepEqual(read(), {
      clockMhz: 3900,
      temperatureC: 63.5,
      throttles: 10,
      load: 0.5,
      busyTicks: 171,
      totalTicks: 4671,
      ownTicks: 160,
      majorFaults: 8,
      swapIns: 21,
      pressureUs: { cpu: 111, memory: 222, io: 333 },
      others: [{ pid: 77, name: 'trainer', cpuTicks: 60 }],
      gpus: [{ clockMhz: 2100, temperatureC: 47, busyPercent: 13 }],
      gpuUsers: { engine: false, others: [] },
    });
  });
});

test('the clock is that of /proc/cpuinfo where nothing scales it', async () => {
  const unscaled = [0, 1].map((cpu) => [`${CPU}/cpu${cpu}/cpufreq/scaling_cur_freq`, null] as const);
  await machine.during(unscaled, async () => {
    assert.equal(read().clockMhz, 3101.5);
    const rows: Row[] = [['/proc/cpuinfo', { piece: '2900.000', by: '3300.250' }, { clockMhz: 3300.25 }]];
    assert.deepEqual(await found(machine, rows, read), rows);
  });
});

test('without a sensor of the CPU the hottest zone of the firmware is told, and null without any', async () => {
  await machine.during([[`${HWMON}/hwmon2/name`, null]], async () => {
    const rows: Row[] = [
      ['/sys/class/thermal/thermal_zone0/temp', '70000', { temperatureC: 70 }],
      ['/sys/class/thermal/thermal_zone1/temp', '71000', { temperatureC: 71 }],
      ['/sys/class/thermal/cooling_device0/temp', '99000', {}],
      ['/sys/class/thermal/thermal_zone0/temp', null, { temperatureC: 45 }],
    ];
    assert.deepEqual(await found(machine, rows, read), rows);
  });
});

test('what a machine does not say is null', async () => {
  const silent: [string, Instead][] = [
    [`${CPU}/cpu0/thermal_throttle/core_throttle_count`, null],
    [`${CPU}/cpu1/thermal_throttle/core_throttle_count`, null],
    ['/proc/pressure/io', null],
  ];
  await machine.during(silent, () => {
    const { throttles, pressureUs } = read();
    assert.deepEqual({ throttles, pressureUs }, { throttles: null, pressureUs: null });
  });
});

test('who holds a device is asked where the machine has one that computes, whichever it is', async () => {
  await machine.during([['/dev/kfd', null]], async () => {
    assert.ok(!('gpuUsers' in read()));
    for (const device of ['/dev/kfd', '/dev/nvidia0', '/dev/dri/renderD128'])
      await machine.during([[device, '']], () => assert.ok('gpuUsers' in read(), device));
    for (const device of ['/dev/nvidiactl', '/dev/dri/card1'])
      await machine.during([[device, '']], () => assert.ok(!('gpuUsers' in read()), device));
  });
});

test('a later reading says what the files say by then', async () => {
  const reader = new TelemetryReader(ENGINE, []);
  const later: [string, Instead][] = [
    [`${CPU}/cpu0/cpufreq/scaling_cur_freq`, '1000000'],
    [`${CPU}/cpu0/thermal_throttle/core_throttle_count`, '5'],
    ['/proc/vmstat', { piece: 'pswpin 21', by: 'pswpin 25' }],
  ];
  try {
    reader.first();
    await machine.during(later, () => {
      const { clockMhz, throttles, swapIns } = reader.next(false);
      assert.deepEqual({ clockMhz, throttles, swapIns }, { clockMhz: 3700, throttles: 11, swapIns: 25 });
    });
  } finally {
    reader.close();
  }
});

test('the load of a launch is read of the same files, each for its own count', async () => {
  const BUSIER = 'cpu  150 20 30 4050 500 6 7 8 0 0';
  const rows: [string, Instead, object][] = [
    ['/proc/stat', BUSIER, { foreignCpuShare: 0.5 }],
    ['/proc/vmstat', { piece: 'pswpin 21', by: 'pswpin 30' }, { swapIns: 9 }],
    ['/proc/vmstat', { piece: 'pswpout 22', by: 'pswpout 30' }, {}],
    ['/proc/vmstat', { piece: 'pgmajfault 31', by: 'pgmajfault 40' }, {}],
    ['/proc/4242/stat', engineStat({ 12: 8 }), { majorFaults: 3 }],
    ['/proc/4243/stat', statLine(4243, 'worker', { 5: 4242, 12: 2, 14: 10 }), { majorFaults: 1 }],
    ['/proc/77/stat', statLine(77, 'trainer', { 5: 77, 12: 950 }), {}],
  ];
  for (const [path, instead, load] of rows) {
    const took = watchLoad(ENGINE);
    await machine.during([[path, instead]], () =>
      assert.deepEqual(took(), { foreignCpuShare: 0, majorFaults: 0, swapIns: 0, ...load }, path),
    );
  }
  const took = watchLoad(ENGINE);
  const byEngine: [string, Instead][] = [
    ['/proc/stat', BUSIER],
    ['/proc/4242/stat', engineStat({ 14: 130 })],
  ];
  await machine.during(byEngine, () => assert.equal(took().foreignCpuShare, 0.2));
});
