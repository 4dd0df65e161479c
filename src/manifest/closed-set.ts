/**
 * The closed set of a run as `verify` checks it. Where there are many files, a thread of its own hashes them while plan and journal are
 * replayed: with a second core the two take hardly longer than one.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { checkClosedSet, type EvidenceIndex } from './evidence-index.js';

/** Of the index, about a hundred a file. Fewer files are hashed before a thread has begun. */
const MANY_BYTES = 400_000;

/** A set that is closed: every file is listed and has its digest. */
export interface ClosedSet {
  files: number;
  /** Sum of their sizes. */
  bytes: number;
  /** Bytes of those that are parsed, as they were hashed. */
  kept: ReadonlyMap<string, Buffer>;
}

/** What the thread is given. */
export interface ClosedSetTask {
  runFolder: string;
  /** Bytes of `evidence.sha256`. */
  index: Uint8Array;
}

/** What the thread answers when every file is as it should be; otherwise it answers nothing. */
const answerSchema = z.strictObject({
  bytes: z.int().min(0),
  slabs: z.array(z.instanceof(ArrayBuffer)),
  /** Four numbers for each file that is kept: which of the index, and its slab, first byte and length. */
  places: z.instanceof(Uint32Array),
});

export type ClosedSetAnswer = z.infer<typeof answerSchema>;

/**
 * Checks a run folder by the bytes of its index, whose digest is known to be right, and by what they list. Throws a `QualifyError`
 * (exit `invalid`) that names the first file that is not as listed.
 */
export async function closedSet(
  runFolder: string,
  indexBytes: Uint8Array,
  index: EvidenceIndex,
): Promise<ClosedSet> {
  const many = indexBytes.length >= MANY_BYTES && availableParallelism() > 1;
  const found = many ? await checkInThread(runFolder, indexBytes, index) : null;
  if (found !== null) return found;
  // A thread that found something wrong, or could not begin, says nothing: what is wrong is found and told here.
  const kept = new Map<string, Buffer>();
  const bytes = await checkClosedSet(runFolder, index, kept);
  return { files: index.size, bytes, kept };
}

/** The same by a thread; null when anything is not as listed, or there can be no thread. */
export async function checkInThread(
  runFolder: string,
  indexBytes: Uint8Array,
  index: EvidenceIndex,
): Promise<ClosedSet | null> {
  const answer = await askThread({ runFolder, index: indexBytes });
  return answer && { files: index.size, bytes: answer.bytes, kept: keptOf(answer, index) };
}

async function askThread(task: ClosedSetTask): Promise<ClosedSetAnswer | null> {
  let thread: Worker;
  try {
    thread = new Worker(new URL('./closed-set-thread.js', import.meta.url), { workerData: task });
  } catch {
    // What a thread that ends at once is: no answer.
    return null;
  }
  return new Promise((resolve) => {
    thread.once('message', (message: unknown) => resolve(answerSchema.safeParse(message).data ?? null));
    thread.once('error', () => resolve(null));
    thread.once('exit', () => resolve(null));
  });
}

function keptOf({ slabs, places }: ClosedSetAnswer, index: EvidenceIndex): Map<string, Buffer> {
  const paths = [...index.keys()];
  const kept = new Map<string, Buffer>();
  for (let at = 0; at < places.length; at += 4) {
    const [file = 0, slab = 0, begin, length] = places.subarray(at, at + 4);
    const [path, bytes] = [paths[file], slabs[slab]];
    if (path !== undefined && bytes !== undefined) kept.set(path, Buffer.from(bytes, begin, length));
  }
  return kept;
}
