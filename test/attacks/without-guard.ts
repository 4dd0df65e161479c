/**
 * The verifier with one of its guards taken out. An attack that succeeds against that, and not against the whole, shows that the guard
 * is what stops it, and that the attack is one.
 */
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { removeFolder } from '../support/folder.js';

const DIST = fileURLToPath(new URL('../../', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A place in the compiled sources, and what stands there instead; the text must stand there exactly once. */
export interface Guard {
  /** Below `src`, without extension: `manifest/envelope`. */
  module: string;
  guard: string;
  instead: string;
}

/** The same files under other names, so that they are other modules; copies where the disk is another. */
function linkTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, target);
    else if (!entry.name.endsWith('.map')) linkOrCopy(source, target);
  }
}

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch {
    copyFileSync(source, target);
  }
}

/** Imports `module` (below `src`, without extension) from a copy of the compiled sources that lacks the guards. */
export async function importWithout<T>(t: TestContext, module: string, ...guards: Guard[]): Promise<T> {
  return copyWithout(t, ...guards)<T>(module);
}

/** Makes such a copy; answers what imports modules from it. */
export function copyWithout(t: TestContext, ...guards: Guard[]): <T>(module: string) => Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'without-guard-'));
  t.after(() => removeFolder(folder));
  linkTree(join(DIST, 'src'), join(folder, 'dist', 'src'));
  for (const name of ['node_modules', 'package.json', 'matrices', 'native', 'kernels']) {
    symlinkSync(join(ROOT, name), join(folder, name));
  }
  for (const { module: guarded, guard, instead } of guards) {
    const path = join(folder, 'dist', 'src', `${guarded}.js`);
    const pieces = readFileSync(path, 'utf8').split(guard);
    if (pieces.length !== 2) {
      throw new Error(`${guarded} has the guard ${pieces.length - 1} times, not once: ${guard}`);
    }
    // The file is the original too, and must not be written to.
    rmSync(path);
    writeFileSync(path, pieces.join(instead));
  }
  return async <T>(module: string) =>
    (await import(pathToFileURL(join(folder, 'dist', 'src', `${module}.js`)).href)) as T;
}
