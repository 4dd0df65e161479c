/**
 * The decision of a gate: a pure function of what was read. Every run that was offered is judged and shown; of those that count, the worst
 * decides each cell; waivers come last and reach measured cells only.
 */
import { short } from '../digest.js';
import { EXIT } from '../exit-codes.js';
import { challengeSeed } from '../plan/challenge.js';
import { exitCodeOf } from '../verdict/exit-code.js';
import { worstOf } from '../verdict/refusal.js';
import type { VerdictName } from '../verdict/schema.js';
import { type CountingRun, gateResultOf, sortCells, worstCells, worstResult } from './cells.js';
import {
  type GateCell,
  type GateDecision,
  type GateResult,
  gateDecisionSchema,
  type OfferedWaiver,
  type Reason,
  type RequirementResult,
  reason,
} from './decision.js';
import type { GateInput } from './input.js';
import { protectedCells } from './judge-requirement.js';
import { judgeWaiver } from './judge-waiver.js';
import { lackOf } from './lack.js';
import { nextStepOf } from './next-step.js';
import { type Offer, offersOf, requiredAt, toOfferedRun } from './offers.js';
import type { Requirement } from './policy.js';
import { OTHER_CELLS } from './words.js';

const EXITS: Record<Exclude<GateResult, 'refused'>, number> = {
  pass: EXIT.pass,
  waived: EXIT.pass,
  inconclusive: EXIT.inconclusive,
  fail: EXIT.overBudget,
  missing: EXIT.notMeasured,
  invalid: EXIT.invalid,
};

/** Decides. Deterministic: the same input gives the same document, to the byte. */
export function decide(input: GateInput): GateDecision {
  const offers = offersOf(input);
  const waivers = input.waivers.map(({ path, waiver, failure }): OfferedWaiver => {
    const terms = waiver?.predicate;
    return {
      path,
      matrix: terms?.matrix ?? null,
      cell: terms?.cell ?? null,
      reason: terms?.reason ?? null,
      signer: terms?.signer ?? null,
      expiresAt: terms?.expiresAt ?? null,
      applies: false,
      reasons: waiver === null ? (failure === null ? [] : [failure]) : judgeWaiver(input, waiver),
    };
  });
  const requirements = input.policy.require.map((_, index) =>
    judgeRequirement(input, index, offers, waivers),
  );
  const result = worstResult(requirements.map((requirement) => requirement.result));
  const used = explainWaivers(waivers, requirements);
  return gateDecisionSchema.parse({
    schemaVersion: 1,
    decidedAt: input.decidedAt,
    harness: input.harness,
    policy: input.source,
    head: input.head,
    base: input.base,
    result,
    exitCode: exitOf(result, requirements),
    reasons: [
      ...waivedReason(requirements),
      ...fromDisk(input),
      ...expiredTrust(input),
      ...unanswered(input),
    ],
    requirements,
    evidence: offers.map(toOfferedRun),
    waivers: used,
  });
}

/** Of several refusals the code of the worst requirement, by the order of exit codes. */
function exitOf(result: GateResult, requirements: readonly RequirementResult[]): number {
  if (result !== 'refused') return EXITS[result];
  const codes = requirements.filter((one) => one.result === 'refused').map(({ exitCode }) => exitCode);
  const order = [EXIT.parity, EXIT.unmatched, EXIT.notMeasured, EXIT.infrastructure];
  return order.find((code) => codes.includes(code)) ?? EXIT.unmatched;
}

function judgeRequirement(
  input: GateInput,
  index: number,
  offers: readonly Offer[],
  waivers: readonly OfferedWaiver[],
): RequirementResult {
  const { requirement, matrix: asked } = requiredAt(input, index);
  const { matrix, machine } = requirement;
  const runs = offers.flatMap(({ counting, fits }) =>
    counting !== null && fits[index] === true ? [counting] : [],
  );
  const cells = sortCells(worstCells(runs, requirement).map((cell) => waive(cell, matrix, waivers)));
  const whole = runs.filter(({ isOnlyAgainst }) => !isOnlyAgainst);
  const sessions = whole.flatMap((counting) => sessionRefusal(counting, requirement));
  const measured = worstResult([
    ...cells.map((cell) => cell.result),
    ...sessions.map(({ verdict }) => gateResultOf(verdict)),
  ]);
  const told = sessions.flatMap(({ reasons }) => reasons);
  const lacking = lackOf(requirement, index, offers, cells);
  // What failed or was refused stays so, however many machines are still to speak.
  const isLacking = lacking !== null && !['fail', 'refused'].includes(measured);
  const result = isLacking ? lacking.result : measured;
  const verdicts = [...cells.map(({ verdict }) => verdict), ...sessions.map(({ verdict }) => verdict)];
  return {
    matrix,
    machine,
    result,
    exitCode: result === 'refused' ? exitCodeOf(worstOf(verdicts)) : EXITS[result],
    reasons: [...(lacking?.reasons ?? []), ...told, ...otherCells(runs, cells)],
    evidence: runs.map((counting) => counting.index),
    cells,
    next: nextStepOf({ requirement, matrix: asked, result, cells, lack: lacking }, input),
  };
}

