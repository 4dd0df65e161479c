/** The evidence and the journal name each other: no file serves twice, and none lies there that no entry rests on. */
import { lostLaunches, standingEntries } from '../analysis/lost-launches.js';
import type { Entry, Evidence } from '../journal/entries.js';
import type { EvidenceIndex } from './evidence-index.js';
import { invalid } from './invalid.js';
import { invalidLine } from './invalid-line.js';
import { JOURNAL_FILE, PLAN_FILE, REPORT_FILE, VERDICT_FILE } from './run-folder.js';

/** All that is signed beside the evidence. */
const CONCLUSIONS: ReadonlySet<string> = new Set([PLAN_FILE, JOURNAL_FILE, VERDICT_FILE, REPORT_FILE]);

/** What an engine was asked, or wrote, in a launch that broke before the journal could say so. */
const BROKEN_OFF =
  /^evidence\/(?:launches\/([^/]+?)(?:\.telemetry\.jsonl|\.log)|(?:requests|responses)\/([^/]+)\/.+)$/;

/** Every file that an entry rests on. */
export function evidenceOf(entry: Entry): Evidence[] {
  switch (entry.kind) {
    case 'session':
      return [entry.machine];
    case 'build':
    case 'stop':
    case 'telemetry':
      return [entry.log];
    case 'ready':
    case 'counters':
      return [entry.props];
    case 'sample':
      return [entry.answer.request, entry.answer.response];
    case 'control':
      return [entry.first.request, entry.first.response, entry.second.request, entry.second.response];
    default:
      return [];
  }
}

/** Throws a `QualifyError` (exit `invalid`) at a file that is missing, other than named, used twice, or not used. */
export function replayEvidence(entries: readonly Entry[], index: EvidenceIndex): void {
  const users = new Map<string, Entry>();
  for (const entry of entries) {
    for (const { path, sha256 } of evidenceOf(entry)) {
      const listed = index.get(path);
      if (listed === undefined || !path.startsWith('evidence/'))
        throw wrong(entry, path, ', which is not in the evidence');
      if (listed !== sha256)
        throw wrong(entry, path, ` with the SHA-256 ${sha256}, but the file has ${listed}`);
      const user = users.get(path);
      if (user !== undefined && !isSameBuild(user, entry))
        throw wrong(entry, path, `, on which line ${user.seq + 1} rests already`);
      users.set(path, entry);
    }
  }
  const isLeftOver = leftOvers(entries);
  const isOfLost = leftOfLost(entries, index);
  const conclusions = [...CONCLUSIONS].filter((path) => index.has(path));
  // What is used is in the index: where that is all, as in most runs, nobody need look for each file once more.
  if (users.size + conclusions.length === index.size) return;
  for (const path of index.keys()) {
    if (!path.startsWith('evidence/') && !CONCLUSIONS.has(path))
      throw invalid(path, 'is no file of a run: what nothing rests on is not believed to be part of it');
    if (path.startsWith('evidence/') && !users.has(path) && !isOfLost(path) && !isLeftOver(path))
      throw invalid(path, 'lies in the evidence, but nothing in the journal rests on it');
  }
}

const wrong = (entry: Entry, path: string, why: string): Error =>
  invalidLine(entry, `rests on ${path}${why}`);

/** Two revisions of one source tree share a build, and may share its log. */
const isSameBuild = (a: Entry, b: Entry): boolean =>
  a.kind === 'build' && b.kind === 'build' && a.buildDigest === b.buildDigest;

/** What a launch writes below `evidence/launches/` beside its name. */
export const KIND_OF_FILE = /^\.[a-z][a-z.-]*$/;

/** Whether a file was written in a launch. */
function isOfLaunch(path: string, launch: string): boolean {
  const [, folder, rest = ''] = /^evidence\/(launches|requests|responses)\/(.+)$/.exec(path) ?? [];
  if (folder !== 'launches') return folder !== undefined && rest.startsWith(`${launch}/`);
  return rest.startsWith(launch) && KIND_OF_FILE.test(rest.slice(launch.length));
}

/**
 * Tells whether a file is of a launch that was lost, which may have written what the journal came not to say. Each of them wrote
 * something: a launch that nothing shows did not begin. Throws a `QualifyError` (exit `invalid`) otherwise.
 */
function leftOfLost(entries: readonly Entry[], index: EvidenceIndex): (path: string) => boolean {
  const lost = lostLaunches(entries).map(({ launch }) => launch);
  const own = new Set<string>();
  for (const launch of lost) {
    const files = [...index.keys()].filter((path) => isOfLaunch(path, launch));
    if (files.length === 0)
      throw invalid(JOURNAL_FILE, `says that ${launch} was lost, of which there is no evidence`);
    for (const path of files) own.add(path);
  }
  return (path) => own.has(path);
}

/** Tells whether a file may be left over from the one launch at which the session broke. */
function leftOvers(entries: readonly Entry[]): (path: string) => boolean {
  const failure = standingEntries(entries).find((entry) => entry.kind === 'failure');
  if (failure === undefined) return () => false;
  const launches = new Set(entries.flatMap((entry) => (entry.kind === 'launch' ? [entry.launch] : [])));
  // A launch that never became ready has no entry, so its name is the one that only its files have.
  let broken = failure.launch;
  return (path) => {
    const [, log, exchange] = BROKEN_OFF.exec(path) ?? [];
    const launch = log ?? exchange;
    if (launch === undefined) return false;
    if (broken === null && !launches.has(launch)) broken = launch;
    return launch === broken;
  };
}
