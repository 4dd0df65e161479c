import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { scratchFolder } from '../../support/folder.js';

/** Everything that reads a file which somebody names and somebody else may have written, with the code that it refuses one with. */
const readers: [module: string, call: string, code: string][] = [
  ['gate/read-decision', 'readDecision(path)', 'ERR_QUALIFY_DECISION'],
  ['manifest/attestations', 'readAttestations([path], [])', 'ERR_QUALIFY_ATTESTATIONS'],
  ['manifest/trust-file', 'readTrustPolicy(path)', 'ERR_QUALIFY_TRUST_FILE'],
  ['manifest/challenge-file', 'readChallenge(path)', 'ERR_QUALIFY_CHALLENGE'],
  ['manifest/public-key-file', 'readPublicKey(path)', 'ERR_QUALIFY_KEY_FILE'],
];

/** In a process of its own, which can be ended when it hangs. Answers the refusal, or what happened instead. */
function readIn(module: string, call: string, path: string): { code: string; message: string } {
  const url = new URL(`../../../src/${module}.js`, import.meta.url).href;
  const script = `import * as reader from ${JSON.stringify(url)};
    const path = process.argv[1];
    try { await reader.${call}; console.log(JSON.stringify({ code: 'taken', message: '' })); }
    catch ({ code, message }) { console.log(JSON.stringify({ code, message })); }`;
  const { stdout, signal, stderr } = spawnSync(
    process.execPath,
    ['--max-old-space-size=200', '--input-type=module', '-e', script, path],
    {
      encoding: 'utf8',
      timeout: 60_000,
      killSignal: 'SIGKILL',
      cwd: fileURLToPath(new URL('.', import.meta.url)),
    },
  );
  if (signal !== null) return { code: 'hung', message: '' };
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout) as { code: string; message: string };
}

for (const [module, call, code] of readers) {
  test(`${module} refuses a pipe, a folder, and a file without end, and names nothing else as the reason`, async (t) => {
    const folder = await scratchFolder(t);
    const [pipe, sub, huge] = ['pipe', 'sub', 'huge'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    execFileSync('mkfifo', [pipe]);
    mkdirSync(sub);
    writeFileSync(huge, '');
    // Sparse: it costs its author nothing.
    truncateSync(huge, 3 * 2 ** 30);
    for (const path of [pipe, sub]) {
      const refused = readIn(module, call, path);
      assert.equal(refused.code, code, path);
      assert.match(refused.message, /is not a regular file/);
    }
    const refused = readIn(module, call, huge);
    assert.equal(refused.code, code);
    assert.match(refused.message, /is longer than \d+ bytes/);
    assert.match(readIn(module, call, join(folder, 'none')).message, /cannot be read \(ENOENT\)/);
  });
}
