/** Switches that the embedded engine has, by name; a revision under test may have others. */
import { suggest } from '../suggest.js';
import type { Design, Matrix } from './schema.js';

/** As `native/engine/switches.cpp` states them. */
export const knownSwitches: readonly string[] = [
  'DFLASH_MOE_GROUPED_MMID_PREFILL',
  'DFLASH_MOE_EXPERT_MAJOR_MIN_TOKENS',
  'DFLASH_MOE_FUSED_COMBINE',
  'GGML_CUDA_MMQ_MOE_ADAPTIVE_X',
  'GGML_CUDA_MMQ_MOE_PERSISTENT',
  'DFLASH_MOE_OWNERS',
  'DFLASH_EXPERT_BUDGET_MB',
  'DFLASH_DS4_HOTNESS_CSV',
  'DFLASH_DS4_DIRECT_INDEXER_TOPK',
  'GGML_CUDA_MLA_STREAM_TOPK',
  'GGML_CUDA_MLA_STREAM_F32_STAGE',
  'GGML_CUDA_MLA_STREAM_FAST_EXP',
  'DFLASH_DS4_LONG_CONTEXT_CHUNK',
];

const families = /^(DFLASH|GGML_CUDA)_/;

/**
 * A warning for each switch of the embedded engine that may be misspelt: of its families, near to one, a lever, or varied by a design, and not known. It
 * names the first arm that has it.
 */
export function switchWarnings(arms: Matrix['arms'], design?: Design): string[] {
  const told = new Set<string>();
  return Object.entries(arms).flatMap(([arm, { engine, switches, control }]) =>
    Object.keys(switches).flatMap((name) => {
      const near = suggest(name, knownSwitches);
      const isLever = control === 'lever-off';
      const isVaried = design?.factors.some((factor) => factor.switch === name) === true;
      const doubtful = families.test(name) || near !== undefined || isLever || isVaried;
      if (engine !== 'embedded' || knownSwitches.includes(name) || !doubtful || told.has(name)) return [];
      told.add(name);
      const hint = near === undefined ? '' : `: did you mean ${near}?`;
      const unless = isLever
        ? ' (unless the change brings it, this arm proves nothing)'
        : isVaried
          ? ' (unless the revision brings it, nothing is varied)'
          : '';
      return [`arm ${arm}: this engine has no switch ${name}${unless}${hint}`];
    }),
  );
}
