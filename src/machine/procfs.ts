/** What `/proc` says about processes: the facts that survive pid reuse, zombies and children that changed their parent. */
import { readdirSync, readFileSync } from 'node:fs';

/** One process at one moment. Ticks are of `USER_HZ`, 100 a second on every Linux. */
export interface ProcessStat {
  pid: number;
  /** Of the executable, at most 15 bytes. */
  name: string;
  /** `Z` and `X` are dead already: waiting for their parent to look. */
  state: string;
  group: number;
  /** With the pid, names a process for as long as the machine is up. */
  startTicks: number;
  /** User and system time, with that of reaped children. */
  cpuTicks: number;
  majorFaults: number;
}

/** Null when there is no such process, or it ended while we read. */
export function processStat(pid: number): ProcessStat | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return null;
  }
  return parseProcessStat(pid, text);
}

/** What `/proc/<pid>/stat` says. */
export function parseProcessStat(pid: number, text: string): ProcessStat {
  // The command stands in parentheses and may hold any byte, so count fields from the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const at = (index: number): number => Number(fields[index - 3]);
  return {
    pid,
    name: text.slice(text.indexOf('(') + 1, text.lastIndexOf(')')),
    state: fields[0] ?? 'X',
    group: at(5),
    startTicks: at(22),
    cpuTicks: at(14) + at(15) + at(16) + at(17),
    majorFaults: at(12) + at(13),
  };
}

/** What a process calls itself, 15 characters at most; null when there is no such process. */
export function processName(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trimEnd();
  } catch {
    return null;
  }
}

const isAlive = (stat: ProcessStat | null): stat is ProcessStat =>
  stat !== null && !'ZX'.includes(stat.state);

/** Ids of every process that we may see. */
export const processIds = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** Living members of a process group. */
export const groupMembers = (group: number): ProcessStat[] =>
  processIds()
    .map(processStat)
    .filter(isAlive)
    .filter((stat) => stat.group === group);

/** True while the very process that had this start time lives. */
export function isSameProcessAlive(pid: number, startTicks: number): boolean {
  const stat = processStat(pid);
  return isAlive(stat) && stat.startTicks === startTicks;
}

/** Living processes whose initial environment holds `NAME=value`, of those whose environment we may read. */
export const processesWithVariable = (assignment: string): number[] =>
  processesWhere((variables) => variables.includes(assignment));

/** Living processes whose initial environment holds a variable whose `NAME=value` begins so. */
export const processesWithVariableLike = (beginning: string): number[] =>
  processesWhere((variables) => variables.some((variable) => variable.startsWith(beginning)));

function processesWhere(holds: (variables: readonly string[]) => boolean): number[] {
  return processIds().filter((pid) => {
    if (!isAlive(processStat(pid))) return false;
    try {
      return holds(readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0'));
    } catch {
      return false;
    }
  });
}
