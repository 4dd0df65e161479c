/** The last line of defence: whatever way the harness exits, its engines and worktrees do not outlive it. */
import { killAllGroups } from '../engine/process-group.js';
import { removeWorktreesNow } from '../revision/worktree.js';

let installed = false;

/** Installs the exit handler once. `kill -9` does not get here: guards do the work then. */
export function leaveNothingBehind(): void {
  if (installed) return;
  installed = true;
  process.on('exit', () => {
    killAllGroups();
    removeWorktreesNow();
  });
}
