/** How the commands that write a model do it: under another name until it is whole, with progress, nothing left on failure. */
import { lstat, rename, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { diskFull, saysDiskFull } from '../disk-full.js';
import { sha256File } from '../engine/file-digest.js';
import { partialName, removeStalePartials } from '../engine/partial-model.js';
import { QualifyError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { describeError } from './describe-error.js';
import { interruptSignal } from './interrupt.js';
import { formatBytes, note, startProgress } from './output.js';

/** The engine's own message names offset and tensor where there is one, and mostly what to do; `hint` is what it does not say. */
export function modelError(code: string, error: unknown, path: string, hint?: string): QualifyError {
  return new QualifyError(code, (error as Error).message, {
    exit: 'infrastructure',
    where: path,
    ...(hint !== undefined && { hint }),
    cause: error,
  });
}

/** Asked before an engine is built for it. @throws ERR_QUALIFY_MODEL_FILE (exit 64) when there is no such file */
export async function requireModelFile(path: string): Promise<void> {
  const info = await stat(path).catch(() => undefined);
  if (info?.isFile() === true) return;
  const what =
    info === undefined
      ? `there is no model file ${path}`
      : `${path} ${info.isDirectory() ? 'is a directory, not a model file' : 'is no regular file'}`;
  throw new QualifyError('ERR_QUALIFY_MODEL_FILE', what, {
    exit: 'usage',
    where: path,
    hint: 'name a GGUF file; qualify model create --out FILE makes one',
  });
}

type OnBytes = (doneBytes: number, totalBytes: number) => void;

/** @throws ERR_QUALIFY_EXISTS when `file` is there and not to be replaced; links and devices never are. */
export async function refuseExisting(file: string, force: boolean): Promise<void> {
  const there = await lstat(resolve(file)).catch(() => undefined);
  if (there === undefined) return;
  if (!there.isFile()) {
    throw new QualifyError('ERR_QUALIFY_EXISTS', `${file} exists and is no regular file`, {
      exit: 'usage',
      hint: 'name another file: links, folders and devices are never replaced, --force or not',
      where: resolve(file),
    });
  }
  if (force) return;
  throw new QualifyError('ERR_QUALIFY_EXISTS', `${file} exists already`, {
    exit: 'usage',
    hint: 'name another file, or overwrite it with --force',
    where: resolve(file),
  });
}

/**
 * Lets `make` write the partial file, and gives it its name when it is whole; `verb` is for the progress.
 *
 * @throws What `make` fails with, as a model error: of the user (exit 64) when it names one of the `inputs`.
 */
export async function writeModel<Made>(
  file: string,
  verb: string,
  make: (partial: string, onBytes: OnBytes) => Promise<Made>,
  inputs: readonly string[] = [],
): Promise<Made & { path: string; sha256: string }> {
  const out = resolve(file);
  // The file gets its name when it is whole, so that a killed command leaves no model that looks like one.
  const partial = partialName(out);
  for (const path of await removeStalePartials(out)) note(`removed ${path}, which a killed command left`);
  const progress = startProgress();
  const signal = interruptSignal();
  const interrupted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  try {
    const making = make(partial, (done, total) => {
      const text = `${verb} the model: ${formatBytes(done)} of ${formatBytes(total)}`;
      progress.update(text, total > 0 ? done / total : null);
    });
    const made = await Promise.race([making, interrupted]);
    progress.end();
    const sha256 = await sha256File(partial);
    await rename(partial, out);
    return { path: out, sha256, ...made };
  } catch (error) {
    progress.end();
    await rm(partial, { force: true });
    // The engine's work would hold the process until it is done.
    if (signal.aborted) leaveNow(error);
    if (error instanceof QualifyError) throw error;
    if (saysDiskFull((error as Error).message)) throw diskFull(out, error);
    const { message } = error as Error;
    const input = inputs.find((path) => message.startsWith(`${path}: `));
    if (input === undefined) throw modelError('ERR_QUALIFY_MODEL_FAILED', error, out);
    throw new QualifyError('ERR_QUALIFY_MODEL_FILE', message, { exit: 'usage', where: input, cause: error });
  }
}

function leaveNow(error: unknown): never {
  if (error instanceof QualifyError) note(describeError(error));
  process.exit(error instanceof QualifyError ? error.exitCode : EXIT.infrastructure);
}
