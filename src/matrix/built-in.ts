/** The matrices that come with the tool: the YAML files of `matrices/`. */
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of the built-in matrices, beside `dist/` and `package.json`. */
const builtInFolder = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'matrices');

/** Names of the built-in matrices, sorted. */
export function builtInNames(): string[] {
  const files = readdirSync(builtInFolder).filter((file) => file.endsWith('.yaml'));
  return files.map((file) => file.slice(0, -'.yaml'.length)).toSorted();
}

/** Path of a built-in matrix; the name must be one of `builtInNames()`. */
export const builtInPath = (name: string): string => join(builtInFolder, `${name}.yaml`);
