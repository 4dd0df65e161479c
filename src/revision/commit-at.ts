/** The commit that a name stands for, where it stands for one. */
import { callGit, gitFailed, tryGit } from './git.js';

/** A branch that may be the main one. */
export interface Branch {
  name: string;
  /** In full: a tag of that name must not be taken for the branch. */
  ref: string;
}

const USUAL_BRANCHES: readonly Branch[] = [
  { name: 'origin/main', ref: 'refs/remotes/origin/main' },
  { name: 'main', ref: 'refs/heads/main' },
  { name: 'origin/master', ref: 'refs/remotes/origin/master' },
  { name: 'master', ref: 'refs/heads/master' },
];

const REMOTES = 'refs/remotes/';

/** What the main branch may be, the likeliest first: what the remote calls its own, then the usual names. Not all of them need to be there. */
export async function mainBranches(repository: string): Promise<Branch[]> {
  const ref = await tryGit(repository, 'symbolic-ref', '--quiet', `${REMOTES}origin/HEAD`);
  const own = ref?.startsWith(REMOTES) ? [{ name: ref.slice(REMOTES.length), ref }] : [];
  return [...own, ...USUAL_BRANCHES.filter((usual) => usual.ref !== ref)];
}

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
