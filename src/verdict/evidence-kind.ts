/** What kind of evidence a comparison is, and which kind a merge may rest on. */
import { z } from 'zod';

/**
 * `matched`: both arms were measured in one session. `borrowed`: the numbers of an arm are those of another session, as when a baseline
 * is kept. `directional`: two sessions side by side, of which only "higher" or "lower" can be said.
 */
export const evidenceKindSchema = z.enum(['matched', 'borrowed', 'directional']);

export type EvidenceKind = z.infer<typeof evidenceKindSchema>;

/** Machines move more between sessions than most changes do, so that only what was measured side by side may pass a gate. */
export const mayGate = (kind: EvidenceKind): boolean => kind === 'matched';
