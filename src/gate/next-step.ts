/** What to do about a requirement that does not hold: in one line, and the command for it where there is one. Pure. */
import { short } from '../digest.js';
import type { Matrix } from '../matrix/schema.js';
import { shellWord } from '../shell-word.js';
import type { GateCell, GateResult, NextStep } from './decision.js';
import type { GateInput } from './input.js';
import type { Lack } from './lack.js';
import type { Requirement } from './policy.js';

interface Judged {
  requirement: Requirement;
  matrix: Matrix;
  result: GateResult;
  /** Losing cell first. */
  cells: readonly GateCell[];
  lack: Lack | null;
}

type Input = Pick<GateInput, 'policy' | 'source' | 'trust' | 'head' | 'base' | 'challenges' | 'decidedAt'>;

/** Null where it holds. */
export function nextStepOf(judged: Judged, input: Input): NextStep | null {
  const { requirement, result, cells, lack } = judged;
  const { policy, source, trust, base, decidedAt } = input;
  const again = (what: string): NextStep => ({ what, command: measure(judged, input) });
  const push = 'change the code and push it';
  switch (result) {
    case 'pass':
    case 'waived':
      return null;
    case 'missing':
    case 'invalid':
      if (trust.expires !== undefined && Date.parse(trust.expires) < Date.parse(decidedAt))
        return { what: `give ${source.trust} of ${base.branch} a later "expires"`, command: null };
      return (
        lackingTrust(judged, input) ??
        again(where(requirement, lack?.machines ?? 0, input) + byWhom(judged, input))
      );
    case 'refused':
      if (cells.some(({ verdict }) => verdict === 'parity-failed'))
        return { what: `the outputs differ: ${push}`, command: null };
      if (cells.some(({ reasons }) => reasons.some(({ code }) => code === 'binary-identical')))
        return { what: 'nothing changed in the binary: let an owner merge it (docs/ci.md)', command: null };
      if (!policy.supersede.includes('refused')) return { what: push, command: null };
      return again(`remove what the refusal names, and measure again on ${requirement.machine}`);
    case 'inconclusive':
      if (policy.supersede.includes('inconclusive'))
        return again(`measure again on ${requirement.machine}, in as many rounds or more`);
      return { what: `${push}, or let a maintainer sign`, command: waive(judged, input) };
    case 'fail':
      return { what: `${push}, or let a maintainer sign`, command: waive(judged, input) };
  }
}

function where(requirement: Requirement, machines: number, input: Input): string {
  const { machine } = requirement;
  const place = machines === 0 ? `on ${machine}` : `on another machine of ${machine}, with a key of its own`;
  if (input.policy.challenge !== 'required') return `measure the change ${place}`;
  return toAnswer(requirement, input) === undefined
    ? `answer a challenge for this head (qualify challenge issues it) ${place}`
    : `answer the challenge for this head ${place}`;
}

/** The challenge, of those that were given, whose answer would count if it began now: the last one. */
function toAnswer({ matrix }: Requirement, { challenges, head, source, decidedAt }: Input) {
  return challenges.findLast(
    ({ challenge }) =>
      challenge.head === head.commit &&
      challenge.matrix.name === matrix &&
      challenge.policy === source.sha256 &&
      Date.parse(challenge.expiresAt) > Date.parse(decidedAt),
  );
}

/** A word of a command that people paste; a name that a shell takes for more than words is left for them to fill in. */
const word = (text: string, instead: string): string =>
  /^[\w./][\w .+/@:-]*$/.test(text) ? shellWord(text) : instead;

function measure({ requirement, matrix }: Judged, input: Input): string {
  const { policy, head, base } = input;
  const { file, rounds } = requirement;
  const named = file === undefined ? requirement.matrix : word(file, 'FILE');
  if (policy.challenge === 'required') {
    const challenge = word(toAnswer(requirement, input)?.path ?? '', 'FILE');
    return `qualify pr --challenge ${challenge}${file === undefined ? '' : ` --matrix ${named}`}`;
  }
  // A run may stop at its first look, which has fewer rounds than count here.
  const isShort = (matrix.protocol.looks[0] ?? 0) < rounds;
  const commits = `--base ${short(base.commit)} --head ${short(head.commit)}`;
  return `qualify pr --matrix ${named} ${commits}${isShort ? ` --rounds ${rounds}` : ''}`;
}

function waive({ requirement, result, cells }: Judged, { policy, head }: Input): string {
  const cell = word(cells.find((one) => one.result === result)?.id ?? '', 'CELL');
  const days = Math.min(14, policy.maxWaiverDays);
  const terms = `--reason WHY --expires ${days}d --out waivers/NAME.waiver.json`;
  return `qualify waive --head ${short(head.commit)} --matrix ${requirement.matrix} --cell ${cell} ${terms}`;
}

/** What only the trust policy of the base can give a key that is in it. Nobody is advised to trust a stranger's. */
const TRUST_CODES = ['wrong-role', 'unbound-key'];

/** Why a run does not count where it is nothing but these codes; the first run of which that is so. */
function heldBy(
  codes: readonly string[],
  { requirement, lack }: Judged,
  { policy }: Input,
): string[] | undefined {
  const index = policy.require.indexOf(requirement);
  return (lack?.near ?? [])
    .map(({ against, unfit }) => [...against, ...(unfit[index] ?? [])].map(({ code }) => code))
    .find((own) => own.length > 0 && own.every((code) => codes.includes(code)));
}

/** Where a run would count but that nobody knows its key: measuring with it again would not help either. */
const byWhom = (judged: Judged, input: Input): string =>
  heldBy([...TRUST_CODES, 'unknown-key'], judged, input) === undefined
    ? ''
    : `, with a key that ${input.source.trust} of ${input.base.branch} has`;

/** Where a run would count but for what the trust policy lacks: measuring again would not help. */
function lackingTrust(judged: Judged, input: Input): NextStep | null {
  const { source, base } = input;
  const held = heldBy(TRUST_CODES, judged, input);
  if (held === undefined) return null;
  const bound = held.includes('unbound-key') ? ' --machine ID' : '';
  return {
    what: `merge a ${source.trust} into ${base.branch} that lets the signer's key speak`,
    command: `qualify keys add KEY.pub --role observer${bound} --trust ${word(source.trust, 'FILE')}`,
  };
}
