/** Who holds a device that computes. */
import { readlinkSync } from 'node:fs';
import { list } from './fingerprint.js';

const COMPUTE_DEVICE = /^\/dev\/(nvidia\d+|kfd|dri\/renderD\d+)$/;

/** True where the machine has a device that computes; only then is it worth asking who holds one. */
export const hasComputeDevice = (): boolean =>
  ['/dev', '/dev/dri'].some((folder) =>
    list(folder).some((name) => COMPUTE_DEVICE.test(`${folder}/${name}`)),
  );

/** True where the process has one open, as far as we may see. */
export function holdsComputeDevice(pid: number): boolean {
  return list(`/proc/${pid}/fd`).some((name) => {
    try {
      return COMPUTE_DEVICE.test(readlinkSync(`/proc/${pid}/fd/${name}`));
    } catch {
      return false;
    }
  });
}
