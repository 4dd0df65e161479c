/** Lists of CPUs as `taskset` writes them. */
import { QualifyError } from '../errors.js';

/** The highest number of a CPU that Linux can be built for. */
const HIGHEST_CPU = 8191;

/** `0-2,5` as [0, 1, 2, 5]; null for anything else, a repeated CPU, a falling range, or a CPU that no Linux has. */
export function cpusOf(text: string): number[] | null {
  const cpus = new Set<number>();
  for (const part of text.split(',')) {
    const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part);
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? match?.[1]);
    if (!match || last < first || last > HIGHEST_CPU) return null;
    for (let cpu = first; cpu <= last; cpu += 1) {
      if (cpus.has(cpu)) return null;
      cpus.add(cpu);
    }
  }
  return [...cpus];
}

/** `cpusOf`. @throws ERR_QUALIFY_USAGE where that is null. */
export function parseCpuList(text: string): number[] {
  const cpus = cpusOf(text);
  if (cpus !== null) return cpus;
  throw new QualifyError('ERR_QUALIFY_USAGE', `"${text}" is not a list of CPUs`, {
    exit: 'usage',
    hint: `write it as 0-1 or 0,2: ranges that rise, each CPU once, up to ${HIGHEST_CPU}`,
  });
}
