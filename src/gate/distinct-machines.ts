/** How many machines speak, as far as keys can tell: a signer says what his machine is, so that one key vouches for one machine. Pure. */

/** One that speaks: who signed, and on which machine he says that he measured. */
export interface Witness {
  keyId: string;
  machineId: string;
}

/** The most machines that can be given a key each, no key twice: a maximum matching, by augmenting paths. */
export function countDistinct(witnesses: readonly Witness[]): number {
  const keyOf = new Map<string, string>();
  /** Finds the machine a key, moving other machines to other keys where that helps. */
  const place = (machineId: string, tried: Set<string>): boolean => {
    for (const { keyId } of witnesses.filter((witness) => witness.machineId === machineId)) {
      if (tried.has(keyId)) continue;
      tried.add(keyId);
      const [holder] = [...keyOf].find(([, key]) => key === keyId) ?? [];
      if (holder !== undefined && !place(holder, tried)) continue;
      keyOf.set(machineId, keyId);
      return true;
    }
    return false;
  };
  return [...new Set(witnesses.map(({ machineId }) => machineId))].filter((id) => place(id, new Set()))
    .length;
}
