/**
 * The empty HOME and TMPDIR of one launch, so that an engine carries nothing from launch to launch there. They lie outside the run
 * folder, go with the launch, and a guard removes them when the harness is killed.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardPath } from '../machine/guard.js';
import { temporary } from '../make-folder.js';

export interface LaunchFolder {
  /** `HOME` and `TMPDIR`. */
  readonly environment: Readonly<Record<string, string>>;
  /** Safe to call twice. */
  remove(): Promise<void>;
}

export function makeLaunchFolder(): LaunchFolder {
  const folder = join(tmpdir(), `qualify-launch-${randomBytes(8).toString('hex')}`);
  // The guard comes first: a folder that is made before it stays when the harness is killed in between.
  const dismissGuard = guardPath(folder);
  const environment = { HOME: join(folder, 'home'), TMPDIR: join(folder, 'tmp') };
  // What is half made when this throws, the guard removes at the end of the harness.
  temporary(() => {
    mkdirSync(folder, { mode: 0o700 });
    for (const path of Object.values(environment)) mkdirSync(path);
  });
  return {
    environment,
    remove: async () => {
      await rm(folder, { recursive: true, force: true });
      dismissGuard();
    },
  };
}
