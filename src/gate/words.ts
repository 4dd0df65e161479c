/** How text, JUnit and CTRF say what a decision is, in the same words. */
import { counted } from '../counted.js';
import { short } from '../digest.js';
import { signedPercent } from '../verdict/percent.js';
import type {
  GateCell,
  GateDecision,
  NextStep,
  OfferedRun,
  OfferedWaiver,
  Reason,
  RequirementResult,
} from './decision.js';

/** `FAIL (exit 10): 1 of 2 requirements hold`. A waived decision begins with WAIVED. */
export function headlineOf({ result, exitCode, requirements }: GateDecision): string {
  const hold = requirements.filter((one) => one.result === 'pass' || one.result === 'waived').length;
  const all = requirements.length;
  const count = `${hold} of ${all} ${all === 1 ? 'requirement holds' : 'requirements hold'}`;
  return `${result.toUpperCase()} (exit ${exitCode}): ${count}`;
}

/** `+89.2 %`; `–` where nothing may be shown. */
export const percentText = (percent: number | null): string =>
  percent === null ? '–' : signedPercent(1 + percent / 100);

/** `94.59 tok/s`; `–` where nothing may be shown. */
export const rateText = (median: number | null): string =>
  median === null ? '–' : `${median.toFixed(2)} tok/s`;

/** `-10.1 % to -8.3 %`. */
export const boundsText = ({ lowerPercent, upperPercent }: GateCell): string =>
  lowerPercent === null || upperPercent === null
    ? 'no interval'
    : `${percentText(lowerPercent)} to ${percentText(upperPercent)}`;

/** `fail, beyond-budget`; of a waived cell what it would be. */
export function verdictOf({ result, verdict, detail }: GateCell): string {
  const own = detail === null ? verdict : `${verdict}, ${detail}`;
  return result === 'waived' ? `waived (${own})` : own;
}

/** Both numbers in one sentence. */
export function sentenceOf(cell: GateCell): string {
  const reasons = cell.reasons.map(({ message }) => message).join('; ');
  if (cell.baseMedian === null)
    return `${cell.id}: ${verdictOf(cell)}${reasons === '' ? '' : `: ${reasons}`}`;
  const rates = `base ${rateText(cell.baseMedian)}, head ${rateText(cell.headMedian)}`;
  const change = `${percentText(cell.deltaPercent)} (${boundsText(cell)}, ${counted(cell.rounds, 'round')}), budget -${cell.marginPercent} %`;
  return `${cell.id}: ${verdictOf(cell)}: ${rates}, ${change}`;
}

export const titleOf = ({ matrix, machine }: RequirementResult): string => `${matrix} on ${machine}`;

export const reasonText = ({ code, message }: Reason): string => `${message} [${code}]`;

/** `what to do: qualify …`. */
export const nextText = ({ what, command }: NextStep): string =>
  command === null ? what : `${what}: ${command}`;

/** Who waived what, why, and until when. */
export function waiverText(waiver: OfferedWaiver): string {
  const { cell, matrix, signer, reason, expiresAt } = waiver;
  if (cell === null) return waiver.path;
  return `${cell} of ${matrix} by ${signer} until ${expiresAt}: ${reason}`;
}

/** `session s-1 by SHA256:…: pass`, or the path when there is nothing that can be believed. */
function runText({ path, session, signer, result, finishedAt }: OfferedRun): string {
  return session === null ? path : `${path}: session ${session}, ${finishedAt}, by ${signer}: ${result}`;
}

/** The same with all that is said of the run. */
export const runLine = (run: OfferedRun): string => [runText(run), ...run.reasons.map(reasonText)].join('; ');

/** Waivers that are used. */
export const usedWaivers = ({ waivers }: GateDecision): OfferedWaiver[] =>
  waivers.filter(({ applies }) => applies);

/** Of a reason of a requirement that decides nothing. */
export const OTHER_CELLS = 'other-cells';

/** Where the rules came from: `qualify.policy.yaml of main at 0123456789ab`. */
export function rulesText({ policy, base }: GateDecision): string {
  const digest = `sha256 ${short(policy.sha256)}`;
  return policy.commit === null
    ? `${policy.path} FROM DISK, not from the base revision (${digest})`
    : `${policy.path} of ${base.branch} at ${short(policy.commit)} (${digest})`;
}
