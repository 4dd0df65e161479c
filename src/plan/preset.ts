/** What a plan must know about the generated models before one exists. Sizes and rates are rough: for estimates only. */
import type { Model } from '../matrix/schema.js';

interface PresetFacts {
  /** Ids that prompts may use. */
  vocabulary: number;
  /** Size of the file with the default experts. */
  fileBytes: number;
  /** Prefill on two cores with serial experts, a cautious guess. */
  prefillTokPerSec: number;
  /** Start of a process until it is ready. */
  readySeconds: number;
}

const presets: Record<Extract<Model, { preset: string }>['preset'], PresetFacts> = {
  unit: { vocabulary: 512, fileBytes: 8.7e6, prefillTokPerSec: 10_000, readySeconds: 0.5 },
  mini: { vocabulary: 4096, fileBytes: 0.26e9, prefillTokPerSec: 700, readySeconds: 1.5 },
  small: { vocabulary: 8192, fileBytes: 2.5e9, prefillTokPerSec: 120, readySeconds: 10 },
  'flash-8': { vocabulary: 16_384, fileBytes: 20e9, prefillTokPerSec: 10, readySeconds: 90 },
};

/** Number of ids that prompts of a model may use. */
export const vocabularyOf = (model: Model): number =>
  'preset' in model ? presets[model.preset].vocabulary : model.vocabulary;

/** Facts for estimates; a file of the user's counts as `small` and as already on disk. */
export const factsOf = (model: Model): PresetFacts =>
  'preset' in model
    ? presets[model.preset]
    : { ...presets.small, vocabulary: model.vocabulary, fileBytes: 0 };
