/** Conditions of the machine itself, read anew for every launch: what is set, and how it stands at this moment. */
import { closeSync, openSync, readSync } from 'node:fs';
import { sha256 } from '../digest.js';
import {
  chosen,
  distribution,
  fingerprint,
  inContainer,
  list,
  memoryBytes,
  readText,
} from './fingerprint.js';

type Fields = Record<string, string | null>;

const CPU = '/sys/devices/system/cpu';
const digestOf = (text: string | null): string | null => (text === null ? null : `sha256:${sha256(text)}`);

/** The first bytes of a file that the kernel writes as it is read: the whole of it may take long on a large machine. */
export function readHead(path: string, bytes: number): string | null {
  try {
    const file = openSync(path, 'r');
    try {
      const buffer = Buffer.alloc(bytes);
      return buffer.subarray(0, readSync(file, buffer, 0, bytes, null)).toString('latin1');
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
}

/** One file of every CPU: the distinct values, so that one CPU apart shows. Null when no CPU has it. */
function ofCpus(file: string): string | null {
  const names = list(CPU).filter((name) => /^cpu\d+$/.test(name));
  const values = names.flatMap((name) => readText(`${CPU}/${name}/${file}`) ?? []);
  return values.length === 0 ? null : [...new Set(values)].toSorted().join(', ');
}

/** `cpufreq/boost`, or Intel's inverse of it. */
function boost(): string | null {
  const noTurbo = readText(`${CPU}/intel_pstate/no_turbo`);
  return readText(`${CPU}/cpufreq/boost`) ?? (noTurbo === null ? null : noTurbo === '0' ? '1' : '0');
}

function mitigations(): string | null {
  const names = list(`${CPU}/vulnerabilities`).toSorted();
  if (names.length === 0) return null;
  return digestOf(names.map((name) => `${name}: ${readText(`${CPU}/vulnerabilities/${name}`)}`).join('\n'));
}

function cpuConditions(): Fields {
  // Fields of the first CPU; all of them have a microcode of their own, but never another in practice.
  const info = readHead('/proc/cpuinfo', 8192) ?? '';
  const field = (name: string): string | null =>
    new RegExp(`^${name}\\s*:\\s*(.*)$`, 'm').exec(info)?.[1]?.trim() ?? null;
  return {
    'cpu.microcode': field('microcode'),
    'cpu.flags': digestOf(field('flags') ?? field('Features')),
    'cpu.online': readText(`${CPU}/online`),
    'cpu.isolated': readText(`${CPU}/isolated`),
    'cpu.governor': ofCpus('cpufreq/scaling_governor'),
    'cpu.scalingDriver': ofCpus('cpufreq/scaling_driver'),
    'cpu.energyPreference': ofCpus('cpufreq/energy_performance_preference'),
    'cpu.maximumFrequency': ofCpus('cpufreq/scaling_max_freq'),
    'cpu.boost': boost(),
    'cpu.smt': readText(`${CPU}/smt/control`),
    'cpu.idleDriver': readText(`${CPU}/cpuidle/current_driver`),
    'cpu.mitigations': mitigations(),
    'start.frequency': readText(`${CPU}/cpu0/cpufreq/scaling_cur_freq`),
  };
}

function memoryConditions(): Fields {
  const huge = '/sys/kernel/mm/transparent_hugepage';
  const swapUsed = memoryBytes('SwapTotal') - memoryBytes('SwapFree');
  return {
    'memory.swapTotal': memoryBytes('SwapTotal').toString(),
    'memory.hugePages': readText('/proc/sys/vm/nr_hugepages'),
    'memory.transparentHugePages': chosen(readText(`${huge}/enabled`)),
    'memory.hugePageDefrag': chosen(readText(`${huge}/defrag`)),
    'memory.ksm': readText('/sys/kernel/mm/ksm/run'),
    'memory.zswap': readText('/sys/module/zswap/parameters/enabled'),
    'memory.swappiness': readText('/proc/sys/vm/swappiness'),
    'memory.overcommit': readText('/proc/sys/vm/overcommit_memory'),
    'start.availableMemory': memoryBytes('MemAvailable').toString(),
    'start.freeMemory': memoryBytes('MemFree').toString(),
    'start.pageCache': memoryBytes('Cached').toString(),
    'start.swapUsed': swapUsed.toString(),
  };
}

function kernelConditions(): Fields {
  return {
    'kernel.version': readText('/proc/sys/kernel/version'),
    'kernel.commandLine': digestOf(readText('/proc/cmdline')),
    'kernel.aslr': readText('/proc/sys/kernel/randomize_va_space'),
    'kernel.numaBalancing': readText('/proc/sys/kernel/numa_balancing'),
    'kernel.autogroup': readText('/proc/sys/kernel/sched_autogroup_enabled'),
    'kernel.clockSource': readText('/sys/devices/system/clocksource/clocksource0/current_clocksource'),
  };
}

/** `mains`, `battery` when any battery discharges, or null where no supply is told. */
function powerSource(): string | null {
  const folder = '/sys/class/power_supply';
  const supplies = list(folder);
  const told = supplies.map((name) => ({
    type: readText(`${folder}/${name}/type`),
    status: readText(`${folder}/${name}/status`),
    online: readText(`${folder}/${name}/online`),
  }));
  if (told.some(({ type, status }) => type === 'Battery' && status === 'Discharging')) return 'battery';
  return told.some(({ type, online }) => type === 'Mains' && online === '1') ? 'mains' : null;
}

/** The warmest sensor of the CPU in degrees Celsius. */
function cpuTemperature(): string | null {
  const zones = list('/sys/class/thermal').filter((name) => name.startsWith('thermal_zone'));
  const ofZones = zones.flatMap((zone) => {
    const type = readText(`/sys/class/thermal/${zone}/type`) ?? '';
    return /cpu|x86_pkg|soc/i.test(type) ? (readText(`/sys/class/thermal/${zone}/temp`) ?? []) : [];
  });
  const sensors = list('/sys/class/hwmon').filter((name) =>
    /coretemp|k10temp|zenpower|cpu_thermal/.test(readText(`/sys/class/hwmon/${name}/name`) ?? ''),
  );
  const ofSensors = sensors.flatMap((name) => readText(`/sys/class/hwmon/${name}/temp1_input`) ?? []);
  const values = [...ofZones, ...ofSensors].map(Number).filter(Number.isFinite);
  return values.length === 0 ? null : (Math.max(...values) / 1000).toFixed(1);
}

/** Share of the last ten seconds in which something waited, as the kernel tells it for a resource. */
const pressure = (resource: string): string | null =>
  /^some avg10=(\S+)/m.exec(readText(`/proc/pressure/${resource}`) ?? '')?.[1] ?? null;

/** `cpu.*`, `numa.*`, `memory.*`, `kernel.*`, `system.*` and `start.*` of the conditions. */
export function machineConditions(): Fields {
  const { id, system, cpu, memory } = fingerprint();
  return {
    'machine.id': id,
    'cpu.model': cpu.model,
    'cpu.logical': String(cpu.logical),
    'cpu.features': cpu.features.join(' '),
    ...cpuConditions(),
    'numa.nodes': cpu.numaNodes === null ? null : String(cpu.numaNodes),
    'memory.total': memory.totalBytes,
    ...memoryConditions(),
    'kernel.release': system.kernel,
    ...kernelConditions(),
    'system.distribution': distribution(),
    'system.container': String(inContainer()),
    'system.powerProfile': readText('/sys/firmware/acpi/platform_profile'),
    'system.powerSource': powerSource(),
    'start.temperature': cpuTemperature(),
    'start.load': readText('/proc/loadavg')?.split(' ')[0] ?? null,
    'start.uptime': readText('/proc/uptime')?.split(' ')[0] ?? null,
    'start.cpuPressure': pressure('cpu'),
    'start.memoryPressure': pressure('memory'),
    'start.ioPressure': pressure('io'),
  };
}
