/** Conditions that move by themselves: those with a bound, and those that are only recorded. */
import type { FieldClass } from './field-classes.js';

export const boundedRows: readonly FieldClass[] = [
  {
    name: 'start.temperature',
    word: 'temperature of the CPU at the start',
    remedy: 'let the machine come to its working temperature first, and see to its cooling',
    class: 'bounded',
    bound: { kind: 'difference', most: 20, unit: 'degrees Celsius' },
  },
  {
    name: 'start.gpuTemperature',
    word: 'temperature of the graphics processor at the start',
    remedy: 'let the machine come to its working temperature first, and see to its cooling',
    class: 'bounded',
    bound: { kind: 'difference', most: 20, unit: 'degrees Celsius' },
  },
  {
    name: 'start.availableMemory',
    word: 'available memory at the start',
    remedy: 'end what else takes memory while the session runs',
    class: 'bounded',
    bound: { kind: 'share', least: 0.5 },
  },
  {
    // The engine of the launch before accounts for as much as there are CPUs.
    name: 'start.load',
    word: 'load average at the start',
    remedy: 'quiet the machine, or let CPU time decide (`clock: cpu`)',
    class: 'bounded',
    bound: { kind: 'difference', most: 1.5, times: 'cpu.logical', unit: 'runnable tasks' },
    onlyClock: 'wall',
  },
];

const recorded = (name: string, word: string): FieldClass => ({ name, word, remedy: '', class: 'recorded' });

export const recordedRows: readonly FieldClass[] = [
  recorded('start.frequency', 'clock of the first CPU at the start'),
  recorded('start.freeMemory', 'free memory at the start'),
  recorded('start.pageCache', 'page cache at the start'),
  recorded('start.swapUsed', 'swap in use at the start'),
  recorded('start.uptime', 'seconds since the machine started'),
  recorded('start.cpuPressure', 'share of time in which tasks waited for CPUs'),
  recorded('start.memoryPressure', 'share of time in which tasks waited for memory'),
  recorded('start.ioPressure', 'share of time in which tasks waited for disks'),
  recorded('start.oomScore', 'score of the process for the out-of-memory killer'),
  recorded('start.residentMemory', 'resident memory of the process'),
  recorded('start.swappedMemory', 'memory of the process in swap'),
  recorded('start.threads', 'threads of the process'),
  recorded('start.processes', 'processes of the launch'),
  recorded('gpu.link', 'link speed of graphics processors, which falls when they rest'),
  recorded('gpu.memoryUsed', 'memory of graphics processors in use'),
];
