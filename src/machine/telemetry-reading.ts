/** One reading of the machine for telemetry, from `/proc` and `/sys`; starts no program and opens no device. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { loadavg } from 'node:os';
import type { TelemetrySample } from '../journal/telemetry.js';
import { readText } from './fingerprint.js';
import { parseCpuLine } from './load.js';
import { type ProcessStat, processIds, processStat } from './procfs.js';

/** Whose processes are whose: the engine's group, and the harness with its telemetry. */
export interface Watched {
  group: number;
  own: readonly number[];
  /** Members of the group that the last whole reading found; in between only these are read. */
  members: number[];
}

const list = (folder: string): string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

const numberOf = (text: string | null, scale = 1): number | null => {
  const value = text === null || text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value * scale : null;
};

const most = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const cpuFolders = (): string[] =>
  list('/sys/devices/system/cpu')
    .filter((name) => /^cpu\d+$/.test(name))
    .map((name) => `/sys/devices/system/cpu/${name}`);

/** The kernel's estimate by CPU; `/proc/cpuinfo` where there is no scaling, as in virtual machines. */
function clockMhz(): number | null {
  const scaled = cpuFolders().map((cpu) => numberOf(readText(`${cpu}/cpufreq/scaling_cur_freq`), 1e-3));
  const fastest = most(scaled);
  if (fastest !== null) return fastest;
  const lines = (readText('/proc/cpuinfo') ?? '').matchAll(/^cpu MHz\s*:\s*([\d.]+)$/gm);
  return most([...lines].map((match) => Number(match[1])));
}

const CPU_SENSORS = ['coretemp', 'k10temp', 'zenpower', 'cpu_thermal'];

function temperatureC(): number | null {
  const sensors = list('/sys/class/hwmon')
    .map((name) => `/sys/class/hwmon/${name}`)
    .filter((folder) => CPU_SENSORS.includes(readText(`${folder}/name`) ?? ''));
  const inputs = sensors.flatMap((folder) =>
    list(folder)
      .filter((name) => /^temp\d+_input$/.test(name))
      .map((name) => numberOf(readText(`${folder}/${name}`), 1e-3)),
  );
  const zones = list('/sys/class/thermal')
    .filter((name) => name.startsWith('thermal_zone'))
    .map((name) => numberOf(readText(`/sys/class/thermal/${name}/temp`), 1e-3));
  return most(inputs) ?? most(zones);
}

function throttles(): number | null {
  const counts = cpuFolders().flatMap((cpu) => {
    const events = numberOf(readText(`${cpu}/thermal_throttle/core_throttle_count`));
    return events === null ? [] : [events];
  });
  return counts.length === 0 ? null : sum(counts);
}

/** `total=` of the `some` line of `/proc/pressure/<resource>`. */
const pressure = (resource: string): number | null =>
  numberOf(/^some .*total=(\d+)$/m.exec(readText(`/proc/pressure/${resource}`) ?? '')?.[1] ?? null);

function pressureUs(): TelemetrySample['pressureUs'] {
  const [cpu, memory, io] = ['cpu', 'memory', 'io'].map(pressure);
  if (cpu == null || memory == null || io == null) return null;
  return { cpu, memory, io };
}

function gpus(): TelemetrySample['gpus'] {
  const cards = list('/sys/class/drm').filter((name) => /^card\d+$/.test(name));
  return cards.map((card) => {
    const device = `/sys/class/drm/${card}/device`;
    const [sensor] = list(`${device}/hwmon`);
    const at = (file: string): string | null =>
      sensor === undefined ? null : readText(`${device}/hwmon/${sensor}/${file}`);
    return {
      clockMhz: numberOf(at('freq1_input'), 1e-6),
      temperatureC: numberOf(at('temp1_input'), 1e-3),
      busyPercent: numberOf(readText(`${device}/gpu_busy_percent`)),
    };
  });
}

const COMPUTE_DEVICE = /^\/dev\/(nvidia\d+|kfd|dri\/renderD\d+)$/;

/** True where the machine has a device that computes; only then is it worth asking who holds one. */
const hasComputeDevice = (): boolean =>
  [...list('/dev').map((name) => `/dev/${name}`), ...list('/dev/dri').map((name) => `/dev/dri/${name}`)].some(
    (path) => COMPUTE_DEVICE.test(path),
  );

function holdsComputeDevice(pid: number): boolean {
  return list(`/proc/${pid}/fd`).some((name) => {
    try {
      return COMPUTE_DEVICE.test(readlinkSync(`/proc/${pid}/fd/${name}`));
    } catch {
      return false;
    }
  });
}

/** As the kernel has it, without what could steer a terminal. */
const printable = (name: string): string => name.replace(/[^\x20-\x7e]/g, '?');

function wholeReading(watched: Watched): Required<Pick<TelemetrySample, 'others'>> & {
  gpuUsers: TelemetrySample['gpuUsers'];
  engine: ProcessStat[];
} {
  const { group, own } = watched;
  const all = processIds().flatMap((pid) => processStat(pid) ?? []);
  const engine = all.filter((stat) => stat.group === group);
  watched.members = engine.map(({ pid }) => pid);
  const foreign = all.filter((stat) => stat.group !== group && !own.includes(stat.pid));
  // Nobody needs the hundreds that have done nothing yet.
  const others = foreign
    .filter((stat) => stat.cpuTicks > 0)
    .map(({ pid, name, cpuTicks }) => ({ pid, name: printable(name), cpuTicks }));
  const gpuUsers = hasComputeDevice()
    ? {
        engine: watched.members.some(holdsComputeDevice),
        others: foreign.filter(({ pid }) => holdsComputeDevice(pid)).map(({ name }) => printable(name)),
      }
    : undefined;
  return { others, gpuUsers, engine };
}

/**
 * Reads the machine now. `whole` also reads every process.
 * @param beganAt `performance.now()` when the launch was first watched
 */
export function readTelemetry(watched: Watched, beganAt: number, whole: boolean): TelemetrySample {
  const asked = whole ? wholeReading(watched) : undefined;
  const engine = asked?.engine ?? watched.members.flatMap((pid) => processStat(pid) ?? []);
  const own = watched.own.flatMap((pid) => processStat(pid) ?? []);
  const { user, system } = process.cpuUsage();
  return {
    atMs: performance.now() - beganAt,
    clockMhz: clockMhz(),
    temperatureC: temperatureC(),
    throttles: throttles(),
    load: loadavg()[0] ?? 0,
    ...parseCpuLine(readFileSync('/proc/stat', 'latin1')),
    ownTicks: sum([...engine, ...own].map((stat) => stat.cpuTicks)),
    majorFaults: sum(engine.map((stat) => stat.majorFaults)),
    swapIns: numberOf(/^pswpin (\d+)$/m.exec(readText('/proc/vmstat') ?? '')?.[1] ?? null) ?? 0,
    pressureUs: pressureUs(),
    selfCpuMs: (user + system) / 1000,
    ...(asked && { others: asked.others }),
    gpus: gpus(),
    ...(asked?.gpuUsers && { gpuUsers: asked.gpuUsers }),
  };
}
