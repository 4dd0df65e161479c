/** Conditions of the engine's processes, read back from `/proc`: what they really got, not what they were meant to get. */
import { readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { isSteering, variableText, WATCHED_VARIABLES } from '../matrix/condition-values.js';
import { list, readText } from './fingerprint.js';
import { listenersOf } from './listener.js';
import { readHead } from './machine-conditions.js';
import { executableMappings, type MappedFile, mappedDigest } from './mapped-files.js';
import { groupMembers } from './procfs.js';

type Fields = Record<string, string | null>;

/** What is known of a process before it is looked at. */
export interface ProcessFacts {
  /** Leader of the engine's process group. */
  pid: number;
  /** Where the engine listens. */
  port: number;
  /** The environment that it was given. */
  environment: Readonly<Record<string, string>>;
  /** Variables to tell besides, set or not: the switches of all arms. */
  variables: readonly string[];
  /** What lies below it is known by the build's own digests. */
  buildFolder: string;
}

const SCHEDULERS = ['other', 'fifo', 'rr', 'batch', 'iso', 'idle', 'deadline', 'ext'];

/** Fields of `/proc/PID/stat` from the third on; the second may hold any byte. */
function statFields(pid: number): string[] {
  const text = readHead(`/proc/${pid}/stat`, 4096) ?? '';
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Soft limit of a line of `/proc/PID/limits`. */
const limitOf = (limits: string, name: string): string | null =>
  new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(limits)?.[1] ?? null;

/** Value of a key of the auxiliary vector: pairs of 64 bits, little-endian on what we run on. */
function auxiliary(pid: number, key: bigint): string | null {
  try {
    const bytes = readFileSync(`/proc/${pid}/auxv`);
    for (let at = 0; at + 16 <= bytes.length; at += 16)
      if (bytes.readBigUInt64LE(at) === key) return bytes.readBigUInt64LE(at + 8).toString();
  } catch {
    // Not ours to read, or gone.
  }
  return null;
}
const PAGE_SIZE = 6n;

/** The distinct sets of CPUs that the threads of a process may run on. */
function threadCpus(pid: number): string | null {
  const sets = list(`/proc/${pid}/task`).flatMap((task) => {
    const status = readText(`/proc/${pid}/task/${task}/status`) ?? '';
    return /^Cpus_allowed_list:\s*(.*)$/m.exec(status)?.[1] ?? [];
  });
  return sets.length === 0 ? null : [...new Set(sets)].toSorted().join(' and ');
}

function schedulingConditions(pid: number): Fields {
  const status = readText(`/proc/${pid}/status`) ?? '';
  const said = (name: string): string | null =>
    new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]?.trim() ?? null;
  const limits = readText(`/proc/${pid}/limits`) ?? '';
  const stat = statFields(pid);
  const policy = stat[38];
  return {
    'process.cpus': said('Cpus_allowed_list'),
    'process.threadCpus': threadCpus(pid),
    'process.memoryNodes': said('Mems_allowed_list'),
    // The first mapping tells the policy of the process. The rest of the file is long and slow to make.
    'process.memoryPolicy': readHead(`/proc/${pid}/numa_maps`, 256)?.split(' ')[1] ?? null,
    'process.pageSize': auxiliary(pid, PAGE_SIZE),
    'process.nice': stat[16] ?? null,
    'process.scheduler': policy === undefined ? null : (SCHEDULERS[Number(policy)] ?? policy),
    'process.lockedMemoryLimit': limitOf(limits, 'Max locked memory'),
    'process.stackLimit': limitOf(limits, 'Max stack size'),
    'process.addressSpaceLimit': limitOf(limits, 'Max address space'),
    'process.oomScoreAdjust': readText(`/proc/${pid}/oom_score_adj`),
    'process.transparentHugePages': said('THP_enabled'),
    'process.speculation': said('Speculation_Store_Bypass'),
    'process.seccomp': said('Seccomp'),
    'start.oomScore': readText(`/proc/${pid}/oom_score`),
    'start.residentMemory': said('VmRSS'),
    'start.swappedMemory': said('VmSwap'),
    'start.threads': said('Threads'),
  };
}

function environmentOf(pid: number): Record<string, string> | null {
  try {
    const pairs = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
    return Object.fromEntries(
      pairs.map((pair) => {
        const at = pair.indexOf('=');
        return [pair.slice(0, at), pair.slice(at + 1)];
      }),
    );
  } catch {
    return null;
  }
}

/** Each watched variable over the processes of the launch: one value where they agree, all of them where they do not. */
function environmentConditions(pids: readonly number[], facts: ProcessFacts): Fields {
  const environments = pids.map(environmentOf).filter((environment) => environment !== null);
  const names = new Set([
    ...WATCHED_VARIABLES,
    ...facts.variables,
    ...Object.keys(facts.environment),
    ...environments.flatMap((environment) => Object.keys(environment).filter(isSteering)),
  ]);
  return Object.fromEntries(
    [...names].toSorted().map((name) => {
      const values = environments.map((environment) =>
        variableText(name, environment[name], facts.environment),
      );
      const [first = null, ...others] = new Set(values);
      const all = [first, ...others].map((value) => value ?? 'unset');
      return [`environment.${name}`, others.length === 0 ? first : all.join(' and ')];
    }),
  );
}

/** Runtimes that tell their version in the name of their library. */
const RUNTIMES: readonly [string, RegExp][] = [
  ['runtime.cuda', /^libcudart\.so\.(.+)$/],
  ['runtime.cudaDriver', /^libcuda\.so\.(.+)$/],
  ['runtime.hip', /^libamdhip64\.so\.(.+)$/],
  ['runtime.hsa', /^libhsa-runtime64\.so\.(.+)$/],
  ['runtime.vulkan', /^libvulkan\.so\.(.+)$/],
];

/** Versions of runtimes among mapped files; null for one that is not mapped. Pure. */
export function runtimeVersions(paths: readonly string[]): Fields {
  return Object.fromEntries(
    RUNTIMES.map(([field, pattern]) => {
      const versions = paths.flatMap((path) => pattern.exec(basename(path))?.[1] ?? []);
      return [field, versions.length === 0 ? null : [...new Set(versions)].toSorted().join(' and ')];
    }),
  );
}

const real = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};

