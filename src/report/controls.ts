/** The controls of a session in a few lines: whatever was exceeded by itself, the rest by the reading nearest to its limit. */
import type { Control, Verdict } from '../verdict/schema.js';
import type { Detail } from './details.js';

const names = ['null', 'lever-off', 'warm-up', 'slot', 'order'] as const;
const severity = { exceeded: 0, 'not-taken': 1, ok: 2 } as const;

/** How far a reading is from nothing, in units of its limit where it has one. */
const size = ({ percent, limitPercent }: Control): number => Math.abs(percent ?? 0) / (limitPercent ?? 1);

const told = ({ cell, message }: Control): string => `${cell}: ${message}`;

interface Line extends Detail {
  status: Control['status'];
}

function linesOf(name: Control['name'], controls: readonly Control[]): Line[] {
  const own = controls.filter((control) => control.name === name);
  const exceeded = own
    .filter(({ status }) => status === 'exceeded')
    .toSorted((a, b) => size(b) - size(a))
    .map((control): Line => ({ label: name, text: `EXCEEDED, ${told(control)}`, status: 'exceeded' }));
  const summary = (status: 'ok' | 'not-taken', word: string): Line[] => {
    const all = own.filter((control) => control.status === status);
    const [most] = all.toSorted((a, b) => size(b) - size(a));
    if (most === undefined) return [];
    const which = status === 'ok' ? 'largest' : 'first';
    const count = all.length === 1 ? word : `${word} (the ${which} of ${all.length})`;
    return [{ label: name, text: `${count}, ${told(most)}`, status }];
  };
  return [...exceeded, ...summary('not-taken', 'not taken'), ...summary('ok', 'ok')];
}

/** One line a control, worst first; empty when there are none. */
export const controlLines = ({ controls }: Verdict): Detail[] =>
  names
    .flatMap((name) => linesOf(name, controls))
    .toSorted((a, b) => severity[a.status] - severity[b.status])
    .map(({ label, text }) => ({ label, text }));
