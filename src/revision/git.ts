/**
 * Git, called without hooks, prompts or the user's optional locks; its complaints become errors the user can act on. Most commands call no
 * git, so that what starts processes is loaded by the first call: about a quarter of a command's start.
 */
import { QualifyError } from '../errors.js';

/**
 * Worktrees of a revision under test must not run that revision's or the user's hooks, `core.fsmonitor` among them, which also says what
 * changed. What the user likes to see must not come between what is parsed.
 */
const SAFE = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'protocol.ext.allow=never',
  'log.showSignature=false',
].flatMap((setting) => ['-c', setting]);
/**
 * What of the user's `GIT_*` git is still told: how to reach a remote (and LFS) and who one is there, where its own programs are, what it writes
 * down of itself, and where settings come from (CI says `safe.directory` so; what a setting could change of an answer, `SAFE` and the
 * options of each command say). Everything else goes, also what a later git may bring: variables name another repository than the
 * folder we give (as in git's own hooks), hide objects, or change what a path means.
 */
const KEPT = new RegExp(
  `^GIT_(${[
    'SSH(_COMMAND|_VARIANT)?|ASKPASS|SSL_.+|HTTP_.+|PROXY_.+|ALLOW_PROTOCOL|PROTOCOL_FROM_USER',
    'EXEC_PATH|DISCOVERY_ACROSS_FILESYSTEM|LFS_.+',
    'TRACE.*|TR2_.+|CURL_VERBOSE|REDACT_COOKIES',
    'CONFIG_.+',
  ].join('|')})$`,
);

const OURS = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  LC_ALL: 'C',
  // `git replace` and .git/info/grafts give a commit another content or other parents under its own name.
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_GRAFT_FILE: '/dev/null/none',
};

/** The whole environment of every git that we start. */
export function gitEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const kept = Object.entries(environment).filter(([name]) => !name.startsWith('GIT_') || KEPT.test(name));
  return { ...Object.fromEntries(kept), ...OURS };
}

export const gitFailed = (message: string, hint?: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_REVISION', message, {
    exit: 'usage',
    ...(hint !== undefined && { hint }),
    cause,
  });

/** How a git command ended. */
interface GitResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/**
 * Runs git, whatever it answers.
 * @throws QualifyError `ERR_QUALIFY_TOOL_MISSING` (exit 15) when there is no git, `ERR_QUALIFY_GIT` (15) when it was killed.
 */
export async function callGit(folder: string, ...args: string[]): Promise<GitResult> {
  const { execa } = await import('execa');
  const result = await execa('git', [...SAFE, '-C', folder, ...args], {
    env: gitEnvironment(),
    extendEnv: false,
    reject: false,
  });
  const { exitCode, stdout, stderr } = result;
  if (result.signal !== undefined) {
    throw new QualifyError(
      'ERR_QUALIFY_GIT',
      `git ${args.slice(0, 2).join(' ')} was ended by ${result.signal}`,
      {
        exit: 'infrastructure',
        where: folder,
        cause: result,
      },
    );
  }
  if (exitCode === undefined) {
    throw new QualifyError('ERR_QUALIFY_TOOL_MISSING', 'git cannot be run.', {
      exit: 'infrastructure',
      hint: 'Install it: apt-get install git',
      cause: result,
    });
  }
  return { exitCode, stdout, stderr };
}

/** stdout of a git command, or null when git answers no (a non-zero exit). */
export async function tryGit(folder: string, ...args: string[]): Promise<string | null> {
  const { exitCode, stdout } = await callGit(folder, ...args);
  return exitCode === 0 ? stdout : null;
}

/**
 * stdout of a git command that has to work.
 * @throws QualifyError `ERR_QUALIFY_GIT` (exit 15) with git's own words.
 */
export async function git(folder: string, ...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await callGit(folder, ...args);
  if (exitCode === 0) return stdout;
  throw new QualifyError('ERR_QUALIFY_GIT', `git ${args.slice(0, 2).join(' ')} failed: ${stderr.trim()}`, {
    exit: 'infrastructure',
    where: folder,
  });
}

/** Bytes of a file at a commit, as git stores them; null when the commit has no such file. `path` is below the repository's root. */
export async function fileAt(folder: string, commit: string, path: string): Promise<Buffer | null> {
  const kind = await tryGit(folder, 'cat-file', '-t', `${commit}:${path}`);
  if (kind !== 'blob') return null;
  const { execa } = await import('execa');
  const result = await execa('git', [...SAFE, '-C', folder, 'cat-file', 'blob', `${commit}:${path}`], {
    env: gitEnvironment(),
    extendEnv: false,
    encoding: 'buffer',
    stripFinalNewline: false,
  });
  return Buffer.from(result.stdout);
}
