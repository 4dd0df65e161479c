/** What stands under a table that is pasted into a pull request: same outputs, cold requests, and which evidence shows it. */
import { counted } from '../counted.js';
import type { Verdict } from '../verdict/schema.js';
import type { Provenance, ReportContext } from './context.js';

const all = (part: number, whole: number, noun: string): string =>
  part === whole ? `all ${counted(whole, noun)}` : `${part} of ${counted(whole, noun)}`;

function parityLine({ cells }: Verdict): string {
  const compared = cells.flatMap(({ comparisons }) => comparisons.map(({ parity }) => parity));
  const same = compared.filter(({ status }) => status === 'identical');
  const near = compared.filter(({ status }) => status === 'within');
  const pairs = [...same, ...near].reduce((sum, parity) => sum + parity.pairs, 0);
  const shown = pairs === 0 ? '' : ` (${counted(pairs, 'pair')} of retained responses by SHA-256)`;
  const within = near.length === 0 ? '' : `, within the limits in ${near.length}`;
  return `identical outputs in ${all(same.length, compared.length, 'comparison')}${within}${shown}`;
}

function coldLine({ cells }: Verdict): string {
  const cold = cells.filter(({ coldness }) => coldness.status === 'proved').length;
  return `every retained request proved cache-cold in ${all(cold, cells.length, 'cell')}`;
}

/** Parity, coldness, and once the run is sealed the digest by which its evidence is known and who signed it. */
export function evidenceLines(verdict: Verdict, { sealed }: ReportContext): Provenance[] {
  return [
    { label: 'parity', text: parityLine(verdict) },
    { label: 'cold', text: coldLine(verdict) },
    ...(sealed === undefined
      ? []
      : [{ label: 'evidence', text: `evidence.sha256 ${sealed.indexSha256}, signed by ${sealed.signer}` }]),
  ];
}
