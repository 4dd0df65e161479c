/** A run by what the user calls it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Where runs are by default, below the folder that qualify is called in. */
export const RUNS = '.qualify/runs';

/** What the help of commands says of an argument that `findRun` takes. */
export const RUN_ARGUMENT = `the run folder, or the name of a session in ${RUNS}`;

/** The same, for commands that take an archive too. */
export const RUN_OR_ARCHIVE = `the run folder, its archive, or the name of a session in ${RUNS}`;

/** The folder of that path; else that of the session of that name, when its run is where runs are by default; else the path as it is. */
export function findRun(run: string): string {
  const named = join(RUNS, run);
  return !existsSync(run) && existsSync(named) ? named : run;
}
