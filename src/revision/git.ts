/** Git, called without hooks, prompts or the user's optional locks; its complaints become errors the user can act on. */
import { type ChildProcess, execFile } from 'node:child_process';
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
/** What differs from the user's environment; undefined takes a variable away. */
export const GIT_ENVIRONMENT = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  LC_ALL: 'C',
  // `git replace` and .git/info/grafts give a commit another content or other parents under its own name.
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_GRAFT_FILE: '/dev/null/none',
  // Set inside git's own hooks (a pre-push that qualifies): they would name another repository than the folder we give. All that
  // `git rev-parse --local-env-vars` lists but the GIT_CONFIG ones, by which CI says `safe.directory`.
  GIT_DIR: undefined,
  GIT_COMMON_DIR: undefined,
  GIT_WORK_TREE: undefined,
  GIT_IMPLICIT_WORK_TREE: undefined,
  GIT_INDEX_FILE: undefined,
  GIT_OBJECT_DIRECTORY: undefined,
  GIT_ALTERNATE_OBJECT_DIRECTORIES: undefined,
  GIT_REPLACE_REF_BASE: undefined,
  GIT_SHALLOW_FILE: undefined,
  GIT_NAMESPACE: undefined,
  GIT_PREFIX: undefined,
};

export const gitFailed = (message: string, hint?: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_REVISION', message, {
    exit: 'usage',
    ...(hint !== undefined && { hint }),
    cause,
  });

/** More than any answer that we ask for. */
const MOST_BYTES = 100 * 1024 * 1024;

/** How the process of a git command ended: an exit code, or a signal, or neither where there is no git. */
interface GitEnd {
  exitCode: number | null;
  signal: string | null;
  stdout: Buffer;
  stderr: Buffer;
  /** Null when all went well and `stdout` is whole. */
  cause: Error | null;
}

const running = new Set<ChildProcess>();
// A harness that exits meanwhile leaves no git behind.
process.once('exit', () => {
  for (const child of running) child.kill();
});

/** By Node's own call: nearly every command of ours loads this module, and a library for processes is a hundred files. */
function runGit(folder: string, args: readonly string[]): Promise<GitEnd> {
  const options = {
    env: { ...process.env, ...GIT_ENVIRONMENT },
    encoding: 'buffer',
    maxBuffer: MOST_BYTES,
  } as const;
  return new Promise((resolve) => {
    const child = execFile('git', [...SAFE, '-C', folder, ...args], options, (cause, stdout, stderr) => {
      running.delete(child);
      // Where there is no program, the exit code is the negative number of the system's error.
      const exitCode = child.exitCode === null || child.exitCode < 0 ? null : child.exitCode;
      resolve({ exitCode, signal: child.signalCode, stdout, stderr, cause });
    });
    running.add(child);
    child.stdin?.end();
  });
}

/** Without the newline that ends it. */
const textOf = (bytes: Buffer): string => bytes.toString('utf8').replace(/\r?\n$/, '');

/** How a git command ended. */
export interface GitResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/**
 * Runs git, whatever it answers.
 * @throws QualifyError `ERR_QUALIFY_TOOL_MISSING` (exit 15) when there is no git, `ERR_QUALIFY_GIT` (15) when it was killed.
 */
export async function callGit(folder: string, ...args: string[]): Promise<GitResult> {
  const { exitCode, signal, stdout, stderr, cause } = await runGit(folder, args);
  const isCut = exitCode === 0 && cause !== null;
  if (signal !== null || isCut) {
    throw new QualifyError(
      'ERR_QUALIFY_GIT',
      `git ${args.slice(0, 2).join(' ')} ${isCut ? 'says too much' : `was ended by ${signal}`}`,
      {
        exit: 'infrastructure',
        where: folder,
        cause,
      },
    );
  }
  if (exitCode === null) {
    throw new QualifyError('ERR_QUALIFY_TOOL_MISSING', 'git cannot be run.', {
      exit: 'infrastructure',
      hint: 'Install it: apt-get install git',
      cause,
    });
  }
  return { exitCode, stdout: textOf(stdout), stderr: textOf(stderr) };
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
  const { exitCode, stdout, stderr, cause } = await runGit(folder, ['cat-file', 'blob', `${commit}:${path}`]);
  if (exitCode === 0 && cause === null) return stdout;
  throw new QualifyError('ERR_QUALIFY_GIT', `git cat-file failed: ${textOf(stderr)}`, {
    exit: 'infrastructure',
    where: `${folder}: ${path}`,
    cause,
  });
}