/** Cells that the requirement does not protect decide nothing, and are told when they failed. */
function otherCells(runs: readonly CountingRun[], cells: readonly GateCell[]): Reason[] {
  const failed = runs.flatMap(({ run }) => run.verdict.cells.filter(({ verdict }) => verdict === 'fail'));
  const others = new Set(failed.map(({ id }) => id).filter((id) => !cells.some((cell) => cell.id === id)));
  return others.size === 0 ? [] : [reason(OTHER_CELLS, `other cells failed: ${[...others].join(', ')}`)];
}

/** What a run came to beyond its protected cells: a session that broke off is worse than each of its cells. */
function sessionRefusal(
  { run }: CountingRun,
  requirement: Requirement,
): { verdict: VerdictName; reasons: Reason[] }[] {
  const { result, reasons } = run.verdict;
  const required = run.verdict.cells.filter(({ required: isRequired }) => isRequired);
  const explained = worstOf([...required, ...protectedCells(run, requirement)].map(({ verdict }) => verdict));
  return worstOf([result, explained]) === explained ? [] : [{ verdict: result, reasons }];
}

/** Only what was measured and proved can be waived: a refusal is no number that somebody could accept. */
const WAIVABLE: readonly GateResult[] = ['fail', 'inconclusive'];

function waive(cell: GateCell, matrix: string, waivers: readonly OfferedWaiver[]): GateCell {
  if (!WAIVABLE.includes(cell.result)) return cell;
  const waiver = waivers.findIndex(
    (one) => one.reasons.length === 0 && one.matrix === matrix && one.cell === cell.id,
  );
  return waiver < 0 ? cell : { ...cell, result: 'waived', waiver };
}

/** Which waivers are used, and of each other one why not. */
function explainWaivers(
  waivers: readonly OfferedWaiver[],
  requirements: readonly RequirementResult[],
): OfferedWaiver[] {
  const cells = requirements.flatMap((requirement) =>
    requirement.cells.map((cell) => ({ ...cell, matrix: requirement.matrix })),
  );
  return waivers.map((waiver, index) => {
    if (cells.some((cell) => cell.waiver === index)) return { ...waiver, applies: true };
    if (waiver.reasons.length > 0) return waiver;
    const named = cells.filter(({ id, matrix }) => id === waiver.cell && matrix === waiver.matrix);
    const refused = named.find(({ result }) => result === 'refused');
    const why =
      refused !== undefined
        ? reason('refusal', `${refused.id} is ${refused.verdict}, which no waiver reaches`)
        : named.length > 0
          ? reason('not-needed', `${waiver.cell} passes or is waived without it`)
          : reason('other-cell', `no protected cell ${waiver.cell} of ${waiver.matrix} has evidence`);
    return { ...waiver, reasons: [why] };
  });
}

function waivedReason(requirements: readonly RequirementResult[]): Reason[] {
  const cells = requirements.flatMap(({ matrix, machine, cells: own }) =>
    own.filter(({ result }) => result === 'waived').map(({ id }) => `${id} of ${matrix} on ${machine}`),
  );
  return cells.length === 0 ? [] : [reason('waived', `not passed but waived: ${cells.join(', ')}`)];
}

/** Who issued a question and got no answer, or got one that was not offered here, knows that something may have been held back. */
function unanswered({ challenges, runs }: GateInput): Reason[] {
  const answered = new Set(
    runs.flatMap(({ run }) => (run?.plan.challenge === undefined ? [] : [challengeSeed(run.plan.challenge)])),
  );
  return challenges
    .filter(({ challenge }) => !answered.has(challengeSeed(challenge)))
    .map(({ challenge: { head, matrix, issuedAt } }) =>
      reason(
        'unanswered',
        `no run answers the challenge of ${issuedAt} for ${short(head)} and ${matrix.name}: what it came to is not known`,
      ),
    );
}

/** Told also where no run is offered that it could speak against. */
function expiredTrust({ trust: { expires }, source, decidedAt }: GateInput): Reason[] {
  if (expires === undefined || Date.parse(decidedAt) <= Date.parse(expires)) return [];
  const message = `the trust policy ${source.trust} expired at ${expires}: no run and no waiver counts until it is renewed`;
  return [reason('policy-expired', message)];
}

function fromDisk({ source }: GateInput): Reason[] {
  if (source.commit !== null) return [];
  const message =
    'policy and trust were read from files on disk, not from the base revision: whoever wrote those files wrote the rules';
  return [reason('policy-from-disk', message)];
}
