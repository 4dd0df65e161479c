/**
 * Finds the commit that made a cell slower: `git bisect` says which commit is next, a session against GOOD says how it is. Both ends are
 * proved before anything is searched, and the culprit is confirmed against its parent afterwards. Effects of sessions and of git come in
 * by `Measure` and `startGitBisect`.
 */
import { short } from '../digest.js';
import { QualifyError } from '../errors.js';
import { signedPercent } from '../verdict/percent.js';
import { type GitBisect, type Mark, type Place, startGitBisect } from './git-bisect.js';
import { isWorthAnother, type Judgement } from './outcome.js';
import { findRange, parentsOf, type Range, sourcesOf, subjectOf } from './range.js';
import { BISECT_EXIT, type Bisection, type BisectResult, type Tried } from './result.js';

/** One session: `head` against `base`, into the run folder `run`. */
export interface Asked {
  base: string;
  head: string;
  /** Path from the folder of the bisection. */
  run: string;
  /** More rounds than the matrix has: the session before did not decide. */
  again: 'more-rounds' | 'same' | null;
}

export interface Measured extends Judgement {
  /** Exit code of the session's verdict. */
  exitCode: number;
  /** It was measured before an interruption, and its run verified. */
  reused?: true;
}

/**
 * Runs a session, or answers what is known from one that was run before. Calls `begun` when one begins that can be gone on with.
 * @throws QualifyError when what went wrong is not of the commit: an interruption, a full disk, a machine that is taken.
 */
export type Measure = (asked: Asked, begun: () => void) => Promise<Measured>;

export interface BisectOptions {
  repository: string;
  good: string;
  bad: string;
  firstParent: boolean;
  /** What the result tells of the matrix. */
  about: Pick<Bisection, 'id' | 'startedAt' | 'harness' | 'matrix' | 'cell' | 'marginPercent' | 'rounds'>;
  /** What an interruption left of this bisection; its sessions are there to be reused. */
  before?: Bisection | null;
  measure: Measure;
  /** Keeps what is known so far. */
  save: (bisection: Bisection) => void;
  note: (text: string) => void;
  signal: AbortSignal;
  /** How long its sessions have waited for the machine so far. */
  waitedSeconds?: () => number;
  now?: () => number;
}

interface Known {
  commit: string;
  outcome: Tried['outcome'];
}

const percent = ({ effect }: Judgement): string =>
  effect === null ? '' : `, ${signedPercent(1 + effect.deltaPercent / 100)}`;

const marks: Readonly<Record<Tried['outcome'], Mark>> = {
  good: 'good',
  bad: 'bad',
  undecided: 'skip',
  refused: 'skip',
};

/** A bisection under way. */
class Course {
  readonly #options: BisectOptions;
  readonly #range: Range;
  readonly #now: () => number;
  readonly #begun: number;
  /** By the digest of the engine's sources. */
  readonly #known = new Map<string, Known>();
  #state: Bisection;

