// Owns the way to the peer: llama.cpp on the CPU, through node-llama-cpp.
// Install with `npm ci --ignore-scripts --omit=optional`: nothing is downloaded beyond the registry's packages.
import { availableParallelism } from 'node:os';
import { getLlama } from 'node-llama-cpp';

/** Opens a model file. Rejects with llama.cpp's own reason when it cannot. */
export async function openPeer(modelPath, contextSize) {
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error' });
  const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
  const context = await model.createContext({
    contextSize,
    batchSize: Math.min(contextSize, 512),
    threads: Math.min(4, availableParallelism()),
  });
  const sequence = context.getSequence();
  return {
    model,
    release: llama.llamaCppRelease.release,
    /** For every position, a Map from token id to its probability as the next one, over the whole vocabulary. */
    async probabilities(tokens) {
      const options = { temperature: 1, topK: 0, topP: 1, minP: 0 };
      const output = await sequence.controlledEvaluate(
        tokens.map((token) => [token, { generateNext: { probabilities: true, options } }]),
      );
      return output.map((position) => position.next.probabilities);
    },
  };
}
