/**
 * The parts of what a decision reads like on GitHub. Whatever others chose is cut to a bounded length and escaped, and never begins a line or
 * an item of a list, where a dash, a number or a hash would open a list or a heading.
 */
import { counted } from '../../counted.js';
import { short } from '../../digest.js';
import { markdownCode, markdownText } from '../../report/escape.js';
import type { Reason } from '../../verdict/schema.js';
import { brief } from '../brief.js';
import type { GateDecision, NextStep, OfferedRun } from '../decision.js';
import { type Section, whole } from './fit.js';
import { firstReasons } from './reasons.js';
import { type CellRow, placeOf, rowsOf, tableLines, workloadOf } from './rows.js';
import { headline, shownResult } from './words.js';

const text = (value: string, most?: number): string => markdownText(brief(value, most));
const reasonText = ({ code, message }: Reason): string => `${text(message)} (${text(code, 60)})`;
const commit = (id: string): string => markdownCode(short(id));
const MOST_REASONS = 5;
/** At most five, and of the others the codes. */
const reasonTexts = (reasons: readonly Reason[]): string[] =>
  firstReasons(reasons, MOST_REASONS, reasonText, markdownText);
/** The same, each behind a semicolon. */
const furtherReasons = (reasons: readonly Reason[]): string =>
  reasonTexts(reasons)
    .map((one) => `; ${one}`)
    .join('');

const shortKey = (signer: string | null): string =>
  signer === null ? 'nobody known' : markdownCode(brief(signer, 60));

/** Result, head and base: the first thing to read. */
export function headSection(decision: GateDecision): Section {
  const { head, base, policy } = decision;
  const title = policy.title === null ? '' : ` – ${text(policy.title, 200)}`;
  const from =
    policy.commit === null
      ? '**The policy was read from disk**, not from the base revision: whoever made the change could have chosen it.'
      : `Policy ${markdownCode(brief(policy.path, 100))} and trust as of the base, ${commit(policy.commit)}.`;
  const against =
    base.branch === base.commit ? commit(base.commit) : `${text(base.branch, 100)} at ${commit(base.commit)}`;
  return whole(
    `### ${headline(decision)}${title}`,
    '',
    `Head ${commit(head.commit)} against ${against}, exit code ${decision.exitCode}. ${from}`,
  );
}

const nextStep = ({ what, command }: NextStep): string =>
  command === null ? text(what) : `${text(what)}: ${markdownCode(brief(command))}`;

/** Reasons of the decision itself, then of requirements that say why, then what to do. */
export function reasonSection(decision: GateDecision): Section {
  const rows = [
    ...decision.reasons.map((reason) => `- why: ${reasonText(reason)}`),
    ...decision.requirements.flatMap((requirement) =>
      reasonTexts(requirement.reasons).map(
        (one) => `- required: ${markdownText(placeOf(requirement))}: ${one}`,
      ),
    ),
    ...decision.requirements.flatMap(({ next, ...requirement }) =>
      next === null ? [] : [`- next: ${markdownText(placeOf(requirement))}: ${nextStep(next)}`],
    ),
  ];
  return { head: [], rows, tail: [] };
}

/** Who waived what, why, until when. */
export function waiverSection(decision: GateDecision): Section {
  const applied = decision.waivers.filter(({ applies }) => applies);
  const rows = applied.map(
    ({ matrix, cell, reason, signer, expiresAt }) =>
      `- waived: ${text(cell ?? '?', 64)} of ${text(matrix ?? '?', 64)}, by ${shortKey(signer)} until ${text(expiresAt ?? '?', 30)}: ${text(reason ?? 'no reason given')}`,
  );
  const covered = applied.length === 1 ? 'it covers' : 'they cover';
  const said = `**${counted(applied.length, 'waiver')} in force. What ${covered} did not pass.**`;
  return { head: applied.length === 0 ? [] : [said, ''], rows, tail: [] };
}

