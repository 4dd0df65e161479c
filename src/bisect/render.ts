/** A bisection as people read it: 80 columns, nothing that could steer the terminal. */
import { counted } from '../counted.js';
import { short } from '../digest.js';
import { duration } from '../report/duration.js';
import { plainText } from '../report/escape.js';
import { labelled, wrap } from '../report/wrap.js';
import { signedPercent } from '../verdict/percent.js';
import type { Bisection, Tried } from './result.js';

const width = 80;

const named = ({ commit, subject }: { commit: string; subject: string }): string =>
  `${short(commit)} "${subject}"`;

function effectText({ effect }: Tried): string {
  if (effect === null) return '';
  const ratio = (percent: number): string => signedPercent(1 + percent / 100);
  const { deltaPercent, lowerPercent, upperPercent } = effect;
  const bounds =
    lowerPercent === null || upperPercent === null
      ? ''
      : ` (${ratio(lowerPercent)} to ${ratio(upperPercent)})`;
  return ` ${ratio(deltaPercent)}${bounds}`;
}

const GO_ON = 'The same command again goes on from here.';

/** What it came to, in sentences. */
function answerOf(bisection: Bisection): string[] {
  const { result, culprit, confirmation, range, tried, bad, good, mergeBase, failure, marginPercent } =
    bisection;
  const [end] = tried;
  const reason = end?.reason == null ? '' : `: ${end.reason}`;
  const merge =
    culprit !== null && culprit.parents.length > 1
      ? [
          `It is a merge: what it brought is slower only together, or the merge itself changed the engine. It was set against its first parent.`,
        ]
      : [];
  switch (result) {
    case 'confirmed':
      return [
        `The culprit is ${named(culprit ?? { commit: '?', subject: '' })}.`,
        `Confirmed: against its parent ${short(confirmation?.base ?? '')} it is slower beyond the budget of ${marginPercent} %,${effectText(confirmation ?? (end as Tried))}.`,
        ...merge,
      ];
    case 'not-confirmed':
      return [
        `The first commit that is slower than GOOD beyond the budget is ${named(culprit ?? { commit: '?', subject: '' })}.`,
        `Not confirmed: against its parent ${short(confirmation?.base ?? '')} it is ${confirmation?.outcome} (${confirmation?.word}),${confirmation === null ? '' : effectText(confirmation)}. Is it gradual? Then many commits add up, and this one only crosses the budget.`,
        ...merge,
      ];
    case 'range':
      return [
        `The culprit is one of these ${counted(range?.length ?? 0, 'commit')}; those that could tell them apart cannot be measured:`,
        ...(range ?? []).map(short),
      ];
    case 'older':
      return [
        `GOOD is no ancestor of BAD, and where they part (${short(mergeBase ?? '')}) is slower than GOOD already.`,
        "So what makes BAD slower is not on its way: GOOD has something faster that BAD never had. Bisect from GOOD's side, or give an ancestor of BAD as GOOD.",
      ];
    case 'no-slowdown':
      return [
        `There is nothing to find: BAD (${short(bad)}) passes against GOOD (${short(good)}),${end ? effectText(end) : ''}; the budget is ${marginPercent} %.`,
      ];
    case 'undecided':
      return [
        `It is not shown that BAD is slower: inconclusive after two sessions${end ? `,${effectText(end)}` : ''}${reason}. More rounds (--rounds) or a quieter machine would tell.`,
      ];
    case 'refused':
      return [`BAD cannot be measured against GOOD: ${end?.word}${reason}.`];
    case 'interrupted':
      if (tried.length === 0)
        return [
          'Interrupted before the first session came to its end: it is not even known that BAD is slower than GOOD.',
          GO_ON,
        ];
      return ['Interrupted. What was found until then:', ...found(bisection), GO_ON];
    case 'broken':
      return [
        `Ended early: ${failure?.message ?? ''} [${failure?.code ?? ''}]. What was found until then:`,
        ...found(bisection),
        GO_ON,
      ];
    case 'running':
      return ['Under way.'];
  }
}

/** Between which commits the culprit is, as far as is known. */
function found({ tried, good, bad, culprit }: Bisection): string[] {
  if (culprit !== null) return [`${named(culprit)} is the first bad commit; it was not confirmed.`];
  if (tried[0]?.outcome !== 'bad') return ['nothing: it is not even known that BAD is slower than GOOD.'];
  const last = (outcome: Tried['outcome']): string | undefined =>
    tried.findLast((one) => one.outcome === outcome)?.commit;
  return [`it is after ${short(last('good') ?? good)}, and not after ${short(last('bad') ?? bad)}.`];
}

function triedText(tried: Tried, { good, bad }: Bisection): string[] {
  const { commit, outcome, word, sameAs, subject, reason, runs } = tried;
  const end = commit === bad ? ' BAD' : commit === good ? ' GOOD' : '';
  const how = sameAs === null ? `${word}${effectText(tried)}` : `the same engine as ${short(sameAs)}`;
  const why = reason === null || outcome === 'good' || outcome === 'bad' ? '' : `; ${reason}`;
  return [
    ...labelled(`${short(commit)}`, plainText(`${outcome.padEnd(9)} ${how}${why}`), 14, width),
    ...labelled('', plainText(`${subject}${end}`), 24, width),
    ...(runs.length === 0 ? [] : labelled('', plainText(runs.join(', ')), 24, width)),
  ];
}

/** The text, ending without a line feed. `folder` is where the run folders are, as the user would name it. */
export function renderBisection(bisection: Bisection, folder: string): string {
  const {
    matrix,
    cell,
    good,
    bad,
    commits,
    mergeBase,
    firstParent,
    tried,
    confirmation,
    reused,
    seconds,
    waitedSeconds,
  } = bisection;
  const waited = waitedSeconds < 1 ? '' : ` (${duration(waitedSeconds)} of it waiting for the machine)`;
  const sessions = [...tried, ...(confirmation === null ? [] : [confirmation])].flatMap(({ runs }) => runs);
  const known =
    reused === undefined ? '' : ` (${reused.length} of them from before an interruption, verified)`;
  const scope = `${matrix.name}, cell ${cell}: GOOD ${short(good)}, BAD ${short(bad)}, ${counted(commits, 'commit')} between that change the engine${firstParent ? ' (first parents only)' : ''}`;
  const part = mergeBase === null ? [] : [`GOOD is no ancestor of BAD; they part at ${short(mergeBase)}.`];
  const parts = [
    answerOf(bisection).flatMap((line) => wrap(plainText(line), width)),
    [scope, ...part].flatMap((line) => wrap(plainText(line), width)),
    tried.length === 0
      ? []
      : ['against GOOD, in the order tried', ...tried.flatMap((one) => triedText(one, bisection))],
    confirmation === null
      ? []
      : [`against its parent ${short(confirmation.base)}`, ...triedText(confirmation, bisection)],
    wrap(
      plainText(
        `${duration(seconds)}${waited}, ${counted(sessions.length, 'session')}${known}; run folders and bisect.json in ${folder}`,
      ),
      width,
    ),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}
