/** What a plan must know about the generated models before one exists. Sizes and rates are rough: for estimates only. */
import type { Model } from '../matrix/schema.js';

interface PresetFacts {
  /** Ids that prompts may use. */
  vocabulary: number;
  /** Weights of the routed experts of all layers, how many experts a layer has, and bytes of the file besides them. */
  expertWeights: number;
  experts: number;
  otherBytes: number;
  /** Prefill on two cores with serial experts, a cautious guess. */
  prefillTokPerSec: number;
  /** Start of a process until it is ready. */
  readySeconds: number;
}

const presets: Record<Extract<Model, { preset: string }>['preset'], PresetFacts> = {
  unit: {
    vocabulary: 512,
    expertWeights: 12_582_912,
    experts: 16,
    otherBytes: 4.3e6,
    prefillTokPerSec: 10_000,
    readySeconds: 0.5,
  },
  mini: {
    vocabulary: 4096,
    expertWeights: 603_979_776,
    experts: 64,
    otherBytes: 47.5e6,
    prefillTokPerSec: 700,
    readySeconds: 1.5,
  },
  small: {
    vocabulary: 8192,
    expertWeights: 6_442_450_944,
    experts: 128,
    otherBytes: 0.22e9,
    prefillTokPerSec: 120,
    readySeconds: 10,
  },
  'flash-8': {
    vocabulary: 16_384,
    expertWeights: 51_539_607_552,
    experts: 256,
    otherBytes: 1.6e9,
    prefillTokPerSec: 10,
    readySeconds: 90,
  },
};

/** A simulated engine mostly waits for its process to start. */
const simulated = { prefillTokPerSec: 100_000, readySeconds: 0.3 };

/** Bits per weight of the experts with their scales; `rocmfp2` is two matrices of 2.5 bits and a down projection of 3.5. */
const bitsPerWeight: Record<Extract<Model, { preset: string }>['experts'], number> = {
  rocmfp2: (2.5 + 2.5 + 3.5) / 3,
  rocmfp4: 4.5,
  rocmfp4_fast: 4.25,
  q2_k: 2.625,
  mxfp4: 4.25,
  q4_0: 4.5,
  q8_0: 8.5,
  f16: 16,
  f32: 32,
};

/** Size of the file to be made; 0 for a file of the user's, which is on disk already. */
export function fileBytesOf(model: Model): number {
  if ('simulated' in model) return 1e3;
  if (!('preset' in model)) return 0;
  const { expertWeights, otherBytes } = presets[model.preset];
  return otherBytes + (expertWeights * bitsPerWeight[model.experts]) / 8;
}

/** Number of ids that prompts of a model may use. */
export const vocabularyOf = (model: Model): number =>
  'preset' in model ? presets[model.preset].vocabulary : model.vocabulary;

/** Facts for estimates of time; a file of the user's counts as `small`. */
export const ratesOf = (model: Model): Pick<PresetFacts, 'prefillTokPerSec' | 'readySeconds'> =>
  'simulated' in model ? simulated : presets['preset' in model ? model.preset : 'small'];

/** Experts of a layer that a token goes through: six that its router picks, and the shared one, which is as large. */
const EXPERTS_USED = 7;

/**
 * Multiplications and additions that a token takes at least: those of its experts, which are most of them. Null for a file of the
 * user's, of which nothing is known.
 */
export function operationsPerToken(model: Model): number | null {
  if (!('preset' in model)) return null;
  const { expertWeights, experts } = presets[model.preset];
  return (2 * expertWeights * EXPERTS_USED) / experts;
}
