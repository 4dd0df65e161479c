/** Where the harness itself lives, what it is, and where it keeps what can be made again. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Root of the installed package: the folder of its `package.json`, `native/`, `kernels/` and `dist/`. */
export const harnessFolder = fileURLToPath(new URL('../..', import.meta.url));

/** Our own `package.json`; read without a schema library, which would double the start of every command. */
const ownPackage: unknown = JSON.parse(readFileSync(join(harnessFolder, 'package.json'), 'utf8'));

/** Version of the harness, from its `package.json`. */
export const harnessVersion = versionOf(ownPackage);

function versionOf(description: unknown): string {
  if (typeof description === 'object' && description !== null && 'version' in description) {
    if (typeof description.version === 'string') return description.version;
  }
  throw new Error('The package.json of qualify has no version.');
}

/** The executable script of the command line. */
export const cliScript = join(harnessFolder, 'bin', 'qualify.js');

/** The entry of the embedded engine's process. */
export const nativeHostScript = fileURLToPath(new URL('./engine/native-host.js', import.meta.url));

/** `$XDG_CACHE_HOME/qualify`, else `~/.cache/qualify`. Everything below can be made again. */
export function cacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const xdg = environment.XDG_CACHE_HOME;
  return join(xdg?.startsWith('/') ? xdg : join(homedir(), '.cache'), 'qualify');
}

/** `$XDG_CONFIG_HOME/qualify`, or below `~/.config`: keys and calibrations, which cannot be made again. */
export function configFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const config = environment.XDG_CONFIG_HOME;
  return join(config?.startsWith('/') ? config : join(homedir(), '.config'), 'qualify');
}

/** Folder of an installed dependency, however the package manager has hoisted it. */
export function dependencyFolder(name: string): string {
  return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
}
