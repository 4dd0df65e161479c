/** The arm that shows whose a gain is: the change with its new switches at their kill values. Pure. */

/** An arm of `pr` or `compare` beside what the matrix says of all of them. */
export interface RevisionArm {
  name: string;
  revision: string;
  /** Over those that the arms of the matrix have in common. */
  switches?: Readonly<Record<string, string>>;
  control?: 'lever-off';
}

const NAME = 'lever-off';

/**
 * The arms with one more, the last arm's revision with `levers`; the arms as they are when there are none. Of a stack of
 * changes the last has the switches of all.
 */
export function withLeverOff(
  arms: readonly RevisionArm[],
  levers: Readonly<Record<string, string>> | undefined,
): RevisionArm[] {
  const last = arms.at(-1);
  if (levers === undefined || last === undefined) return [...arms];
  const isTaken = arms.some(({ name }) => name.toLowerCase() === NAME);
  const name = isTaken ? `${NAME}-${arms.length + 1}` : NAME;
  return [...arms, { name, revision: last.revision, switches: levers, control: 'lever-off' }];
}
