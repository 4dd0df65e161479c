/**
 * Generated models, each made once: the bytes in `<cache>/models/<sha256>.gguf`, and one small file for each request
 * that names them, keyed by (preset, experts, dense, seed, round trips, sources of the generator). Equal bytes are stored once.
 */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { diskFull, saysDiskFull } from '../disk-full.js';
import { QualifyError } from '../errors.js';
import { cacheFolder, cliScript, harnessFolder } from '../harness.js';
import { guardGroup } from '../machine/group-guard.js';
import { guardPath } from '../machine/guard.js';
import { replaceFile } from '../machine/replace-file.js';
import { makeCacheFolder } from '../make-folder.js';
import { sha256Schema } from '../plan/schema.js';
import { withCacheLock } from '../revision/cache-lock.js';
import { sourceTreeDigest } from '../revision/source-tree.js';
import { sha256File } from './file-digest.js';

const indexSchema = z.strictObject({ sha256: sha256Schema, sizeBytes: z.int().min(1) });

interface CachedModel extends z.infer<typeof indexSchema> {
  /** Absolute path of the GGUF file. */
  path: string;
  /** False when it was made just now. */
  cached: boolean;
}

interface ModelRequest {
  preset: string;
  experts: string;
  dense?: string | undefined;
  seed: number;
  /** False: keys and indexer vectors are not rounded. */
  roundTrips: boolean;
  /** Lines that tell how far it is. */
  onProgress?: (line: string) => void;
  signal?: AbortSignal;
}

async function readIndex(indexPath: string, folder: string): Promise<CachedModel | undefined> {
  try {
    const index = indexSchema.parse(JSON.parse(await readFile(indexPath, 'utf8')));
    const path = join(folder, `${index.sha256}.gguf`);
    if ((await stat(path)).size !== index.sizeBytes || (await sha256File(path)) !== index.sha256)
      return undefined;
    return { ...index, path, cached: true };
  } catch {
    // Absent or damaged: made again rather than trusted.
    return undefined;
  }
}

/** Runs the generator in a process of its own: native code never runs in the harness's. */
async function generate(request: ModelRequest, out: string): Promise<void> {
  const args = [cliScript, 'model', 'create', '--out', out, '--force'];
  args.push('--preset', request.preset, '--experts', request.experts, '--seed', String(request.seed));
  if (request.dense !== undefined) args.push('--dense', request.dense);
  if (!request.roundTrips) args.push('--no-round-trips');
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  const dismissGuard = child.pid === undefined ? () => {} : guardGroup(child.pid);
  const stop = () => child.kill('SIGTERM');
  request.signal?.addEventListener('abort', stop, { once: true });
  process.once('exit', stop);
  let said = '';
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text: string) => {
    said = (said + text).slice(-10_000);
    for (const line of text.split('\n')) if (line.trim() !== '') request.onProgress?.(line);
  });
  const [exitCode] = (await once(child, 'close')) as [number | null];
  dismissGuard();
  process.removeListener('exit', stop);
  request.signal?.removeEventListener('abort', stop);
  request.signal?.throwIfAborted();
  if (exitCode !== 0) {
    if (saysDiskFull(said)) throw diskFull(out);
    // The code of what went wrong inside is not ours.
    said = said.replace(/^ {2}code: .*\n?/gm, '');
    throw new QualifyError(
      'ERR_QUALIFY_MODEL_FAILED',
      `the model could not be made (exit ${exitCode}):\n${said.trim()}`,
      {
        exit: 'infrastructure',
      },
    );
  }
}

/**
 * The generated model of a preset, made now or taken from the cache; its SHA-256 is computed anew at every call.
 * @throws ERR_QUALIFY_MODEL_FAILED; what `embeddedBuild` throws comes as its message; the reason of `signal`.
 */
export async function cachedModel(request: ModelRequest): Promise<CachedModel> {
  const generator = await sourceTreeDigest(harnessFolder);
  const { preset, experts, dense, seed, roundTrips } = request;
  const name = JSON.stringify([preset, experts, dense, seed, roundTrips, generator]);
  const key = createHash('sha256').update(name).digest('hex');
  const folder = join(cacheFolder(), 'models');
  const indexPath = join(folder, `${key}.json`);
  const found = await readIndex(indexPath, folder);
  if (found !== undefined) return found;
  makeCacheFolder(folder);
  const make = async (): Promise<CachedModel> => {
    const again = await readIndex(indexPath, folder);
    if (again !== undefined) return again;
    const prefix = `.making-${key.slice(0, 16)}`;
    const scratch = join(folder, `${prefix}-${process.pid}.gguf`);
    const dismissGuard = guardPath(scratch);
    try {
      // Only the holder of the lock makes this model, so what is there was left by a killed process.
      for (const name of await readdir(folder)) {
        if (name.startsWith(prefix)) await rm(join(folder, name), { force: true });
      }
      await generate(request, scratch);
      const index = { sha256: await sha256File(scratch), sizeBytes: (await stat(scratch)).size };
      const path = join(folder, `${index.sha256}.gguf`);
      await rename(scratch, path);
      await replaceFile(indexPath, `${JSON.stringify(index)}\n`);
      return { ...index, path, cached: false };
    } finally {
      await rm(scratch, { force: true });
      dismissGuard();
    }
  };
  return withCacheLock(`${indexPath}.lock`, make, {
    signal: request.signal,
    onWait: (pid) => request.onProgress?.(`process ${pid} makes the same model`),
  });
}
