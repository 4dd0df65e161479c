/** Were the samples cold? Control applied and read back in each, the read-back shown to be alive, and nothing remembered. */
import { counted } from '../counted.js';
import type { PlannedCell } from '../plan/schema.js';
import { condensed, type Finding, finding } from './finding.js';
import { gainsApart } from './gain-apart.js';
import { allSamplesOf, finished, type Launch, type Sample } from './observations.js';
import { PerLaunch } from './per-launch.js';
import type { Clock } from './rate.js';
import { warmAcrossLaunches } from './warm-across.js';

export interface Coldness {
  /** `control-only`: reads as cold, but nothing shows that the field could read otherwise. */
  status: 'proved' | 'control-only' | 'unproved' | 'violated';
  reasons: Finding[];
}

interface Graded extends Finding {
  status: Coldness['status'];
}

function gradeSample(sample: Sample, cell: PlannedCell): Graded[] {
  const { cacheN, promptN } = sample.answer;
  if (cacheN === 0 && promptN === cell.promptTokens) return [];
  const at = `${sample.prompt} in ${sample.launch}`;
  const grades: Graded[] = [];
  if (cacheN === null) {
    const message = `${at}: the engine does not say how many tokens it reused; absent is not zero`;
    grades.push({ status: 'unproved', code: 'cache-count-absent', message });
  } else if (cacheN > 0) {
    grades.push({
      status: 'violated',
      code: 'cache-hit',
      message: `${at}: ${counted(cacheN, 'token')} came from a cache`,
    });
  }
  if (promptN === null) {
    const message = `${at}: the engine does not say how many tokens it evaluated`;
    grades.push({ status: 'unproved', code: 'prompt-count-absent', message });
  } else if (promptN > cell.promptTokens) {
    const message = `${at}: ${promptN} tokens evaluated, but only ${cell.promptTokens} sent: the engine adds some of its own, as BOS`;
    grades.push({ status: 'violated', code: 'tokens-added', message });
  } else if (promptN !== cell.promptTokens) {
    const message = `${at}: ${promptN} tokens evaluated, ${cell.promptTokens} sent`;
    grades.push({ status: 'violated', code: 'prompt-not-evaluated', message });
  }
  return grades;
}

const gradeSamples = (launch: Launch, cell: PlannedCell): Graded[] =>
  allSamplesOf(launch, cell.id).flatMap((sample) => gradeSample(sample, cell));

const samplesGraded = new PerLaunch<readonly Graded[]>();

function gradeControl(launch: Launch): Graded[] {
  if (launch.control === undefined) {
    if (!finished(launch)) return [];
    const message = `${launch.id}: no positive control, so a count of 0 reused tokens proves nothing`;
    return [{ status: 'control-only', code: 'control-missing', message }];
  }
  const reused = launch.control.second.cacheN;
  if (reused !== null && reused > 0) return [];
  const message = `${launch.id}: a repeated prompt with the cache on shows no reuse; the count may be a constant`;
  return [{ status: 'control-only', code: 'control-without-reuse', message }];
}

const severity = { proved: 0, 'control-only': 1, unproved: 2, violated: 3 } as const;

/** What shows that prompts outlive a launch: of each arm by itself, and of each against the reference. */
function remembered(
  cell: PlannedCell,
  launches: readonly Launch[],
  clock: Clock,
  reference: string,
  first: readonly Launch[],
): Finding[] {
  const own = warmAcrossLaunches(cell, [...first, ...launches], clock);
  if (own.length > 0) return own;
  const of = (arm: string): Launch[] => launches.filter((launch) => launch.arm === arm);
  const arms = new Set(launches.map(({ arm }) => arm));
  return [...arms].flatMap((arm) =>
    arm === reference ? [] : gainsApart(cell, of(arm), of(reference), clock),
  );
}

/**
 * Grade of a cell over launches: the worst of all its samples and of the launches' controls. `reference` is the arm that the others
 * are compared against; `voidFirst` is the session's first launch where it is not among them.
 */
export function coldnessOf(
  cell: PlannedCell,
  launches: readonly Launch[],
  clock: Clock,
  reference: string,
  voidFirst?: Launch,
): Coldness {
  if (launches.every((launch) => allSamplesOf(launch, cell.id).length === 0)) {
    return {
      status: 'unproved',
      reasons: [finding('no-samples', 'there is no sample whose coldness could be shown')],
    };
  }
  const grades = [
    ...launches.flatMap((launch) => samplesGraded.of(launch, cell, () => gradeSamples(launch, cell))),
    ...launches.flatMap(gradeControl),
    ...remembered(cell, launches, clock, reference, voidFirst === undefined ? [] : [voidFirst]).map(
      (found): Graded => ({ ...found, status: 'violated' }),
    ),
  ];
  const status = grades.reduce<Coldness['status']>(
    (worst, grade) => (severity[grade.status] > severity[worst] ? grade.status : worst),
    'proved',
  );
  const worst = grades.filter((grade) => grade.status === status);
  return { status, reasons: condensed(worst.map(({ code, message }) => finding(code, message))) };
}
