/** A number of things, in words: `1 round`, `2 rounds`, `0 launches`. */
export const counted = (count: number, what: string, plural = 's'): string =>
  `${count} ${what}${count === 1 ? '' : plural}`;
