/** Which of the runs are told of, and how many are not and why. Pure. */
import type { BadLine, GoodLine, RunLine } from './run-line.js';

export interface Selection {
  /** Newest first. */
  runs: GoodLine[];
  bad: BadLine[];
  leftOut: {
    /** Folders with a run that another folder has too. */
    copies: number;
    otherMachines: number;
    otherMatrices: number;
    withoutCell: number;
  };
}

export interface Filter {
  /** The beginning of the id of a machine; null for any. */
  machine: string | null;
  /** Name of a matrix. */
  matrix?: string | undefined;
  /** Id of a cell. */
  cell?: string | undefined;
}

function withoutCopies(lines: readonly GoodLine[]): GoodLine[] {
  const seen = new Set<string>();
  return lines.filter(({ evidence }) => {
    const isNew = !seen.has(evidence);
    seen.add(evidence);
    return isNew;
  });
}

/** Sorts and filters the lines of an index. Runs that do not hold are told of whatever the filter: nobody knows what they are. */
export function selectRuns(lines: readonly RunLine[], { machine, matrix, cell }: Filter): Selection {
  const good = lines.filter((line) => line.holds);
  const once = withoutCopies(good);
  const here = once.filter(({ machineId }) => machine === null || machineId.startsWith(machine));
  const ofMatrix = here.filter((line) => matrix === undefined || line.matrix.name === matrix);
  const runs = ofMatrix.filter(({ cells }) => cell === undefined || cells.some(({ id }) => id === cell));
  return {
    runs: runs.toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1)),
    bad: lines.filter((line) => !line.holds),
    leftOut: {
      copies: good.length - once.length,
      otherMachines: once.length - here.length,
      otherMatrices: here.length - ofMatrix.length,
      withoutCell: ofMatrix.length - runs.length,
    },
  };
}