  constructor(options: BisectOptions, range: Range) {
    this.#options = options;
    this.#range = range;
    this.#now = options.now ?? (() => performance.now());
    this.#begun = this.#now() - 1000 * (options.before?.seconds ?? 0);
    const { good, bad, mergeBase, commits } = range;
    this.#state = {
      schemaVersion: 1,
      ...options.about,
      ...{ firstParent: options.firstParent, good, bad, mergeBase, commits },
      ...{ result: 'running', exitCode: BISECT_EXIT.running, culprit: null, range: null },
      ...{ tried: [], confirmation: null, failure: null, seconds: 0, waitedSeconds: 0 },
    };
  }

  async run(): Promise<Bisection> {
    try {
      await this.#bisect();
    } catch (error) {
      const interrupted = this.#options.signal.aborted;
      if (!(error instanceof QualifyError)) throw error;
      // Nothing is found that could be told beside it.
      if (this.#state.tried.length === 0 && !interrupted) throw error;
      const { code, message } = error;
      this.#keep({
        result: interrupted ? 'interrupted' : 'broken',
        exitCode: interrupted ? BISECT_EXIT.interrupted : error.exitCode,
        failure: { code, message },
      });
    }
    return this.#state;
  }

  #keep(change: Partial<Bisection>): void {
    const seconds = (this.#now() - this.#begun) / 1000;
    const { before, waitedSeconds: waited } = this.#options;
    const waitedSeconds = (before?.waitedSeconds ?? 0) + (waited?.() ?? 0);
    this.#state = { ...this.#state, ...change, seconds, waitedSeconds };
    this.#options.save(this.#state);
  }

  #end(result: Exclude<BisectResult, 'refused' | 'broken'>, change: Partial<Bisection> = {}): void {
    this.#keep({ ...change, result, exitCode: BISECT_EXIT[result] });
  }

  async #bisect(): Promise<void> {
    const { repository, firstParent } = this.#options;
    const { good } = this.#range;
    this.#known.set(await sourcesOf(repository, good), { commit: good, outcome: 'good' });
    if (!(await this.#isBadEnd())) return;
    const steps = await startGitBisect(repository, this.#range, firstParent);
    try {
      await this.#follow(steps);
    } finally {
      await steps.end();
    }
    if (this.#state.culprit !== null) await this.#confirm(this.#state.culprit);
  }

  /** Whether BAD is what it is called. */
  async #isBadEnd(): Promise<boolean> {
    const { bad, good } = this.#range;
    const { tried, exitCode } = await this.#measure(good, bad, '00-bad');
    this.#keep({ tried: [tried] });
    if (tried.outcome === 'good') this.#end('no-slowdown');
    else if (tried.outcome === 'undecided') this.#end('undecided');
    else if (tried.outcome === 'refused') this.#keep({ result: 'refused', exitCode });
    return tried.outcome === 'bad';
  }

  async #follow(steps: GitBisect): Promise<void> {
    let place: Place = steps.first;
    while (place.kind === 'try') {
      const tried = await this.#try(place.commit, place.stepsLeft);
      this.#keep({ tried: [...this.#state.tried, tried] });
      place = await steps.mark(place.commit, marks[tried.outcome]);
    }
    const { repository } = this.#options;
    if (place.kind === 'range') this.#end('range', { range: place.commits });
    else if (place.kind === 'older') this.#end('older');
    else {
      const { commit } = place;
      const [subject, parents] = [await subjectOf(repository, commit), await parentsOf(repository, commit)];
      this.#keep({ culprit: { commit, subject, parents } });
    }
  }

  /** The outcome of a commit against GOOD, from an earlier session where one measured the same engine. */
  async #try(commit: string, stepsLeft: number | null): Promise<Tried> {
    const { repository, note } = this.#options;
    const known = this.#known.get(await sourcesOf(repository, commit));
    if (known !== undefined) {
      note(`${short(commit)}: ${known.outcome}, the same engine as ${short(known.commit)}`);
      return {
        ...{ commit, subject: await subjectOf(repository, commit), base: this.#range.good },
        ...{ outcome: known.outcome, word: 'same engine', effect: null, reason: null },
        ...{ sameAs: known.commit, runs: [], seconds: 0 },
      };
    }
    if (stepsLeft !== null) note(`next ${short(commit)}, about ${stepsLeft} more after it`);
    const name = `${String(this.#state.tried.length).padStart(2, '0')}-${short(commit)}`;
    return (await this.#measure(this.#range.good, commit, name)).tried;
  }

  /** One session, or two when the first does not decide and another could. */
  async #measure(base: string, head: string, name: string): Promise<{ tried: Tried; exitCode: number }> {
    const { repository, measure, note, signal } = this.#options;
    const begun = this.#now();
    const runs = [name];
    const subject = await subjectOf(repository, head);
    const ask = async (run: string, again: Asked['again']): Promise<Measured> => {
      signal.throwIfAborted();
      const measured = await measure({ base, head, run, again }, () => this.#keep({}));
      if (measured.reused) this.#keep({ reused: [...(this.#state.reused ?? []), run] });
      return measured;
    };
    let last = await ask(name, null);
    if (isWorthAnother(last)) {
      note(`${short(head)}: ${last.word}; once more`);
      runs.push(`${name}-again`);
      last = await ask(`${name}-again`, last.outcome === 'undecided' ? 'more-rounds' : 'same');
    }
    const { exitCode, reused: _known, ...judgement } = last;
    note(`${short(head)}: ${judgement.outcome} (${judgement.word}${percent(judgement)})`);
    if (base === this.#range.good)
      this.#known.set(await sourcesOf(repository, head), { commit: head, outcome: judgement.outcome });
    const seconds = this.#secondsBefore(runs) ?? (this.#now() - begun) / 1000;
    return { tried: { commit: head, subject, base, ...judgement, sameAs: null, runs, seconds }, exitCode };
  }

  /** How long it took to measure what is reused; null where something is measured now. */
  #secondsBefore(runs: readonly string[]): number | null {
    const { before } = this.#options;
    const tried = [...(before?.tried ?? []), ...(before?.confirmation ? [before.confirmation] : [])];
    return tried.find((one) => one.runs.join() === runs.join())?.seconds ?? null;
  }

  async #confirm({ commit, parents: [parent] }: NonNullable<Bisection['culprit']>): Promise<void> {
    if (parent === undefined) throw new Error('a commit after GOOD has a parent');
    this.#options.note(`${short(commit)} against its parent ${short(parent)}, to confirm`);
    const { tried } = await this.#measure(parent, commit, 'confirmation');
    this.#end(tried.outcome === 'bad' ? 'confirmed' : 'not-confirmed', { confirmation: tried });
  }
}

/**
 * Bisects. The answer tells of failures too, once a commit has been tried.
 * @throws QualifyError exit 64 when the two ends leave nothing to search; what ends the first session before it says anything.
 */
export async function bisect(options: BisectOptions): Promise<Bisection> {
  const range = await findRange(options.repository, options.good, options.bad);
  return new Course(options, range).run();
}
