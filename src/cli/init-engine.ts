/** Which engine `qualify init` finds in a folder: by the names of a few files, nothing is run. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { QualifyError } from '../errors.js';
import { SOURCE_FOLDERS } from '../revision/source-tree.js';

export const engineKinds = ['embedded', 'node-llama-cpp', 'prebuilt', 'simulated'] as const;
export type EngineKind = (typeof engineKinds)[number];

/** Engines that speak OpenAI's API only, by the name of their Python package. */
const FOREIGN =
  /^name\s*=\s*["'](vllm|sglang|tensorrt[_-]llm|lmdeploy|text-generation-server|mlc[_-]llm)["']/m;
const MOST_BYTES = 1024 * 1024;

export const holdsEngine = (root: string): boolean =>
  SOURCE_FOLDERS.every((name) => existsSync(join(root, name))) &&
  existsSync(join(root, 'native', 'CMakeLists.txt'));

/** `engine.node`, which is loaded, or a `serve` that somebody may execute. */
function holdsBuild(folder: string): boolean {
  const fileAt = (name: string) => {
    const info = statSync(join(folder, name), { throwIfNoEntry: false });
    return info?.isFile() ? info : null;
  };
  return fileAt('engine.node') !== null || ((fileAt('serve')?.mode ?? 0) & 0o111) !== 0;
}

/** Names of the folders just below `root` that hold a build, in order: `base` comes first, then `head`. */
export function prebuiltFolders(root: string): string[] {
  const rank = (name: string): number => (name === 'base' ? 0 : name === 'head' ? 1 : 2);
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && holdsBuild(join(root, entry.name)))
    .map(({ name }) => name)
    .toSorted((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1));
}

/** What is to be measured here. @throws QualifyError ERR_QUALIFY_NO_ENGINE (exit 64) that says what was found instead */
export function engineOf(root: string): EngineKind {
  if (holdsEngine(root)) return 'embedded';
  if (existsSync(join(root, 'include', 'llama.h')) && existsSync(join(root, 'ggml'))) return 'node-llama-cpp';
  if (prebuiltFolders(root).length >= 2) return 'prebuilt';
  const foreign = foreignEngine(root);
  if (foreign === null) throw noEngine(`${root} holds no engine that qualify knows`);
  throw new QualifyError(
    'ERR_QUALIFY_NO_ENGINE',
    `${root} is ${foreign}, and qualify has no adapter for it: an OpenAI API alone does not prove that a prompt was cold or outputs are equal`,
    {
      exit: 'usage',
      hint: 'Put a program `serve` before it that speaks the dialect of docs/engine.md, and begin with: qualify init --engine prebuilt',
    },
  );
}

/** The name of a Python engine whose checkout this is, as its pyproject.toml says. */
function foreignEngine(root: string): string | null {
  for (const path of ['pyproject.toml', join('python', 'pyproject.toml'), join('server', 'pyproject.toml')]) {
    const file = join(root, path);
    const info = statSync(file, { throwIfNoEntry: false });
    if (!info?.isFile() || info.size > MOST_BYTES) continue;
    const name = FOREIGN.exec(readFileSync(file, 'utf8'))?.[1];
    if (name !== undefined) return name;
  }
  return null;
}

export const noEngine = (message: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_NO_ENGINE', message, {
    exit: 'usage',
    hint: `Call it in a repository with native/CMakeLists.txt and kernels/, or say what to write: --engine ${engineKinds.filter((kind) => kind !== 'embedded').join(', ')}`,
  });
