/** The tip of the branch that a change is to be merged into, of which a question is asked before somebody measures the answer. */
import { realpathSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { headOf, repositoryAt } from './commits.js';
import type { GatePolicy } from './policy.js';

/** The newest commit of the branch that a change is to be merged into, and where it was found. */
export interface Tip {
  /** Top folder of its repository. */
  repository: string;
  /** A name or a commit, as it was given. */
  name: string;
  commit: string;
}

/** A policy that was read from disk. */
export interface PolicyOnDisk {
  /** As it was named. */
  path: string;
  bytes: Buffer;
  policy: GatePolicy;
}

/** @throws QualifyError `ERR_QUALIFY_REVISION` (exit 64) where there is no repository, or no such commit in it */
export async function tipAt(folder: string, name: string): Promise<Tip> {
  const repository = await repositoryAt(folder);
  const { commit } = await headOf(repository, name);
  return { repository, name, commit };
}

/** Path of a policy below the root of the repository, as a gate names it. */
export const belowRoot = ({ repository }: Tip, { path }: PolicyOnDisk): string =>
  relative(realpathSync(repository), realpathSync(resolve(path)));
