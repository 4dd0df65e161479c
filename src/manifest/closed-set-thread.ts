/** The entry of a thread that checks a closed set: a task in, what was found out, nothing when a file is not as listed. */
import { parentPort, workerData } from 'node:worker_threads';
import type { ClosedSetAnswer, ClosedSetTask } from './closed-set.js';
import { checkClosedSet, type EvidenceIndex, parseIndex } from './evidence-index.js';

/** Where the bytes of kept files lie in memory that is handed over as it is, without a copy. */
function placesOf(kept: ReadonlyMap<string, Buffer>, index: EvidenceIndex): Omit<ClosedSetAnswer, 'bytes'> {
  const slabs = new Map<ArrayBufferLike, number>();
  const places = new Uint32Array(4 * kept.size);
  let [file, at] = [0, 0];
  for (const path of index.keys()) {
    const bytes = kept.get(path);
    if (bytes !== undefined) {
      const slab = slabs.get(bytes.buffer) ?? slabs.size;
      slabs.set(bytes.buffer, slab);
      places.set([file, slab, bytes.byteOffset, bytes.length], at);
      at += 4;
    }
    file += 1;
  }
  return { slabs: [...slabs.keys()].filter((slab) => slab instanceof ArrayBuffer), places };
}

// What this process itself gave to its thread.
const { runFolder, index: text }: ClosedSetTask = workerData;
const index = parseIndex(Buffer.from(text).toString('utf8'));
const kept = new Map<string, Buffer>();
const bytes = await checkClosedSet(runFolder, index, kept);
const answer: ClosedSetAnswer = { bytes, ...placesOf(kept, index) };
parentPort?.postMessage(answer, [...answer.slabs, answer.places.buffer as ArrayBuffer]);
