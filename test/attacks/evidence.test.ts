/** Swapped or edited evidence, and files that are none: without the key of the run's signer. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sampleRun } from '../fuzz/sample-run.js';
import {
  attackTest,
  BUNDLE,
  copyOf,
  editFile,
  INDEX,
  KEY,
  MANIFEST,
  refused,
  statementFollows,
  verifierWithout,
} from './attack.js';
import type { Guard } from './without-guard.js';

const victim = await sampleRun();
/** Another run by the same key: everything in it is signed, too. */
const other = await sampleRun({ msPerToken: 3, key: victim.key });
const untouched = await sampleRun({ msPerToken: 5, key: victim.key });

/** Files that nothing but their digest holds: what an engine wrote, and what its build did. */
const log = 'evidence/launches/r0-0-base.log';
const buildLog = `evidence/builds/${readdirSync(join(victim.run, 'evidence/builds'))[0]}`;

/** A guard of the index of the evidence. */
const guard = (text: string, instead: string): Guard => ({
  module: 'manifest/evidence-index',
  guard: text,
  instead,
});
const digestOfFile = guard('if (sha256 !== expected)', 'if (false)');
const nothingAdded = guard('if (!index.has(path) && !UNLISTED.has(path))', 'if (false)');
const noEmptyFolder = guard("entries.length === 0 && below !== ''", 'false');
const nothingMissing = guard('if (!found.has(path))', 'if (!found.has(path)) continue; else if (false)');
const plainEntries = guard('entry.isFile()', '!entry.isDirectory()');
/** The statement has the sum of all bytes, which is made again with everything else that it says. */
const noFollowing = guard(' | constants.O_NOFOLLOW', '');
const noBlocking = guard(' | constants.O_NONBLOCK', '');

attackTest('an edited file of the evidence', victim, {
  make: (run) => editFile(run, log, () => 'fast!\n'),
  guards: [digestOfFile],
  where: log,
  why: /has changed: its SHA-256 is/,
});

attackTest('two files of the evidence, each in the place of the other', victim, {
  make: (run) => {
    const [a, b] = [join(run, log), join(run, buildLog)];
    renameSync(a, join(run, '..', 'kept'));
    renameSync(b, a);
    renameSync(join(run, '..', 'kept'), b);
  },
  guards: [digestOfFile],
  where: buildLog,
  why: /has changed: its SHA-256 is/,
});

attackTest('a file of another run in the place of its own', victim, {
  make: (run) => {
    copyFileSync(join(other.run, buildLog), join(run, log));
  },
  guards: [digestOfFile],
  where: log,
  why: /has changed: its SHA-256 is/,
});

attackTest('an added file', victim, {
  make: (run) => writeFileSync(join(run, 'evidence/approved-by.txt'), 'the maintainers\n'),
  guards: [nothingAdded],
  where: 'evidence/approved-by.txt',
  why: /is not listed in evidence\.sha256: it was added later/,
});

for (const path of ['approved-by-the-maintainers', 'evidence/launches/r9-0-base', 'evidence/a/b/c'])
  attackTest(`an added folder with nothing in it, ${path}`, victim, {
    make: (run) => {
      mkdirSync(join(run, path), { recursive: true });
    },
    guards: [noEmptyFolder],
    where: path,
    why: /is a folder with nothing in it, which no run leaves/,
  });

attackTest('a missing file', victim, {
  make: (run) => rmSync(join(run, log)),
  // The statement has the sum of all bytes, too.
  guards: [nothingMissing, ...statementFollows],
  where: log,
  why: /is missing; evidence\.sha256 lists it/,
});

attackTest('a renamed file', victim, {
  make: (run) => renameSync(join(run, log), join(run, `${log}.old`)),
  // The new name alone is refused, and so is the lack of the old one.
  guards: [nothingAdded, nothingMissing, ...statementFollows],
  where: `${log}.old`,
  why: /it was added later/,
});

attackTest('a folder in the place of a file', victim, {
  make: (run) => {
    rmSync(join(run, log));
    mkdirSync(join(run, log));
  },
  // A folder with nothing in it is refused by itself.
  guards: [noEmptyFolder, nothingMissing, ...statementFollows],
  where: log,
  why: /is a folder with nothing in it/,
});

attackTest(
  'a symbolic link in the place of a file, to a file of the same bytes that its owner can change later',
  victim,
  {
    make: (run) => {
      renameSync(join(run, log), join(run, '..', 'elsewhere'));
      symlinkSync('../../../elsewhere', join(run, log));
    },
    guards: [plainEntries, noFollowing],
    where: log,
    why: /is not a plain file: links and devices are refused/,
  },
);

attackTest('a symbolic link in the place of the manifest', victim, {
  make: (run) => {
    renameSync(join(run, MANIFEST), join(run, '..', 'elsewhere'));
    symlinkSync('../elsewhere', join(run, MANIFEST));
  },
  guards: [plainEntries, noFollowing],
  where: MANIFEST,
  why: /cannot be read as a plain file \(ELOOP\)/,
});

test('a pipe in the place of a file, at which a reader waits for ever', {
  timeout: 60_000,
}, async (context) => {
  const run = copyOf(victim, context);
  const pipe = join(run, log);
  rmSync(pipe);
  execFileSync('mkfifo', [pipe]);
  const options = { keyFolder: join(victim.folder, 'no-keys') };
  const unguarded = await verifierWithout(context, [plainEntries, noBlocking]);
  // A writer that comes and goes lets the reader go on, who waits in a call of the system until then.
  const came = join(victim.folder, 'came');
  const writer = spawn('sh', ['-c', 'sleep 2; : > "$1"; : > "$0"', pipe, came], { stdio: 'ignore' });
  context.after(() => writer.kill('SIGKILL'));
  await assert.rejects(unguarded.verifyRun(run, options), /is not a plain file/);
  assert.ok(existsSync(came), 'did not wait for a writer');
  await refused(run, options, log, /is not a plain file/);
});

for (const file of [MANIFEST, BUNDLE, KEY, INDEX]) {
  test(`a sparse ${file} of three gigabytes, which cost nobody anything`, async (context) => {
    const run = copyOf(victim, context);
    truncateSync(join(run, file), 3 * 2 ** 30);
    const options = { keyFolder: join(victim.folder, 'no-keys') };
    // Without the guard it is no answer of the verifier that comes, but an error of the runtime, after it took the memory that there is.
    const unguarded = await verifierWithout(context, [guard('if (sizeBytes > MOST_BYTES)', 'if (false)')]);
    await assert.rejects(unguarded.verifyRun(run, options), { code: 'ERR_FS_FILE_TOO_LARGE' });
    await refused(run, options, file, /is 3221225472 bytes long; at most 268435456 are read/);
  });
}

attackTest(
  'a whole other run by the same key under the manifest of this one (subject not compared, CVE-2026-31830)',
  victim,
  {
    make: (run) => {
      const kept = [MANIFEST, BUNDLE, `${MANIFEST}.sig`].map((name) => [name, victim.read(name)] as const);
      rmSync(run, { recursive: true });
      execFileSync('cp', ['-r', untouched.run, run]);
      for (const [name, text] of kept) writeFileSync(join(run, name), text);
    },
    // The digest of the index is the subject. Behind it, the statement is made again from what lies there, and its bytes are compared.
    guards: [
      { module: 'manifest/verify', guard: 'indexDigest.sha256 !== indexSha256', instead: 'false' },
      ...statementFollows,
    ],
    where: INDEX,
    why: /has changed: its SHA-256 is [0-9a-f]{64}, which the statement does not have/,
  },
);
