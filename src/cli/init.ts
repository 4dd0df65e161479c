/** `qualify init`: matrix, policy, trust and workflows for the repository at hand. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { QualifyError } from '../errors.js';
import { POLICY_FILE } from '../gate/policy.js';
import { sshLine } from '../manifest/public-key.js';
import { loadSigningKey, prepareSigningKey } from '../manifest/signing-key.js';
import { wrap } from '../report/wrap.js';
import { tryGit } from '../revision/git.js';
import { shellWord } from '../shell-word.js';
import { IGNORE_FILE, ignoreRuns } from './ignore-runs.js';
import {
  type EngineKind,
  engineKinds,
  engineOf,
  holdsEngine,
  noEngine,
  prebuiltFolders,
} from './init-engine.js';
import { filesOfGate, MATRIX_FILE, matrixOf } from './init-files.js';
import { answer, answerJson, note } from './output.js';
import { refuseExisting, writeNewFiles } from './write-new-files.js';

interface Options {
  engine?: EngineKind;
  action?: string;
  force?: true;
  json?: true;
}

const HELP = `
In a repository with an engine that qualify builds (native/ and kernels/) it
writes what a gate of pull requests needs:
  qualify.matrix.yaml    the workloads, the protocol and the budgets
  qualify.policy.yaml    what must have been qualified before a merge
  qualify.trust.json     whose runs count: your own key
  .github/workflows/     who may ask, what measures, what reports (qualify-*)
In a checkout of llama.cpp, or with --engine node-llama-cpp, it writes a matrix
that compares llama.cpp, as node-llama-cpp ships it, with the embedded engine.
Where two folders hold a build (engine.node, or a program serve), or with
--engine prebuilt, it writes a matrix of those two, and says what to fill in.
With --engine simulated: one that measures nothing, to see how it all works.
Only the first can be gated: a gate judges commits, and nobody knows of which
commit a package or a folder is. Such a matrix is measured with qualify run.
Nothing is overwritten without --force: when one file is there, none is written.
In a git repository .gitignore gets the line .qualify/, where runs lie, once,
unless it has lines about that folder already.
Then read docs/ci.md: the machine that measures needs some care.`;

function pinnedAction(text: string): string {
  if (!/^[\w.-]+\/[\w.-]+@[0-9a-f]{40}$/.test(text))
    throw new InvalidArgumentError('Write it as OWNER/REPO@SHA, with the full SHA of a commit.');
  return text;
}

export function register(program: Command): void {
  program
    .command('init')
    .description('write a first matrix, policy, trust policy and workflows for this repository')
    .addOption(
      new Option('--engine <engine>', 'what is measured (default: what is found here)').choices(engineKinds),
    )
    .option(
      '--action <owner/repo@sha>',
      'where the workflows take qualify from (default: this repository, when its action.yml is here)',
      pinnedAction,
    )
    .option('--force', 'replace files that are there')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(init);
}

async function init({ engine, action, force = undefined, json }: Options): Promise<void> {
  const folder = process.cwd();
  const top = await tryGit(folder, 'rev-parse', '--show-toplevel');
  const root = top ?? folder;
  const kind = engine ?? engineOf(root);
  const replace = force === true;
  const { files, next } =
    kind === 'embedded'
      ? await initGate(root, action, replace)
      : await initMatrix(root, kind, action, replace);
  const ignored = top !== null && (await triedToIgnore(root));
  const written = { files: ignored ? [...files, IGNORE_FILE] : files, next };
  if (json) answerJson({ schemaVersion: 1, engine: kind, root, ...written });
  else answer(toText(written));
}

/** The files are there by now: what is in the way of this line is told and no failure. */
async function triedToIgnore(root: string): Promise<boolean> {
  try {
    const ignored = await ignoreRuns(root);
    if (ignored === 'left')
      note(
        `${IGNORE_FILE} speaks of .qualify already and stays as it is. Whether it leaves runs out: git check-ignore -v .qualify/runs/RUN`,
      );
    return ignored === 'added';
  } catch (error) {
    note(
      `Add the line .qualify/ to ${IGNORE_FILE}, which could not be changed: ${error instanceof Error ? error.message : error}`,
    );
    return false;
  }
}

interface Written {
  files: string[];
  next: { command: string; what: string }[];
}

