/** What the harness and its telemetry process say to each other. */
import { z } from 'zod';

/** To the telemetry: watch a launch, or finish with it. */
export const orderSchema = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('watch'),
    /** Process group of the engine. */
    group: z.int().positive(),
    /** The harness. */
    harness: z.int().positive(),
    periodMs: z.int().min(500),
    /** File that gets a line a sample; it must not exist. */
    path: z.string().min(1),
  }),
  z.strictObject({ do: z.literal('finish') }),
]);

/** From the telemetry: done, or why not. */
export const replySchema = z.strictObject({ error: z.string().nullable() });

export type Order = z.infer<typeof orderSchema>;
export type Reply = z.infer<typeof replySchema>;
