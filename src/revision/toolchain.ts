/** Finds the tools that build an engine and names their versions, which are part of a build's digest. */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readFile, stat } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { QualifyError } from '../errors.js';
import { dependencyFolder } from '../harness.js';

const run = promisify(execFile);

export interface Toolchain {
  cmakePath: string;
  compilerPath: string;
  generator: 'Ninja' | 'Unix Makefiles';
  /** Folder that holds `node-addon-api` and `node-api-headers`. */
  nodeModulesFolder: string;
  /** Names and versions, without places: part of the build's digest. */
  versions: Record<string, string>;
}

/** Absolute path of a program on PATH, or undefined. */
async function findProgram(name: string, path = process.env.PATH ?? ''): Promise<string | undefined> {
  const candidates = name.includes('/')
    ? [name]
    : path
        .split(delimiter)
        .filter(Boolean)
        .map((folder) => join(folder, name));
  for (const candidate of candidates) {
    const usable = await access(candidate, constants.X_OK).then(
      async () => (await stat(candidate)).isFile(),
      () => false,
    );
    if (usable) return candidate;
  }
  return undefined;
}

async function requireProgram(names: string[], what: string): Promise<string> {
  for (const name of names) {
    const found = await findProgram(name);
    if (found !== undefined) return found;
  }
  throw new QualifyError(
    'ERR_QUALIFY_TOOL_MISSING',
    `building the engine needs ${what}; none of these is on PATH: ${names.join(', ')}`,
    {
      exit: 'infrastructure',
      hint: 'apt-get install cmake ninja-build g++',
    },
  );
}

async function firstLine(program: string, argument: string): Promise<string> {
  const { stdout } = await run(program, [argument], { env: { ...process.env, LC_ALL: 'C' } });
  return stdout.split('\n')[0]?.trim() ?? '';
}

async function packageVersion(folder: string): Promise<string> {
  const text = await readFile(join(folder, 'package.json'), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}

/**
 * The toolchain of this machine: CMake, the compiler that `CXX` names or else `c++`/`g++`/`clang++`, Ninja when it is
 * there or else make, and the two header packages installed with the harness.
 * @throws ERR_QUALIFY_TOOL_MISSING with the remedy.
 */
export async function findToolchain(): Promise<Toolchain> {
  const cxx = process.env.CXX;
  const cmakePath = await requireProgram(['cmake'], 'CMake 3.20 or newer');
  const compilerPath = await requireProgram(cxx ? [cxx] : ['c++', 'g++', 'clang++'], 'a C++20 compiler');
  const ninjaPath = await findProgram('ninja');
  const generatorPath = ninjaPath ?? (await requireProgram(['make', 'gmake'], 'Ninja or make'));
  const addonApi = dependencyFolder('node-addon-api');
  const apiHeaders = dependencyFolder('node-api-headers');
  if (dirname(addonApi) !== dirname(apiHeaders)) {
    throw new QualifyError(
      'ERR_QUALIFY_TOOL_MISSING',
      `node-addon-api and node-api-headers are not installed side by side`,
      {
        exit: 'infrastructure',
        hint: 'reinstall qualify with npm ci',
        where: addonApi,
      },
    );
  }
  return {
    cmakePath,
    compilerPath,
    generator: ninjaPath === undefined ? 'Unix Makefiles' : 'Ninja',
    nodeModulesFolder: dirname(addonApi),
    versions: {
      compiler: await firstLine(compilerPath, '--version'),
      target: await firstLine(compilerPath, '-dumpmachine'),
      cmake: await firstLine(cmakePath, '--version'),
      generator: `${ninjaPath === undefined ? 'make' : 'ninja'} ${await firstLine(generatorPath, '--version')}`,
      'node-addon-api': await packageVersion(addonApi),
      'node-api-headers': await packageVersion(apiHeaders),
    },
  };
}
