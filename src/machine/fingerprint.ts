/** What this machine is, as far as speed depends on it. Read from `/proc` and `/sys` without starting a program. */
import { readdirSync, readFileSync } from 'node:fs';
import { cpus, hostname, release, totalmem } from 'node:os';
import { z } from 'zod';
import { sha256 } from '../digest.js';
import { sha256Schema } from '../plan/schema.js';

const text = z.string().nullable();

/** `evidence/machine.json`. Null means that this system does not say. */
export const fingerprintSchema = z.strictObject({
  schemaVersion: z.literal(1),
  /** Digest that is the same for every session on this machine and tells nothing about it. */
  id: sha256Schema,
  system: z.strictObject({ kernel: z.string(), distribution: text, container: z.boolean() }),
  cpu: z.strictObject({
    model: z.string(),
    logical: z.int(),
    /** What `cpu.max` of the control group allows, as `<quota> <period>` or `max`. */
    quota: text,
    features: z.array(z.string()),
    governor: text,
    energyPreference: text,
    boost: text,
    smt: text,
    numaNodes: z.int().nullable(),
  }),
  memory: z.strictObject({ totalBytes: z.string(), swapTotalBytes: z.string(), transparentHugePages: text }),
  gpus: z.array(z.strictObject({ vendor: z.string(), device: z.string(), name: text })),
});

export type Fingerprint = z.infer<typeof fingerprintSchema>;

/** Instruction sets that choose a kernel. */
const FEATURES = [
  'sse4_2',
  'avx',
  'f16c',
  'fma',
  'avx2',
  'avx_vnni',
  'avx512f',
  'avx512bw',
  'avx512vl',
  'avx512_vnni',
];

/** Trimmed content, or null when there is no such file or it is not ours to read. */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

/** Names in a folder; none when it cannot be read. */
export const list = (folder: string): string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

/** The chosen one of `always [madvise] never`. */
export const chosen = (text: string | null): string | null => /\[(\w+)\]/.exec(text ?? '')?.[1] ?? text;

/** Bytes of a field of `/proc/meminfo`, as `SwapTotal`. */
export function memoryBytes(field: string): bigint {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readText('/proc/meminfo') ?? '')?.[1];
  return BigInt(kilobytes ?? 0) * 1024n;
}

function cpuFeatures(): string[] {
  const flags = /^flags\s*:\s*(.*)$/m.exec(readText('/proc/cpuinfo') ?? '')?.[1]?.split(' ') ?? [];
  return FEATURES.filter((feature) => flags.includes(feature));
}

/** Display controllers by PCI ids; NVIDIA's driver also gives a name. */
function findGpus(): Fingerprint['gpus'] {
  const cards = list('/sys/class/drm').filter((name) => /^card\d+$/.test(name));
  const drawn = cards.flatMap((card) => {
    const vendor = readText(`/sys/class/drm/${card}/device/vendor`);
    const device = readText(`/sys/class/drm/${card}/device/device`);
    const name = readText(`/sys/class/drm/${card}/device/product_name`);
    return vendor === null || device === null ? [] : [{ vendor, device, name }];
  });
  const nvidia = list('/proc/driver/nvidia/gpus').map((address) => {
    const name = /^Model:\s*(.*)$/m.exec(
      readText(`/proc/driver/nvidia/gpus/${address}/information`) ?? '',
    )?.[1];
    return { vendor: '0x10de', device: address, name: name ?? null };
  });
  return nvidia.length > 0 ? [...drawn.filter((gpu) => gpu.vendor !== '0x10de'), ...nvidia] : drawn;
}

export const distribution = (): string | null =>
  /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(readText('/etc/os-release') ?? '')?.[1] ?? null;

export const inContainer = (): boolean =>
  readText('/run/.containerenv') !== null ||
  readText('/.dockerenv') !== null ||
  /docker|containerd|kubepods|lxc/.test(readText('/proc/1/cgroup') ?? '');

/** Digest of what names this machine; the same for every session on it. */
function machineId(processors: ReturnType<typeof cpus>): string {
  const own = readText('/etc/machine-id') ?? hostname();
  const identity = JSON.stringify([own, modelOf(processors), processors.length, totalmem()]);
  return sha256(`qualify machine ${identity}`);
}

const modelOf = (processors: ReturnType<typeof cpus>): string => processors[0]?.model.trim() ?? 'unknown';

/** Reads the machine anew. */
export function fingerprint(): Fingerprint {
  const processors = cpus();
  const scaling = '/sys/devices/system/cpu/cpu0/cpufreq';
  const nodes = list('/sys/devices/system/node').filter((name) => /^node\d+$/.test(name)).length;
  return {
    schemaVersion: 1,
    id: machineId(processors),
    system: { kernel: release(), distribution: distribution(), container: inContainer() },
    cpu: {
      model: modelOf(processors),
      logical: processors.length,
      quota: readText('/sys/fs/cgroup/cpu.max'),
      features: cpuFeatures(),
      governor: readText(`${scaling}/scaling_governor`),
      energyPreference: readText(`${scaling}/energy_performance_preference`),
      boost: readText('/sys/devices/system/cpu/cpufreq/boost'),
      smt: readText('/sys/devices/system/cpu/smt/control'),
      numaNodes: nodes === 0 ? null : nodes,
    },
    memory: {
      totalBytes: String(totalmem()),
      swapTotalBytes: memoryBytes('SwapTotal').toString(),
      transparentHugePages: chosen(readText('/sys/kernel/mm/transparent_hugepage/enabled')),
    },
    gpus: findGpus(),
  };
}
