/**
 * The guard of a process group: a shell that waits on a pipe from the harness and kills the group when the pipe breaks. It makes
 * even `kill -9` of the harness leave nothing, also when what it guards is hung and would never notice by itself.
 */
import { spawn } from 'node:child_process';

/** A line from us is the word that all is well; the end of the pipe without one is our death. */
const SCRIPT = 'read -r _ || kill -9 "-$0"';

/** Guards from now on. Call the answer when the group is gone. */
export function guardGroup(group: number): () => void {
  // In a session of its own, so that Ctrl-C at the terminal does not reach it.
  const guard = spawn('/bin/sh', ['-c', SCRIPT, String(group)], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  guard.on('error', () => {});
  guard.stdin.on('error', () => {});
  guard.unref();
  return () => guard.stdin.end('done\n');
}
