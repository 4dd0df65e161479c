/** Notices that the process that started us has gone, so that a killed harness leaves no engine behind. */
import { fstatSync } from 'node:fs';

const POLL_MS = 1000;

/**
 * Calls `onGone` once when stdin, where it is a pipe, is closed by its other end, or when our parent is no longer the one
 * we began with. A terminal or `/dev/null` as stdin says nothing and is left alone.
 */
export function watchParent(onGone: () => void): () => void {
  const parent = process.ppid;
  let told = false;
  const gone = () => {
    if (told) return;
    told = true;
    clearInterval(timer);
    onGone();
  };
  const timer = setInterval(() => {
    if (process.ppid !== parent) gone();
  }, POLL_MS);
  timer.unref();
  if (stdinIsPipe()) {
    process.stdin.resume();
    process.stdin.once('end', gone);
    process.stdin.once('error', gone);
  }
  return () => {
    told = true;
    clearInterval(timer);
    if (stdinIsPipe()) process.stdin.pause();
  };
}

function stdinIsPipe(): boolean {
  try {
    const status = fstatSync(0);
    return status.isFIFO() || status.isSocket();
  } catch {
    return false;
  }
}
