/** All processes of the machine, read again and again. */
import type { KeptFiles } from './kept-files.js';
import { type ProcessStat, parseProcessStat, processIds } from './procfs.js';

const pathOf = (pid: number): string => `/proc/${pid}/stat`;

/** Reads `/proc/<pid>/stat` each time, and parses it only where it says something else than before: most processes sleep. */
export class ProcessTable {
  readonly #files: KeptFiles;
  readonly #known = new Map<number, { text: string; stat: ProcessStat }>();

  constructor(files: KeptFiles) {
    this.#files = files;
  }

  /** Null when there is no such process, or it ended while we read. */
  read(pid: number): ProcessStat | null {
    const text = this.#files.read(pathOf(pid));
    if (text === null) return null;
    const known = this.#known.get(pid);
    if (known?.text === text) return known.stat;
    const stat = parseProcessStat(pid, text);
    this.#known.set(pid, { text, stat });
    return stat;
  }

  /** Every process that we may see, and lets go of those that ended. */
  readAll(): ProcessStat[] {
    const pids = new Set(processIds());
    for (const pid of this.#known.keys()) {
      if (pids.has(pid)) continue;
      this.#known.delete(pid);
      this.#files.forget(pathOf(pid));
    }
    return [...pids].flatMap((pid) => this.read(pid) ?? []);
  }
}