/** The table, with at most `most` rows. */
export function tableSection(decision: GateDecision, most: number): Section {
  const rows = rowsOf(decision);
  if (rows.length === 0) return whole('No requirement was looked at.');
  const [names = '', rule = '', ...lines] = tableLines(rows.slice(0, most));
  const hidden = rows.slice(most);
  const failing = hidden.filter(({ result }) => result !== 'pass').length;
  const more = `${counted(hidden.length, 'more row')} in the summary of the run, ${failing === 0 ? 'all of them pass' : `**${failing} of them no pass**`}.`;
  return { head: [names, rule], rows: lines, tail: hidden.length === 0 ? [] : ['', more] };
}

/** Never empty, since an empty code span is none. */
const lastPart = (path: string): string => path.split('/').findLast((part) => part !== '') ?? '?';

function runLine(run: OfferedRun): string {
  const { path, kind, session, signer, machineId, digest, finishedAt, reasons } = run;
  const parts = [
    `- run: ${markdownCode(brief(lastPart(path), 100))}, ${text(kind ?? 'unreadable')} run ${text(session ?? 'without a name', 80)}`,
    `finished ${text(finishedAt ?? 'at no known time', 40)}`,
    `signed by ${shortKey(signer)}`,
    machineId === null ? 'machine unknown' : `machine ${commit(machineId)}`,
    digest === null ? 'does not verify' : `evidence sha256 ${commit(digest)}`,
  ];
  return parts.join(', ') + furtherReasons(reasons);
}

/**
 * The command that checks a run. People paste it, so that a name which a shell would take for more than a name is not in it: names of
 * offered files are anybody's choice, and no signature covers them.
 */
function verifyCommand(run: string, trust: string): string {
  const shown = /^[A-Za-z0-9][\w.-]{0,99}$/.test(run) ? run : 'RUN';
  const policy = /^[\w.][\w./-]{0,99}$/.test(trust) ? trust : 'TRUST';
  return `qualify verify ${shown} --trust ${policy} --explain`;
}

/** The runs that the result rests on, on which machines, and how anybody checks one. */
export function evidenceSection(decision: GateDecision): Section {
  const counting = decision.evidence.filter(({ counts }) => counts);
  if (counting.length === 0)
    return whole(`No run counts, of ${counted(decision.evidence.length, 'run')} offered.`);
  const command = verifyCommand(lastPart(counting[0]?.path ?? ''), decision.policy.trust);
  return {
    head: [
      `Rests on ${counted(counting.length, 'run')}; coldness, parity and every number were replayed from raw evidence:`,
      '',
    ],
    rows: counting.map(runLine),
    tail: ['', `Check it yourself: ${markdownCode(command)}`],
  };
}

/** What was offered and does not count, waivers that do not apply, and what each cell says: folded away. */
export function detailSection(decision: GateDecision, rows: readonly CellRow[] = rowsOf(decision)): Section {
  const cells = rows.flatMap(({ cell, requirement, result }) =>
    cell === null || result === 'pass'
      ? []
      : [
          `- cell: ${markdownText(placeOf(requirement))}, ${markdownText(workloadOf(cell))}: **${result.toUpperCase()}** after ${counted(cell.rounds, 'round')}${furtherReasons(cell.reasons)}`,
        ],
  );
  const runs = decision.evidence
    .filter(({ counts }) => !counts)
    .map(
      (run) =>
        `- does not count: ${markdownCode(brief(lastPart(run.path), 100))}${furtherReasons(run.reasons)}`,
    );
  const waivers = decision.waivers
    .filter(({ applies }) => !applies)
    .map(
      (waiver) =>
        `- waiver without effect: ${markdownCode(brief(lastPart(waiver.path), 100))}${furtherReasons(waiver.reasons)}`,
    );
  const lines = [...cells, ...runs, ...waivers];
  if (lines.length === 0) return whole();
  return {
    head: ['<details><summary>Cells that do not pass, and what does not count</summary>', ''],
    rows: lines,
    tail: ['', '</details>'],
  };
}

/** Where this was decided, by what. */
export function footSection(decision: GateDecision, runUrl: string | undefined): Section {
  const link = runUrl === undefined ? '' : ` [Log and files](${runUrl}).`;
  const result = shownResult(decision).toUpperCase();
  return whole(
    `${result}, decided ${text(decision.decidedAt, 40)} by qualify ${text(decision.harness, 60)}; policy sha256 ${commit(decision.policy.sha256)}.${link}`,
  );
}
