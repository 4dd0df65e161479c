/**
 * How long `qualify verify` takes over a large run: `node dist/test/bench/verify-speed.js [PROMPT_TOKENS [FOLDER]]`. Prints figures and judges
 * nothing. The run has the protocol of the built-in matrices, so many cells that it comes to 10,000 samples, and rates so noisy that
 * most cells stay undecided to the last look. A folder that is there already is not made again.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKey } from '../../src/manifest/key-store.js';
import { seal } from '../../src/manifest/seal.js';
import { verifyRun } from '../../src/manifest/verify.js';
import { Stream } from '../../src/plan/stream.js';
import { writeRun } from '../fixtures/run-folder.js';

const CELLS = 50;

async function makeRun(run: string, keys: string, promptTokens: number): Promise<void> {
  const noise = new Stream('verify-speed', 'noise');
  await writeRun(run, {
    cells: Array.from({ length: CELLS }, (_, at) => promptTokens + at),
    protocol: { warmups: 2, samples: 5, looks: [6, 12, 18, 24] },
    headShare: () => 0.5 + noise.below(1001) / 1000,
  });
  await seal(run, await generateKey('bench', keys));
}

const [tokens = '401', given] = process.argv.slice(2);
const folder = given ?? mkdtempSync(join(tmpdir(), 'qualify-verify-speed-'));
const run = join(folder, 'run');
try {
  if (!existsSync(run)) await makeRun(run, join(folder, 'keys'), Number(tokens));
  const wall = performance.now();
  const before = process.cpuUsage();
  const { checks, record } = await verifyRun(run, { keyFolder: join(folder, 'none') });
  const { user, system } = process.cpuUsage(before);
  const samples = record.entries.filter(
    (entry) => entry.kind === 'sample' && entry.purpose === 'sample',
  ).length;
  for (const { name, found } of checks) console.log(`${name.padEnd(10)} ${found}`);
  console.log(`samples    ${samples}, journal of ${record.entries.length} lines`);
  console.log(
    `cpu        ${((user + system) / 1e6).toFixed(2)} s (user ${(user / 1e6).toFixed(2)}, system ${(system / 1e6).toFixed(2)})`,
  );
  console.log(`wall       ${((performance.now() - wall) / 1000).toFixed(2)} s`);
  console.log(`peak rss   ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MiB`);
} finally {
  if (given === undefined) rmSync(folder, { recursive: true });
}
