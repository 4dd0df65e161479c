/** What the machine says of clock, heat, waiting and display devices, from `/proc` and `/sys`; starts no program and opens no device. */
import type { TelemetrySample } from '../journal/telemetry.js';
import { list, readText } from './fingerprint.js';
import type { KeptFiles } from './kept-files.js';

/** Files that exist on this machine; they are looked for once. */
interface Sensors {
  /** Clock by CPU, kHz; none where there is no scaling, as in virtual machines. */
  clocks: string[];
  /** Of the CPU, thousandths of a degree Celsius. */
  temperatures: string[];
  /** Of whatever the firmware names; asked where no sensor of the CPU answers. */
  zones: string[];
  /** Throttling events by core. */
  throttles: string[];
  cards: Record<'clockHz' | 'temperature' | 'busyPercent', string | null>[];
}

const CPU_SENSORS = ['coretemp', 'k10temp', 'zenpower', 'cpu_thermal'];

const named = (folder: string, pattern: RegExp): string[] =>
  list(folder)
    .filter((name) => pattern.test(name))
    .map((name) => `${folder}/${name}`);

const thatSay = (paths: readonly string[]): string[] => paths.filter((path) => readText(path) !== null);

function cardOf(card: string): Sensors['cards'][number] {
  const [sensor] = named(`${card}/device/hwmon`, /./);
  return {
    clockHz: sensor === undefined ? null : `${sensor}/freq1_input`,
    temperature: sensor === undefined ? null : `${sensor}/temp1_input`,
    busyPercent: `${card}/device/gpu_busy_percent`,
  };
}

/** What this machine has to read. */
export function findSensors(): Sensors {
  const cpus = named('/sys/devices/system/cpu', /^cpu\d+$/);
  const ofCpu = named('/sys/class/hwmon', /./).filter((folder) =>
    CPU_SENSORS.includes(readText(`${folder}/name`) ?? ''),
  );
  return {
    clocks: thatSay(cpus.map((cpu) => `${cpu}/cpufreq/scaling_cur_freq`)),
    temperatures: ofCpu.flatMap((folder) => named(folder, /^temp\d+_input$/)),
    zones: named('/sys/class/thermal', /^thermal_zone/).map((zone) => `${zone}/temp`),
    throttles: thatSay(cpus.map((cpu) => `${cpu}/thermal_throttle/core_throttle_count`)),
    cards: named('/sys/class/drm', /^card\d+$/).map(cardOf),
  };
}

const numberOf = (text: string | null | undefined, scale = 1): number | null => {
  const value = text == null || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value * scale : null;
};

const most = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
};

/** The kernel's estimate by CPU; `/proc/cpuinfo`, which is long, where there is no scaling. */
function clockMhz(files: KeptFiles, { clocks }: Sensors): number | null {
  const fastest = most(clocks.map((path) => numberOf(files.read(path), 1e-3)));
  if (fastest !== null) return fastest;
  const lines = (files.readLong('/proc/cpuinfo') ?? '').matchAll(/^cpu MHz\s*:\s*([\d.]+)$/gm);
  return most([...lines].map((match) => Number(match[1])));
}

function throttlesOf(files: KeptFiles, { throttles }: Sensors): number | null {
  const counts = throttles.flatMap((path) => numberOf(files.read(path)) ?? []);
  return counts.length === 0 ? null : counts.reduce((total, count) => total + count, 0);
}

/** `total=` of the `some` line of `/proc/pressure/<resource>`. */
const pressure = (files: KeptFiles, resource: string): number | null =>
  numberOf(/^some .*total=(\d+)$/m.exec(files.read(`/proc/pressure/${resource}`) ?? '')?.[1]);

function pressureUs(files: KeptFiles): TelemetrySample['pressureUs'] {
  const cpu = pressure(files, 'cpu');
  const memory = pressure(files, 'memory');
  const io = pressure(files, 'io');
  return cpu === null || memory === null || io === null ? null : { cpu, memory, io };
}

/** Reads them now. */
export function readSensors(
  files: KeptFiles,
  sensors: Sensors,
): Pick<
  TelemetrySample,
  'clockMhz' | 'temperatureC' | 'throttles' | 'load' | 'swapIns' | 'pressureUs' | 'gpus'
> {
  const scaled = (path: string | null, scale: number): number | null =>
    path === null ? null : numberOf(files.read(path), scale);
  const hottest = (paths: readonly string[]): number | null => most(paths.map((path) => scaled(path, 1e-3)));
  return {
    clockMhz: clockMhz(files, sensors),
    temperatureC: hottest(sensors.temperatures) ?? hottest(sensors.zones),
    throttles: throttlesOf(files, sensors),
    load: numberOf(files.read('/proc/loadavg')?.split(' ')[0]) ?? 0,
    swapIns: numberOf(/^pswpin (\d+)$/m.exec(files.readLong('/proc/vmstat') ?? '')?.[1]) ?? 0,
    pressureUs: pressureUs(files),
    gpus: sensors.cards.map(({ clockHz, temperature, busyPercent }) => ({
      clockMhz: scaled(clockHz, 1e-6),
      temperatureC: scaled(temperature, 1e-3),
      busyPercent: scaled(busyPercent, 1),
    })),
  };
}
