/** The controls of a session in a few lines: whatever was exceeded by itself, the rest by the reading nearest to its limit. */
import type { Control, Verdict } from '../verdict/schema.js';
import type { Detail } from './details.js';
import { cellNames } from './notes.js';

const names = ['null', 'lever-off', 'warm-up', 'slot', 'order'] as const;
const severity = { exceeded: 0, unclear: 1, 'not-taken': 2, ok: 3 } as const;

/** How far a reading is from nothing, in units of its limit where it has one. */
const size = ({ percent, limitPercent }: Control): number => Math.abs(percent ?? 0) / (limitPercent ?? 1);

const told = ({ cell, message }: Control): string => `${cell}: ${message}`;

interface Line extends Detail {
  status: Control['status'];
}

/** What was not taken, once for each reason: the arms that the reason begins with, and the cells. */
function notTaken(name: Control['name'], own: readonly Control[]): Line[] {
  const byWhy = new Map<string, { arms: Set<string>; cells: Set<string> }>();
  for (const { arm, cell, message, status } of own) {
    if (status !== 'not-taken') continue;
    const start = `${arm}: `;
    const why = message.startsWith(start) ? message.slice(start.length) : message;
    const group = byWhy.get(why) ?? { arms: new Set(), cells: new Set() };
    if (why !== message && arm !== null) group.arms.add(arm);
    group.cells.add(cell);
    byWhy.set(why, group);
  }
  return [...byWhy].map(([why, { arms, cells }]) => {
    const of = arms.size === 0 ? '' : ` of ${[...arms].join(', ')}`;
    return { label: name, text: `not taken${of} in ${cellNames([...cells])}: ${why}`, status: 'not-taken' };
  });
}

function linesOf(name: Control['name'], controls: readonly Control[]): Line[] {
  const own = controls.filter((control) => control.name === name);
  const exceeded = own
    .filter(({ status }) => status === 'exceeded')
    .toSorted((a, b) => size(b) - size(a))
    .map((control): Line => ({ label: name, text: `EXCEEDED, ${told(control)}`, status: 'exceeded' }));
  const summary = (status: 'ok' | 'unclear', word: string): Line[] => {
    const all = own.filter((control) => control.status === status);
    const [most] = all.toSorted((a, b) => size(b) - size(a));
    if (most === undefined) return [];
    const count = all.length === 1 ? word : `${word} (the largest of ${all.length})`;
    return [{ label: name, text: `${count}, ${told(most)}`, status }];
  };
  return [
    ...exceeded,
    ...summary('unclear', 'cannot tell at this noise'),
    ...notTaken(name, own),
    ...summary('ok', 'ok'),
  ];
}

/** One line a control, worst first; empty when there are none. */
export const controlLines = ({ controls }: Verdict): Detail[] =>
  names
    .flatMap((name) => linesOf(name, controls))
    .toSorted((a, b) => severity[a.status] - severity[b.status])
    .map(({ label, text }) => ({ label, text }));
