/** Faults that the embedded engine can be told to have, so that prompts can be graded by which of them their outputs show. */
import { z } from 'zod';

export const plantedFaultSchema = z.enum([
  'dropped-route',
  'dropped-window-key',
  'dropped-topk-entry',
  'half-context',
  'expert-scale',
]);
export type PlantedFault = z.infer<typeof plantedFaultSchema>;

export const plantedFaults: readonly PlantedFault[] = plantedFaultSchema.options;

/** What an engine says that has none. */
export const NO_FAULT = 'none';

/** What each is, for people. `native/engine/planted_fault.h` says it to the engine. */
export const faultMeanings: Readonly<Record<PlantedFault, string>> = {
  'dropped-route': 'every 64th token is left without one of its experts',
  'dropped-window-key': "attention's window is one key short",
  'dropped-topk-entry': 'the indexer takes one entry too few',
  'half-context': 'the older half of the compressed context is not seen',
  'expert-scale': "one expert's scales are twice what they should be",
};

/** Something for each fault. */
export const perFault = <T>(of: (fault: PlantedFault) => T): Record<PlantedFault, T> => ({
  'dropped-route': of('dropped-route'),
  'dropped-window-key': of('dropped-window-key'),
  'dropped-topk-entry': of('dropped-topk-entry'),
  'half-context': of('half-context'),
  'expert-scale': of('expert-scale'),
});
