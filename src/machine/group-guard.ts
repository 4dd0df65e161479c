/**
 * The guard of a process group: a shell that waits on a pipe from the harness and kills the group when the pipe breaks. It makes
 * even `kill -9` of the harness leave nothing, also when what it guards is hung and would never notice by itself.
 */
import { spawn } from 'node:child_process';

/** A line from us is the word that all is well; the end of the pipe without one is our death. */
const SCRIPT = 'read -r _ || kill -9 "-$0"';
/** Ninja puts each compiler in a group of its own, and ends them only when it is asked to end. */
const ASKING_SCRIPT = 'read -r _ || { kill -15 "-$0"; sleep 3; kill -9 "-$0"; }';

/** Guards from now on. Call the answer when the group is gone. `ask` gives the group 3 s to end in order. */
export function guardGroup(group: number, ask = false): () => void {
  // In a session of its own, so that Ctrl-C at the terminal does not reach it.
  const guard = spawn('/bin/sh', ['-c', ask ? ASKING_SCRIPT : SCRIPT, String(group)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.on('error', () => {});
  guard.stdin.on('error', () => {});
  guard.unref();
  return () => guard.stdin.end('done\n');
}