async function initGate(root: string, action: string | undefined, replace: boolean): Promise<Written> {
  if (!holdsEngine(root)) throw noEngine(`${root} holds no engine that qualify builds`);
  const uses = action ?? (existsSync(join(root, 'action.yml')) ? './' : undefined);
  if (uses === undefined)
    throw new QualifyError('ERR_QUALIFY_USAGE', `${root} has no action.yml that workflows could use`, {
      exit: 'usage',
      hint: 'Say which commit of qualify they are to use: --action OWNER/REPO@SHA',
    });
  const branch = await mainBranch(root);
  const choices = { branch, action: uses, key: { keyId: '', publicKey: '' } };
  if (!replace) await refuseExisting(root, filesOfGate(choices));
  const { created } = await prepareSigningKey();
  const { publicKey } = await loadSigningKey();
  if (created) note(`made the key ${publicKey.keyId}, which signs your runs`);
  const key = { keyId: publicKey.keyId, publicKey: sshLine(publicKey, 'qualify') };
  const files = filesOfGate({ ...choices, key });
  await writeNewFiles(root, files, replace);
  return {
    files: files.map(({ path }) => path),
    next: [
      {
        command:
          `qualify challenge --repository . --head HEAD --base ${shellWord(branch)} ` +
          `--matrix ${MATRIX_FILE} --policy ${POLICY_FILE} --out question.json`,
        what: 'on a branch with a change of the engine: ask about it, as the policy requires',
      },
      {
        command: `qualify pr --challenge question.json --matrix ${MATRIX_FILE}`,
        what: 'answer: measure the change against what it is to be merged into',
      },
      {
        command: `qualify gate --head HEAD --base ${shellWord(branch)} --policy-from-disk --challenge question.json`,
        what: 'what the gate would say of it',
      },
      { command: 'qualify calibrate', what: 'how small a slowdown this machine can judge' },
    ],
  };
}

/** What is said of a matrix that no gate goes with. */
const REMARKS: Readonly<Record<Exclude<EngineKind, 'embedded'>, string>> = {
  'node-llama-cpp':
    'What is measured is the release of llama.cpp that node-llama-cpp ships, not the sources here. There is no\n' +
    'policy and no workflow: a gate compares commits of an engine that qualify builds.',
  prebuilt:
    'There is no policy and no workflow: nobody knows which sources a prebuilt folder is of, and a gate compares\n' +
    'commits of an engine that qualify builds.',
  simulated: 'Nothing is measured by it: the times follow from a noise model.',
};

/** A matrix alone. */
async function initMatrix(
  root: string,
  kind: Exclude<EngineKind, 'embedded'>,
  action: string | undefined,
  replace: boolean,
): Promise<Written> {
  if (action !== undefined)
    throw new QualifyError('ERR_QUALIFY_USAGE', '--action is for workflows, and none are written here', {
      exit: 'usage',
      hint: 'A gate needs an engine that qualify builds: --engine embedded',
    });
  const folders = kind === 'prebuilt' ? prebuiltFolders(root) : [];
  const { text, missing } = matrixOf(kind, folders);
  const files = [{ path: MATRIX_FILE, text }];
  if (!replace) await refuseExisting(root, files);
  await writeNewFiles(root, files, replace);
  note(REMARKS[kind]);
  if (missing.length > 0) note(`Fill in, in ${MATRIX_FILE}: ${missing.join(', ')}.`);
  return {
    files: files.map(({ path }) => path),
    next: [
      { command: `qualify matrix lint ${MATRIX_FILE}`, what: 'check it after each change' },
      { command: `qualify plan ${MATRIX_FILE}`, what: 'what it would run, and how long' },
      kind === 'simulated'
        ? { command: `qualify simulate ${MATRIX_FILE}`, what: 'run it' }
        : { command: `qualify run ${MATRIX_FILE}`, what: 'measure' },
    ],
  };
}

/** The branch that changes are merged into, as far as git knows it here: that of the remote, the only one there is, or one of the usual names. */
async function mainBranch(root: string): Promise<string> {
  const remote = await tryGit(root, 'symbolic-ref', '--short', 'refs/remotes/origin/HEAD');
  if (remote !== null) return remote.replace(/^origin\//, '');
  const current = await tryGit(root, 'symbolic-ref', '--short', 'HEAD');
  const listed = (await tryGit(root, 'for-each-ref', '--format=%(refname:short)', 'refs/heads')) ?? '';
  const branches = listed.split('\n').filter((name) => name !== '');
  // Before the first commit the current branch is there by name only.
  if (current !== null && branches.every((name) => name === current)) return current;
  return ['main', 'master'].find((name) => branches.includes(name)) ?? 'main';
}

function toText({ files, next }: Written): string {
  return [
    'wrote',
    ...files.map((path) => `  ${path}`),
    'next',
    ...next.flatMap(({ command, what }) => [`  # ${what}`, `  ${wrap(command, 72).join(' \\\n    ')}`]),
    '',
  ].join('\n');
}