/** Path of the program of a process; null when it is gone, which its session says. */
function programOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return null;
  }
}

/** Digest of each library outside of the build, by its name, and of the program itself. */
async function fileConditions(pids: readonly number[], facts: ProcessFacts): Promise<Fields> {
  const inBuild = (path: string): boolean => path.startsWith(`${real(facts.buildFolder)}/`);
  const maps = pids.flatMap((pid) => executableMappings(readText(`/proc/${pid}/maps`) ?? ''));
  const programs = pids.flatMap((pid) => programOf(pid) ?? []);
  const files = new Map(maps.map((file): [string, MappedFile] => [file.path, file]));
  const outside = [...files.values()].filter(({ path }) => !programs.includes(path) && !inBuild(path));
  const byName = new Map<string, string[]>();
  for (const file of outside.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const name = basename(file.path);
    byName.set(name, [...(byName.get(name) ?? []), await mappedDigest(file)]);
  }
  const libraries = [...byName].map(([name, digests]): [string, string] => [
    `library.${name}`,
    digests.join(' and '),
  ]);
  const executables: string[] = [];
  for (const path of programs)
    executables.push(inBuild(path) ? 'of the build' : await mappedDigest({ path, deleted: false }));
  return {
    'process.executable': executables.length === 0 ? null : executables.join(' and '),
    'library.count': String(outside.length),
    ...Object.fromEntries(libraries),
    ...runtimeVersions([...files.keys()]),
  };
}

/**
 * `process.*`, `environment.*`, `library.*` and `runtime.*` of the conditions: of the process that was started, and of the one that
 * listens where that is another. Other processes of an engine come and go, and say nothing.
 */
export async function processConditions(facts: ProcessFacts): Promise<Fields> {
  const members = groupMembers(facts.pid).map(({ pid }) => pid);
  const group = [facts.pid, ...members.filter((pid) => pid !== facts.pid)];
  const listeners = listenersOf(facts.port, group);
  const pids = [...new Set([facts.pid, ...listeners])];
  return {
    ...schedulingConditions(listeners[0] ?? facts.pid),
    'start.processes': String(group.length),
    ...environmentConditions(pids, facts),
    ...(await fileConditions(pids, facts)),
  };
}
