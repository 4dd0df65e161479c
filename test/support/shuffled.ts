/** Lists in any order: for what must not depend on it. */
import fc from 'fast-check';

/** A list of `values` and the same in another order, any of them. */
export const shuffled = <T>(values: fc.Arbitrary<T[]>): fc.Arbitrary<readonly [list: T[], turned: T[]]> =>
  values.chain((list) =>
    fc.tuple(
      fc.constant(list),
      fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length }),
    ),
  );
