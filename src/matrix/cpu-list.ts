/** Lists of CPUs as `taskset` writes them. */
import { QualifyError } from '../errors.js';

/** `0-2,5` as [0, 1, 2, 5]. @throws ERR_QUALIFY_USAGE for anything else, a repeated CPU or a falling range. */
export function parseCpuList(text: string): number[] {
  const cpus: number[] = [];
  for (const part of text.split(',')) {
    const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part);
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? match?.[1]);
    if (!match || last < first) throw badList(text);
    for (let cpu = first; cpu <= last; cpu += 1) cpus.push(cpu);
  }
  if (new Set(cpus).size !== cpus.length) throw badList(text);
  return cpus;
}

function badList(text: string): QualifyError {
  return new QualifyError('ERR_QUALIFY_USAGE', `"${text}" is not a list of CPUs`, {
    exit: 'usage',
    hint: 'write it as 0-1 or 0,2',
  });
}
