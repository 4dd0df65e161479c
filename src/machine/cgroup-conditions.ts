/** What the control groups of a process allow it: CPU time, CPUs, memory. Both versions of control groups. */
import { readText } from './fingerprint.js';

const ROOT = '/sys/fs/cgroup';

/** A folder of a control group and its ancestors, the nearest first. */
export function lineage(mount: string, path: string): string[] {
  const parts = path.split('/').filter(Boolean);
  return Array.from({ length: parts.length + 1 }, (_, up) =>
    [mount, ...parts.slice(0, parts.length - up)].join('/'),
  );
}

/** Where the groups of a controller lie, from the text of `/proc/PID/cgroup`; null when there is no such controller. Pure. */
export function groupOf(cgroups: string, controller: string): { version: 1 | 2; path: string } | null {
  const lines = cgroups.split('\n').map((line) => /^\d+:([^:]*):(.*)$/.exec(line));
  const named = lines.find((line) => line?.[1]?.split(',').includes(controller));
  if (named?.[2] !== undefined) return { version: 1, path: named[2] };
  const unified = lines.find((line) => line?.[1] === '');
  return unified?.[2] === undefined ? null : { version: 2, path: unified[2] };
}

const files = {
  cpu: { 1: ['cpu.cfs_quota_us', 'cpu.cfs_period_us'], 2: ['cpu.max'] },
  cpuset: { 1: ['cpuset.cpus'], 2: ['cpuset.cpus.effective'] },
  memory: { 1: ['memory.limit_in_bytes'], 2: ['memory.max'] },
} as const;

/** The limits of a controller from the process's group upwards, those that limit nothing left out; null when nobody says. */
function limitsOf(cgroups: string, controller: keyof typeof files): string | null {
  const group = groupOf(cgroups, controller);
  if (group === null) return null;
  const mount = group.version === 1 ? `${ROOT}/${controller}` : ROOT;
  const told = lineage(mount, group.path).flatMap((folder) => {
    const values = files[controller][group.version].map((file) => readText(`${folder}/${file}`));
    return values.every((value) => value !== null) ? [values.join(' ')] : [];
  });
  if (told.length === 0) return null;
  // 2^63 rounded down to a page is what version 1 says for "no limit".
  const limits = told.filter((text) => !/^(max\b|-1\b|92233720368\d{8}$)/.test(text));
  return [...new Set(limits)].join(', ') || 'none';
}

/** `cgroup.*` of the conditions of process `pid`. */
export function cgroupConditions(pid: number): Record<string, string | null> {
  const cgroups = readText(`/proc/${pid}/cgroup`) ?? '';
  return {
    'cgroup.cpuLimit': limitsOf(cgroups, 'cpu'),
    'cgroup.cpus': limitsOf(cgroups, 'cpuset'),
    'cgroup.memoryLimit': limitsOf(cgroups, 'memory'),
  };
}
