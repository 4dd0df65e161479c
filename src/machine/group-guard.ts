/** The guard of a process group: ends the group when the harness dies, also when it is hung and would never notice by itself. */
import { guard } from './guard.js';

/** Ninja puts each compiler in a group of its own, and ends them only when it is asked to end. */
const ASK = 'kill -15 "-$1"; sleep 3; ';

/** Guards from now on. Call the answer when the group is gone. `ask` gives the group 3 s to end in order. */
export const guardGroup = (group: number, ask = false): (() => void) =>
  guard(`${ask ? ASK : ''}kill -9 "-$1"`, [String(group)]);
