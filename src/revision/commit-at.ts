/** The commit that a name stands for, where it stands for one. */
import { callGit, gitFailed, tryGit } from './git.js';

/** What the main branch goes by, in full: a tag of that name must not be taken for the branch. */
export const MAIN_BRANCHES = [
  { name: 'origin/main', ref: 'refs/remotes/origin/main' },
  { name: 'main', ref: 'refs/heads/main' },
  { name: 'origin/master', ref: 'refs/remotes/origin/master' },
  { name: 'master', ref: 'refs/heads/master' },
];

/**
 * The full hash of the commit that `name` stands for in `repository`; null when there is none.
 * @throws QualifyError `ERR_QUALIFY_REVISION` (exit 64) for a name of a tag and a branch, or of two branches: git would take the tag
 */
export async function commitAt(repository: string, name: string): Promise<string | null> {
  const found = await callGit(
    repository,
    ...['-c', 'core.warnAmbiguousRefs=true'],
    ...['rev-parse', '--verify', '--end-of-options', `${name}^{commit}`],
  );
  if (found.exitCode !== 0) return null;
  // A full hash is taken for itself, whatever else has that name.
  if (/refname .* is ambiguous/.test(found.stderr) && !/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(name)) {
    const refs = await tryGit(repository, 'for-each-ref', '--format=%(refname)');
    const alike = (refs ?? '').split('\n').filter((ref) => ref.endsWith(`/${name}`));
    throw gitFailed(
      `"${name}" stands for more than one thing in ${repository}: ${alike.join(', ') || 'git calls it ambiguous'}.`,
      'Name it in full (refs/heads/…, refs/remotes/…, refs/tags/…), or give the commit.',
    );
  }
  return found.stdout;
}
