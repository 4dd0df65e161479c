/** The engines that an arm can name. */
import { z } from 'zod';

export const engineNameSchema = z.enum(['embedded', 'node-llama-cpp', 'simulated']);
export type EngineName = z.infer<typeof engineNameSchema>;

/** The one release of the peer that is compared against; its lock file in `peers/llama-cpp` pins the rest. */
export const PEER_REVISION = 'npm:node-llama-cpp@3.21.1';

/** The one revision of the simulated engine, which is a part of this harness. */
export const SIMULATED_REVISION = 'simulated';

/** What an arm that names no revision runs. A package has one revision, so that there is nothing to choose. */
export const defaultRevision: Readonly<Record<EngineName, string>> = {
  embedded: 'worktree',
  'node-llama-cpp': PEER_REVISION,
  simulated: SIMULATED_REVISION,
};

/** Types of experts that llama.cpp reads too. */
export const peerExperts: readonly string[] = ['q4_0', 'q8_0', 'q2_k', 'mxfp4', 'f16', 'f32'];
