/**
 * The verifier with one of its guards taken out. An attack that succeeds against that, and not against the whole, shows that the guard
 * is what stops it, and that the attack is one.
 */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { removeFolder } from '../support/folder.js';
import { scratchRoot } from '../support/scratch-root.js';

const DIST = fileURLToPath(new URL('../../', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A place in the compiled sources, and what stands there instead; the text must stand there exactly once. */
export interface Guard {
  /** Below `src`, without extension: `manifest/envelope`. */
  module: string;
  guard: string;
  instead: string;
}

const SOURCES = join(DIST, 'src');
const modules = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.js'),
);

/** Which modules import which, both below `src`. */
const importers = new Map<string, string[]>();
for (const path of modules) {
  const text = readFileSync(join(SOURCES, path), 'utf8');
  for (const [, to = ''] of text.matchAll(/\b(?:from|import)\b[\s(]*['"](\.[^'"]+)['"]/g)) {
    const imported = join(dirname(path), to);
    importers.set(imported, [...(importers.get(imported) ?? []), path]);
  }
}

/** These modules and all that import them, over however many others. */
function withImporters(paths: readonly string[]): Set<string> {
  const found = new Set(paths);
  for (const path of found) for (const importer of importers.get(path) ?? []) found.add(importer);
  return found;
}

/**
 * Imports `module` (below `src`, without extension) from a copy of the compiled sources that lacks the guards. The copy is of the modules
 * that a guard stands in and of those that import them; links lead to all others, which are the same modules as everywhere.
 */
export async function importWithout<T>(t: TestContext, module: string, ...guards: Guard[]): Promise<T> {
  return copyWithout(t, ...guards)<T>(module);
}

/** Makes such a copy; answers what imports modules from it. */
export function copyWithout(t: TestContext, ...guards: Guard[]): <T>(module: string) => Promise<T> {
  const folder = mkdtempSync(join(scratchRoot, 'without-guard-'));
  t.after(() => removeFolder(folder));
  const sources = join(folder, 'dist', 'src');
  const copied = withImporters(guards.map(({ module: guarded }) => `${guarded}.js`));
  for (const path of modules) {
    mkdirSync(dirname(join(sources, path)), { recursive: true });
    if (copied.has(path)) copyFileSync(join(SOURCES, path), join(sources, path));
    else symlinkSync(join(SOURCES, path), join(sources, path));
  }
  for (const name of ['node_modules', 'package.json', 'matrices', 'native', 'kernels']) {
    symlinkSync(join(ROOT, name), join(folder, name));
  }
  for (const { module: guarded, guard, instead } of guards) {
    const path = join(sources, `${guarded}.js`);
    const pieces = readFileSync(path, 'utf8').split(guard);
    if (pieces.length !== 2) {
      throw new Error(`${guarded} has the guard ${pieces.length - 1} times, not once: ${guard}`);
    }
    writeFileSync(path, pieces.join(instead));
  }
  return async <T>(module: string) => (await import(pathToFileURL(join(sources, `${module}.js`)).href)) as T;
}
