/** What a verdict says of engines that are well on a machine that others take meanwhile, whatever a test is about. */

/** Codes of reasons: a stall of either process parts the clocks of requests of a few milliseconds. */
export const ofABusyMachine: readonly string[] = ['clocks-contradict', 'time-beyond-client'];
