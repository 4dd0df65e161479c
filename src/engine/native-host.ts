/**
 * The entry of the engine's process: loads a build's addon, opens a model and serves it on loopback. Says one line of
 * JSON on stdout when it is ready, `{"event":"listening","port":…,"pid":…}`; `/health` answers 503 until then. Ends on
 * SIGTERM, on SIGINT, and when the process that started it is gone.
 */
import type { AddressInfo } from 'node:net';
import { QualifyError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { NO_FAULT } from '../plan/planted-faults.js';
import { loadAddon } from './addon-loader.js';
import { sha256File } from './file-digest.js';
import { type HostOptions, parseHostOptions } from './host-options.js';
import { watchParent } from './parent-watch.js';
import { createApp } from './server/app.js';
import { SlowedEngine } from './server/planted-slowdown.js';
import { ServedEngine } from './server/served-engine.js';

/** How long answers to cancelled requests may take to be read. */
const LINGER_MS = 2000;

async function serve(options: HostOptions): Promise<void> {
  const addon = loadAddon(options.addonPath);
  const served = new ServedEngine(options);
  const app = createApp(served);
  let ended = false;
  const end = async () => {
    if (ended) return;
    ended = true;
    unwatch();
    served.beginClosing();
    // A client that neither reads nor goes does not hold us up.
    setTimeout(() => app.server.closeAllConnections(), LINGER_MS).unref();
    await app.close();
    served.close();
    process.exit(0);
  };
  const unwatch = watchParent(() => void end());
  process.on('SIGTERM', () => void end());
  process.on('SIGINT', () => void end());
  await app.listen({ host: options.host, port: options.port });
  const [description, sha256] = await Promise.all([
    addon.inspectModel(options.modelPath, options.checkValues),
    sha256File(options.modelPath),
  ]);
  const opened = await addon.open(options.modelPath, {
    threads: options.threads,
    cpus: options.cpus,
    contextTokens: options.contextTokens,
    cacheSlots: options.cacheSlots,
    isa: options.isa,
    ...(options.plantedFault !== NO_FAULT && { plantedFault: options.plantedFault }),
  });
  const percent = options.plantedSlowdownPercent;
  const engine = percent === 0 ? opened : new SlowedEngine(opened, percent);
  served.opened({ engine, description, sha256 });
  const { port } = app.server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ event: 'listening', port, pid: process.pid })}\n`);
}

try {
  await serve(parseHostOptions(process.argv.slice(2)));
} catch (error) {
  const known = error instanceof QualifyError ? error : undefined;
  process.stderr.write(`engine: ${error instanceof Error ? error.message : String(error)}\n`);
  if (known?.hint !== undefined) process.stderr.write(`  next: ${known.hint}\n`);
  // The engine's word for a switch, or a file that one names, which is not understood.
  const asked = error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_ARG_VALUE';
  process.exit(known?.exitCode ?? (asked ? EXIT.usage : EXIT.infrastructure));
}
