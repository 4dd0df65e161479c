/**
 * The empty HOME and TMPDIR of one launch, so that an engine carries nothing from launch to launch there. They lie outside the run
 * folder, go with the launch, and a guard removes them when the harness is killed.
 */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardPath } from '../machine/guard.js';

export interface LaunchFolder {
  /** `HOME` and `TMPDIR`. */
  readonly environment: Readonly<Record<string, string>>;
  /** Safe to call twice. */
  remove(): Promise<void>;
}

export function makeLaunchFolder(): LaunchFolder {
  const folder = mkdtempSync(join(tmpdir(), 'qualify-launch-'));
  const dismissGuard = guardPath(folder);
  const environment = { HOME: join(folder, 'home'), TMPDIR: join(folder, 'tmp') };
  for (const path of Object.values(environment)) mkdirSync(path);
  return {
    environment,
    remove: async () => {
      await rm(folder, { recursive: true, force: true });
      dismissGuard();
    },
  };
}
