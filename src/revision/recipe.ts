/**
 * The one way in which an engine of ours is built, the same for every revision: plain CMake, Release, an environment
 * without the user's compiler flags. The text of a recipe is part of a build's digest, so a change of it rebuilds. The
 * program of the kernel suite is built in the same way from the same sources.
 */
import { createHash } from 'node:crypto';
import { TEST_FOLDERS } from './source-tree.js';
import type { Toolchain } from './toolchain.js';

/** Variables of the user's environment that a build sees. CXXFLAGS and the like would make two arms unlike. */
const ENVIRONMENT = ['PATH', 'HOME', 'TMPDIR'] as const;

/** What the sources can be built into. */
export interface Recipe {
  /** As progress and errors name it. */
  what: string;
  /** File that a build must leave in its build folder. */
  binaryName: string;
  /** Folders of the sources that it does not depend on. */
  leftOut: readonly string[];
  configure: readonly string[];
  build: readonly string[];
  /** SHA-256 of the recipe's text. */
  digest: string;
}

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
];

function recipe(parts: Omit<Recipe, 'digest' | 'build'> & { target: string }): Recipe {
  const { what, binaryName, leftOut, configure, target } = parts;
  const build = ['--build', '{build}', '--target', target, '--parallel', '{jobs}'];
  // What the recipe says, before anything of this machine is filled in.
  const text = JSON.stringify({ version: 1, tool: 'cmake', configure, build, environment: ENVIRONMENT });
  return {
    what,
    binaryName,
    leftOut,
    configure,
    build,
    digest: createHash('sha256').update(text).digest('hex'),
  };
}

/** The engine: the addon that `native-host` loads. */
export const engineRecipe = recipe({
  what: 'the engine',
  binaryName: 'engine.node',
  leftOut: TEST_FOLDERS,
  configure: [...CONFIGURE, '-DQUALIFY_NODE_MODULES={nodeModules}'],
  target: 'engine',
});

/** The program that `qualify kernels` runs. */
export const suiteRecipe = recipe({
  what: 'the kernel suite',
  binaryName: 'qualify-kernels',
  // It includes the makers of random weights that the C++ tests use.
  leftOut: ['native/test'],
  configure: [...CONFIGURE, '-DQUALIFY_SUITE=ON'],
  target: 'qualify-kernels',
});

export interface RecipeStep {
  name: 'configure' | 'compile';
  program: string;
  arguments: string[];
}

/** The steps for one build of the sources at `source` in the scratch folder `build`. */
export function recipeSteps(
  { configure, build }: Recipe,
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
    { name: 'configure', program: toolchain.cmakePath, arguments: configure.map(fill) },
    { name: 'compile', program: toolchain.cmakePath, arguments: build.map(fill) },
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
