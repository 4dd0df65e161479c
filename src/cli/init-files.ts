/** The files that `qualify init` writes: the templates of `docs/examples` with what is of this repository put in. Pure but for reading them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { POLICY_FILE } from '../gate/policy.js';
import { harnessFolder } from '../harness.js';
import { TRUST_FILE, type TrustedKey, type TrustPolicy } from '../manifest/trust-policy.js';
import type { EngineKind } from './init-engine.js';

export const MATRIX_FILE = 'qualify.matrix.yaml';

/** What is of this repository. */
interface InitChoices {
  /** Branch that changes are merged into. */
  branch: string;
  /** What `uses:` names: `./`, or `OWNER/REPO@SHA`. */
  action: string;
  key: Pick<TrustedKey, 'keyId' | 'publicKey'>;
}

interface InitFile {
  /** Below the root of the repository. */
  path: string;
  text: string;
}

const template = (path: string): string =>
  readFileSync(join(harnessFolder, 'docs', 'examples', path), 'utf8');

/** Replaces each `from`, which the template must have: else it has changed and what is written would be wrong. */
function filled(text: string, changes: readonly (readonly [from: string, to: string])[]): string {
  return changes.reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`the template has no ${JSON.stringify(from)}`);
    return before.replaceAll(from, to);
  }, text);
}

/** For a repository whose engine qualify builds: matrix, policy, trust and workflows. */
export function filesOfGate({ branch, action, key }: InitChoices): InitFile[] {
  const trust: TrustPolicy = { schemaVersion: 1, keys: [{ ...key, roles: ['observer'] }] };
  const workflow = (name: string, ...changes: (readonly [string, string])[]): InitFile => ({
    path: `.github/workflows/${name}`,
    text: filled(template(`github/${name}`), [['uses: ./\n', `uses: ${action}\n`], ...changes]),
  });
  return [
    { path: MATRIX_FILE, text: template(`init/${MATRIX_FILE}`) },
    {
      path: POLICY_FILE,
      text: filled(template(`init/${POLICY_FILE}`), [
        ['\nbase: main\n', `\nbase: ${JSON.stringify(branch)}\n`],
      ]),
    },
    { path: TRUST_FILE, text: `${JSON.stringify(trust, null, 2)}\n` },
    workflow('qualify-request.yml', ['MATRIX: prefill-short-pr\n', `MATRIX: ${MATRIX_FILE}\n`]),
    workflow('qualify-run.yml'),
    workflow('qualify-report.yml'),
  ];
}

const builtIn = (name: string): string =>
  readFileSync(join(harnessFolder, 'matrices', `${name}.yaml`), 'utf8');

/** For anything else: a matrix to change, and what of it the user has to fill in. `folders` are those that hold a build. */
export function matrixOf(
  kind: Exclude<EngineKind, 'embedded'>,
  folders: readonly string[],
): { text: string; missing: string[] } {
  if (kind === 'node-llama-cpp') return { text: builtIn('peer-llama-cpp'), missing: [] };
  if (kind === 'simulated') return { text: builtIn('simulated'), missing: [] };
  const arms = ['BASE_FOLDER', 'HEAD_FOLDER'];
  const changes = arms.flatMap((place, at) => {
    const folder = folders[at];
    return folder === undefined ? [] : [[`'prebuilt:${place}'`, quoted(`prebuilt:${folder}`)] as const];
  });
  return {
    text: filled(template('init/prebuilt.matrix.yaml'), changes),
    missing: ['MODEL.gguf', 'vocabulary', ...arms.slice(folders.length)],
  };
}

/** As a text of YAML, in single quotes where that will do. */
const quoted = (text: string): string => (/^[\w.:/ -]+$/.test(text) ? `'${text}'` : JSON.stringify(text));
