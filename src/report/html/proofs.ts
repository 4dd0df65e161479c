/** What was seen of a comparison's requests and launches that proves it: counts, arm by arm. Never a rate. */
import { launchesOf, type Observations, type Sample } from '../../analysis/observations.js';
import type { CellVerdict, Comparison } from '../../verdict/schema.js';
import type { Markup } from './markup.js';
import { table } from './table.js';

interface Seen {
  requests: number;
  withoutReuse: number;
  evaluated: number;
  launches: number;
  controls: number;
  reused: string;
  nonces: number;
}

function seenOf(seen: Observations, arm: string, cell: CellVerdict, rounds: number): Seen {
  const launches = launchesOf(seen, arm, rounds);
  const samples = launches.flatMap((launch) => launch.samples.filter((own: Sample) => own.cell === cell.id));
  const reused = launches.flatMap(({ control }) => control?.second.cacheN ?? []);
  const [least, most] = [Math.min(...reused), Math.max(...reused)];
  return {
    requests: samples.length,
    withoutReuse: samples.filter(({ answer }) => answer.cacheN === 0).length,
    evaluated: samples.filter(({ answer }) => answer.promptN === cell.promptTokens).length,
    launches: launches.length,
    controls: reused.filter((tokens) => tokens > 0).length,
    reused: reused.length === 0 ? 'not told' : least === most ? String(least) : `${least} to ${most}`,
    nonces: launches.filter(({ started, ready }) => ready?.witness.nonce === started.nonce).length,
  };
}

/** The table of one comparison, over the rounds that it rests on. */
export function proofTable(seen: Observations, cell: CellVerdict, comparison: Comparison): Markup {
  const rounds = comparison.effect?.rounds ?? Number.POSITIVE_INFINITY;
  const arms = [comparison.against, comparison.arm].map((arm) => seenOf(seen, arm, cell, rounds));
  const of = (part: keyof Seen, whole: keyof Seen) => arms.map((own) => `${own[part]} of ${own[whole]}`);
  const lines = [
    ['requests that reused 0 tokens', ...of('withoutReuse', 'requests')],
    [`requests that evaluated all ${cell.promptTokens} tokens`, ...of('evaluated', 'requests')],
    ['launches whose repeated prompt was reused, so that 0 means something', ...of('controls', 'launches')],
    ['tokens reused then', ...arms.map(({ reused }) => reused)],
    ['launches that echoed their nonce', ...of('nonces', 'launches')],
  ];
  return table(
    'Proofs, counted',
    [
      { head: 'what was seen' },
      { head: comparison.against, number: true },
      { head: comparison.arm, number: true },
    ],
    lines,
  );
}
