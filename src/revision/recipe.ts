/**
 * The one way in which an engine of ours is built, the same for every revision: plain CMake, Release, an environment
 * without the user's compiler flags. The text of the recipe is part of a build's digest, so a change of it rebuilds.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Toolchain } from './toolchain.js';

/** Variables of the user's environment that a build sees. CXXFLAGS and the like would make two arms unlike. */
const ENVIRONMENT = ['PATH', 'HOME', 'TMPDIR'] as const;

const CONFIGURE = [
  '-S',
  '{source}/native',
  '-B',
  '{build}',
  '-G',
  '{generator}',
  '-DCMAKE_BUILD_TYPE=Release',
  '-DCMAKE_CXX_COMPILER={compiler}',
  // Keeps the places of this machine out of the binary: the same sources give the same bytes in any folder.
  '-DCMAKE_CXX_FLAGS=-ffile-prefix-map={source}=. -ffile-prefix-map={build}=build',
  '-DQUALIFY_NODE_MODULES={nodeModules}',
];
const BUILD = ['--build', '{build}', '--target', 'engine', '--parallel', '{jobs}'];

/** What the recipe says, before anything of this machine is filled in. */
export const recipeText = JSON.stringify({
  version: 1,
  tool: 'cmake',
  configure: CONFIGURE,
  build: BUILD,
  environment: ENVIRONMENT,
});

/** SHA-256 of the recipe's text. */
export const recipeDigest = createHash('sha256').update(recipeText).digest('hex');

/** File that a build must leave in its build folder. */
export const BINARY_NAME = 'engine.node';

export interface RecipeStep {
  name: 'configure' | 'compile';
  program: string;
  arguments: string[];
}

/** The steps for one build of the sources at `source` in the scratch folder `build`. */
export function recipeSteps(
  place: { source: string; build: string; jobs: number },
  toolchain: Toolchain,
): RecipeStep[] {
  const values: Record<string, string> = {
    source: place.source,
    build: place.build,
    jobs: String(place.jobs),
    generator: toolchain.generator,
    compiler: toolchain.compilerPath,
    nodeModules: toolchain.nodeModulesFolder,
  };
  const fill = (text: string) => text.replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole);
  return [
    { name: 'configure', program: toolchain.cmakePath, arguments: CONFIGURE.map(fill) },
    { name: 'compile', program: toolchain.cmakePath, arguments: BUILD.map(fill) },
  ];
}

/** The environment of a build: the allow-list, and messages in English. */
export function recipeEnvironment(environment: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const kept: Record<string, string> = { LC_ALL: 'C' };
  for (const name of ENVIRONMENT) {
    const value = environment[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

/** Path of the binary inside a build folder. */
export const binaryPath = (folder: string): string => join(folder, BINARY_NAME);
