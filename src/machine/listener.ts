/** Which process listens on a port: the one that answers, where what was started stays in front of it. */
import { readlinkSync } from 'node:fs';
import { list, readText } from './fingerprint.js';

const LISTEN = '0A';

/** Inodes of the sockets that listen on a port, from the text of `/proc/PID/net/tcp` or `tcp6`. Pure. */
export function listeningInodes(table: string, port: number): string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  return table.split('\n').flatMap((line) => {
    const fields = line.trim().split(/\s+/);
    const [, local = '', , state] = fields;
    const inode = fields[9];
    return state === LISTEN && local.endsWith(`:${wanted}`) && inode !== undefined ? [inode] : [];
  });
}

const linkOf = (path: string): string | null => {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
};

/** Those of some processes that hold a socket listening on the port. */
export function listenersOf(port: number, pids: readonly number[]): number[] {
  const [leader] = pids;
  const tables = ['tcp', 'tcp6'].map((name) => readText(`/proc/${leader}/net/${name}`) ?? '');
  const sockets = tables.flatMap((table) => listeningInodes(table, port)).map((inode) => `socket:[${inode}]`);
  return pids.filter((pid) =>
    list(`/proc/${pid}/fd`).some((fd) => sockets.includes(linkOf(`/proc/${pid}/fd/${fd}`) ?? '')),
  );
}
