/** How the answer of a verification reads: for people, and for programs. */
import type { Summary } from '../manifest/verification-summary.js';
import type { Check, Verification } from '../manifest/verify.js';
import type { TrustedVerification } from '../manifest/verify-trusted.js';
import { wrap } from '../report/wrap.js';
import { describeAnswer } from './describe-answer.js';

/** What was asked for, as far as the answer depends on it. */
interface Shown {
  explain?: true;
  /** The file that the summary was written to. */
  attest?: string;
  /** The file of the challenge that the run must answer. */
  challenge?: string;
}

/** A run that holds; `trust` is there when a policy judged its signer. */
export type Verified = Verification & Partial<Pick<TrustedVerification, 'trust'>>;

const COLUMNS = 80;
const INDENT = 13;

/** `  name       what was found`, in lines of 80 columns. */
function explained(name: string, found: string): string {
  const lines = wrap(found, COLUMNS - INDENT);
  return lines.map((line, at) => `  ${(at === 0 ? name : '').padEnd(INDENT - 3)} ${line}\n`).join('');
}

/** What is said of a run that holds. */
export function toText(run: string, verified: Verified, summary: Summary | null, options: Shown): string {
  const { signer, statement, checks } = verified;
  const { predicate } = statement;
  return [
    `verified ${run}\n`,
    ...(options.explain ? checks.map(({ name, found }) => explained(name, found)) : []),
    ...(options.explain && !verified.trust
      ? [explained('trust', 'not judged: --trust FILE holds the signer to a trust policy')]
      : []),
    `  signed by  ${signer.key.keyId} (${describeTrust(signer)})\n`,
    `  session    ${predicate.session}, matrix ${predicate.matrix.name}, begun ${predicate.startedAt}\n`,
    ...(predicate.challenge ? [explained('answers', describeAnswer(predicate.challenge, options))] : []),
    ...(predicate.simulation ? ['  SIMULATED  nothing was measured: every rate is made up\n'] : []),
    ...plantedOf(statement).map((text) => `  PLANTED    ${text}\n`),
    `  verdict    ${predicate.result} (exit code ${predicate.exitCode})\n`,
    ...predicate.cells.map((cell) => `    ${cell.id}  ${cell.verdict}\n`),
    ...(summary
      ? [
          `  attested   ${summary.predicate.verificationResult} at ${summary.predicate.timeVerified}, in ${options.attest}\n`,
        ]
      : []),
    ...(options.explain ? [explained('believed', BELIEVED)] : []),
  ].join('');
}

/** Of a run that does not hold, or whose signer is not trusted: what it stood up to before. What failed is told as the error. */
export const toFailedText = (run: string, checks: readonly Check[]): string =>
  [
    `NOT verified ${run}\n`,
    ...checks.map(({ name, found }) => explained(name, found)),
    explained(
      checks.length === 0 ? 'no check' : 'then',
      `${checks.length === 0 ? 'was passed' : 'it failed'}: see the error`,
    ),
  ].join('');

/** What no check can find, in one line, and where the rest of it is. */
const BELIEVED =
  "the signer's word, since nothing in the folder can contradict it: what else ran on the machine, its clock and logs, that the " +
  'binary is of that commit and gave the answers, and that no run was thrown away. See "What a manifest does not prove" in ' +
  'docs/manifest.md';

/** Why the key of a run is believed, or that nobody vouches for it. */
export function describeTrust({ trust, name }: Verification['signer']): string {
  switch (trust) {
    case 'asked':
      return 'the key you asked for';
    case 'policy':
      return 'trusted by the policy you gave';
    case 'own':
      return `your own key "${name}"`;
    case 'trusted':
      return `your trusted key "${name}"`;
    case 'unknown':
      return 'UNKNOWN SIGNER: not in your trusted keys; anybody can make a key. Check with --key';
  }
}

/** The same for programs. */
export function toJson(run: string, verified: Verified, summary: Summary | null, options: Shown): object {
  const { signer, statement, checks, trust } = verified;
  const { challenge } = statement.predicate;
  return {
    schemaVersion: 1,
    verified: true,
    run,
    signer: { keyId: signer.key.keyId, trust: signer.trust, name: signer.name },
    challenge:
      challenge === undefined ? null : { nonce: challenge.nonce, confirmed: options.challenge !== undefined },
    trust: trust ? { policy: trust.path, sha256: trust.sha256, role: trust.role, entry: trust.entry } : null,
    attested: summary ? { file: options.attest, result: summary.predicate.verificationResult } : null,
    checks,
    statement,
  };
}

/** A line for each arm that was slowed down on purpose. */
const plantedOf = ({ predicate }: Verification['statement']): string[] =>
  predicate.arms.flatMap(({ name, plantedSlowdownPercent: percent }) =>
    percent === undefined
      ? []
      : [`arm ${name} was slowed down by ${percent} % on purpose: this is no qualification`],
  );
