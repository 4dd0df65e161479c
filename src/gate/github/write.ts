/** Puts what a workflow posts into a folder. */
import { join } from 'node:path';
import { QualifyError } from '../../errors.js';
import { replaceFile } from '../../machine/replace-file.js';
import { makeFolder } from '../../make-folder.js';
import type { GateDecision } from '../decision.js';
import { type GithubOptions, renderGithub } from './render.js';

/**
 * Writes the five files of `renderGithub` into `folder`, which is made, and answers their paths. Each is whole or not there; files
 * of those names are replaced.
 * @throws QualifyError ERR_QUALIFY_GITHUB_FOLDER (exit 15), with what the system says
 */
export async function writeGithub(
  decision: GateDecision,
  folder: string,
  options: GithubOptions = {},
): Promise<string[]> {
  const files = renderGithub(decision, options);
  try {
    makeFolder(folder);
    const paths: string[] = [];
    for (const [name, text] of Object.entries<string>({ ...files })) {
      const path = join(folder, name);
      await replaceFile(path, text);
      paths.push(path);
    }
    return paths;
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause;
    throw new QualifyError(
      'ERR_QUALIFY_GITHUB_FOLDER',
      `Nothing can be written into ${folder} (${cause.code}).`,
      {
        exit: 'infrastructure',
        where: folder,
        hint: 'Name a folder that you may write to, or one that can be made.',
        cause,
      },
    );
  }
}
