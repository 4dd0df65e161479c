import assert from 'node:assert/strict';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { cliScript, harnessVersion } from '../../src/harness.js';
import { runCli } from '../fixtures/cli.js';
import { scratchFolder } from '../support/folder.js';

it('shows its help on stdout when asked, and on stderr with exit 64 when there is no command', async () => {
  const asked = await runCli(['--help']);
  assert.equal(asked.exitCode, 0);
  for (const command of ['run', 'pr', 'verify', 'engine', 'model', 'doctor'])
    assert.match(asked.stdout, new RegExp(`^  ${command}\\b`, 'm'));
  const bare = await runCli([]);
  assert.equal(bare.exitCode, 64);
  assert.equal(bare.stdout, '');
  assert.match(bare.stderr, /^Usage: qualify/);
  assert.match(bare.stderr, /Begin with: qualify doctor, then qualify run smoke/);
});

it('prints its version', async () => {
  assert.equal((await runCli(['--version'])).stdout, `${harnessVersion}\n`);
});

const wrong: [string, string[], RegExp][] = [
  ['an unknown command, with a suggestion', ['modle'], /unknown command 'modle'[\s\S]*model/],
  ['an unknown option', ['model', 'inspect', 'x', '--jsno'], /unknown option '--jsno'/],
  ['a missing argument', ['model', 'inspect'], /missing required argument 'file'/],
  ['a missing option', ['model', 'create'], /required option '--out <file>'/],
  [
    'an unknown preset',
    ['model', 'create', '--preset', 'huge', '--out', 'x'],
    /Allowed choices are unit, mini/,
  ],
  ['a seed that is no number', ['model', 'create', '--seed', '1e3', '--out', 'x'], /--seed.*whole number/],
  ['a port out of range', ['engine', 'serve', '--model', 'x', '--port', '70000'], /--port.*from 0 to 65535/],
  ['an address that is not loopback', ['engine', 'serve', '--model', 'x', '--host', '0.0.0.0'], /--host/],
  [
    'a broken list of CPUs',
    ['engine', 'serve', '--model', 'x', '--cpus', '3-1'],
    /"3-1" is not a list of CPUs/,
  ],
  [
    'a model to serve that is not there',
    ['engine', 'serve', '--model', 'x.gguf'],
    /there is no model file x\.gguf[\s\S]*next: [\s\S]*ERR_QUALIFY_MODEL_FILE/,
  ],
  [
    'a model to look at that is not there, before an engine is built',
    ['model', 'inspect', 'x.gguf'],
    /^qualify: there is no model file x\.gguf[\s\S]*next: [\s\S]*ERR_QUALIFY_MODEL_FILE/,
  ],
  [
    'a run to resume that is not there, by what such a run has',
    ['resume', 'nope'],
    /there is no run folder .*nope[\s\S]*next: Give the folder that holds plan\.json/,
  ],
  [
    'a CPU that is not there',
    ['engine', 'serve', '--model', cliScript, '--cpus', '8191'],
    /there is no CPU 8191[\s\S]*ERR_QUALIFY_USAGE/,
  ],
];
for (const [what, args, message] of wrong) {
  it(`ends with 64 at ${what}`, async () => {
    const { exitCode, stdout, stderr } = await runCli(args);
    assert.match(stderr, message);
    assert.equal(exitCode, 64);
    assert.equal(stdout, '');
  });
}

it('does not overwrite a file unless forced, and says so before it builds anything', async (context) => {
  const out = join(await scratchFolder(context), 'model.gguf');
  await writeFile(out, 'mine');
  const { exitCode, stderr } = await runCli(['model', 'create', '--out', out]);
  assert.equal(exitCode, 64);
  assert.match(stderr, /exists already[\s\S]*--force[\s\S]*ERR_QUALIFY_EXISTS/);
});

it('replaces no link, forced or not, whoever writes the model', async (context) => {
  const link = join(await scratchFolder(context), 'dangling');
  await symlink(`${link}-target`, link);
  for (const args of [
    ['create', '--out', link],
    ['quantize', 'in.gguf', link, '--experts', 'q4_0', '--force'],
  ]) {
    const { exitCode, stderr } = await runCli(['model', ...args]);
    assert.equal(exitCode, 64, stderr);
    assert.match(stderr, /exists and is no regular file[\s\S]*never replaced[\s\S]*ERR_QUALIFY_EXISTS/);
  }
});

it('names what is wrong with a file of token ids', async (context) => {
  const folder = await scratchFolder(context);
  const tokens = join(folder, 'ids.json');
  for (const [text, message] of [
    ['[1, "2"]', /id "2" at index 1 is not a whole number[\s\S]*\[1\]/],
    ['[4294967296]', /id 4294967296 at index 0 is not a whole number from 0 to 2147483647/],
    ['[1, 2, -1]', /id -1 at index 2 is not/],
    ['[0.5]', /id 0.5 at index 0 is not/],
    ['[]', /cannot read token ids/],
    ['[1,', /JSON/],
  ] as const) {
    await writeFile(tokens, text);
    const { exitCode, stderr } = await runCli([
      'engine',
      'logits',
      '--model',
      'm',
      '--tokens',
      tokens,
      '--out',
      'o',
    ]);
    assert.equal(exitCode, 64);
    assert.match(stderr, message);
    assert.match(stderr, /ERR_QUALIFY_TOKENS_FILE/);
  }
});

it('keeps its errors free of control characters of others', async () => {
  const { stderr } = await runCli(['run', 'no\u001b[2Jmatrix']);
  assert.equal(stderr.includes('\u001b'), false);
});
