/** What is wrong with this machine for measuring, each finding with its remedy. */
import { execFile } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { availableParallelism, freemem, loadavg, totalmem } from 'node:os';
import { cacheFolder } from '../harness.js';
import { checkCalibration } from './calibration-check.js';
import { type Fingerprint, fingerprint, memoryBytes, readText } from './fingerprint.js';

/** `bad` stops a session, `warn` makes its numbers worse, `ok` and `info` are for the record. */
export interface Finding {
  check: string;
  status: 'ok' | 'info' | 'warn' | 'bad';
  found: string;
  /** What to do; null when there is nothing to do. */
  remedy: string | null;
}

type Answer = Omit<Finding, 'check'>;
const ok = (found: string): Answer => ({ status: 'ok', found, remedy: null });
const info = (found: string): Answer => ({ status: 'info', found, remedy: null });
const warn = (found: string, remedy: string): Answer => ({ status: 'warn', found, remedy });
const bad = (found: string, remedy: string): Answer => ({ status: 'bad', found, remedy });

interface Tool {
  check: string;
  /** Any one of them does. */
  commands: string[];
  remedy: string;
}

const TOOLS: Tool[] = [
  { check: 'git', commands: ['git'], remedy: 'apt-get install git' },
  { check: 'cmake', commands: ['cmake'], remedy: 'apt-get install cmake' },
  { check: 'compiler', commands: ['c++', 'g++', 'clang++'], remedy: 'apt-get install g++' },
  { check: 'generator', commands: ['ninja', 'make'], remedy: 'apt-get install ninja-build' },
];

/** First line of `--version`, or null when the command cannot be run. */
const versionOf = (command: string): Promise<string | null> =>
  new Promise((resolve) => {
    const options = { timeout: 10_000 };
    const child = execFile(command, ['--version'], options, (error, stdout) =>
      resolve(error === null ? (stdout.split('\n')[0] ?? '') : null),
    );
    child.stdin?.end();
  });

async function checkTool({ check, commands, remedy }: Tool): Promise<Finding> {
  for (const command of commands) {
    const version = await versionOf(command);
    if (version !== null)
      return { check, ...ok(version.startsWith(command) ? version : `${command}: ${version}`) };
  }
  return { check, ...bad(`none of ${commands.join(', ')} can be run`, remedy) };
}

const gigabytes = (bytes: number | bigint): string => `${(Number(bytes) / 1e9).toFixed(1)} GB`;

function checkCpu({ cpu }: Fingerprint): Answer {
  const found = `${cpu.model}, ${cpu.logical} logical, ${cpu.features.join(' ') || 'no vector features known'}`;
  if (cpu.features.includes('avx2')) return ok(found);
  return warn(found, 'Without AVX2 the embedded engine runs its portable path: right, but slow.');
}

function checkGovernor({ cpu }: Fingerprint): Answer {
  if (cpu.governor === null) return info('not visible here (virtual machine or container)');
  if (cpu.governor === 'performance') return ok(cpu.governor);
  return warn(cpu.governor, 'Clocks will wander: sudo cpupower frequency-set -g performance');
}

export function checkLoad(load: number, cpus: number): Answer {
  const found = `${load.toFixed(2)} over the last minute on ${cpus} CPUs`;
  return load < cpus * 0.25
    ? ok(found)
    : warn(found, 'Something else is running; quiet it, or let `clock: cpu` decide.');
}

export function checkSwap(usedBytes: bigint): Answer {
  if (usedBytes < 64_000_000n) return ok(`${gigabytes(usedBytes)} in use`);
  return warn(
    `${gigabytes(usedBytes)} in use`,
    'Pages of the engine may come from disk: free memory, then swapoff -a && swapon -a',
  );
}

/** Bytes that can be had without swapping; what the control group leaves counts too. */
function availableBytes(): number {
  const machine = Number(memoryBytes('MemAvailable')) || freemem();
  const limit = Number(readText('/sys/fs/cgroup/memory.max') ?? Number.NaN);
  const used = Number(readText('/sys/fs/cgroup/memory.current') ?? Number.NaN);
  return Number.isFinite(limit - used) ? Math.min(machine, limit - used) : machine;
}

function checkMemory(available: number): Answer {
  const found = `${gigabytes(available)} of ${gigabytes(totalmem())} available`;
  return available >= 2e9 ? ok(found) : warn(found, 'The mini model wants 2 GB; end what else holds memory.');
}

function checkDisk(folder: string): Answer {
  const { bavail, bsize } = statfsSync(folder);
  const found = `${gigabytes(bavail * bsize)} free at ${folder}`;
  return bavail * bsize >= 4e9
    ? ok(found)
    : warn(found, 'Builds and models want 4 GB; set XDG_CACHE_HOME to a larger disk.');
}

function checkGpus({ gpus }: Fingerprint): Answer {
  if (gpus.length === 0) return info('none found; the embedded engine runs on the CPU');
  return ok(gpus.map((gpu) => gpu.name ?? `${gpu.vendor}:${gpu.device}`).join(', '));
}

/** The nearest folder above that exists. */
function existing(folder: string): string {
  try {
    statfsSync(folder);
    return folder;
  } catch {
    return existing(folder.slice(0, folder.lastIndexOf('/')) || '/');
  }
}

/** Every check, in a fixed order. */
export async function examine(): Promise<Finding[]> {
  const machine = fingerprint();
  const swapUsed = memoryBytes('SwapTotal') - memoryBytes('SwapFree');
  const tools = await Promise.all(TOOLS.map(checkTool));
  return [
    { check: 'node', ...ok(process.version) },
    ...tools,
    { check: 'cpu', ...checkCpu(machine) },
    { check: 'governor', ...checkGovernor(machine) },
    { check: 'load', ...checkLoad(loadavg()[0] ?? 0, availableParallelism()) },
    { check: 'swap', ...checkSwap(swapUsed) },
    { check: 'machine', ...info(machine.id) },
    { check: 'memory', ...checkMemory(availableBytes()) },
    { check: 'disk', ...checkDisk(existing(cacheFolder())) },
    { check: 'gpus', ...checkGpus(machine) },
    { check: 'calibration', ...(await checkCalibration(machine)) },
  ];
}
