/** The files that a gate is to write: none is another, where it reads, or git's to keep, and those of an earlier gate go before it decides. */
import { rm } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { QualifyError } from '../errors.js';
import { GITHUB_FILES } from '../gate/github/render.js';
import { realPlace } from '../machine/write-new.js';
import { keptByGit } from '../revision/kept-by-git.js';
import { regularAt } from './write-answer.js';

interface GateOutputs {
  /** Files that are named one by one. */
  files: readonly (string | undefined)[];
  /** Folder of the files for GitHub. */
  github: string | undefined;
  /** Files and folders that the gate reads. */
  reads: readonly string[];
}

/**
 * Makes room for what a gate will write: a report of an earlier change that stays when this gate breaks would be read as its own.
 * @throws QualifyError `ERR_QUALIFY_USAGE`, `ERR_QUALIFY_EXISTS` (exit 64) before anything is removed; `ERR_QUALIFY_OUTPUT` (exit 15)
 */
export async function clearOutputs({ files, github, reads }: GateOutputs): Promise<void> {
  const named = files.filter((path) => path !== undefined);
  const paths = [...named, ...(github === undefined ? [] : GITHUB_FILES.map((name) => join(github, name)))];
  const places = paths.map(realPlace);
  for (const [index, path] of paths.entries()) {
    if (places.indexOf(places[index] ?? '') !== index) throw refused(`${path} is named for two outputs`);
    const read = reads.find((one) =>
      isAtOrBelow(realPlace(path), realPlace(join(one, 'x')).slice(0, -2), realPlace(one)),
    );
    if (read !== undefined) throw refused(`${path} is or lies in ${read}, which the gate reads`);
    const kept = await keptByGit(path);
    if (kept !== null) throw refused(`${path} ${kept}`);
  }
  const there: string[] = [];
  for (const path of paths) if (await regularAt(path)) there.push(path);
  for (const path of there) await remove(path);
}

const isAtOrBelow = (path: string, ...places: readonly string[]): boolean =>
  places.some((place) => {
    const way = relative(place, path);
    return way !== '..' && !way.startsWith(`..${sep}`);
  });

const refused = (message: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_USAGE', message, {
    exit: 'usage',
    hint: 'What is there would be replaced: name a file of its own, elsewhere.',
  });

async function remove(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (cause) {
    throw new QualifyError(
      'ERR_QUALIFY_OUTPUT',
      `${path} of an earlier gate cannot be removed (${(cause as NodeJS.ErrnoException).code}).`,
      {
        exit: 'infrastructure',
        where: path,
        hint: 'Name another file, or one in a folder that you may write to.',
        cause,
      },
    );
  }
}
