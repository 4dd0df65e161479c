/**
 * Replays what was said to engines: every request in the evidence carries the prompt of the plan, and every number of
 * the journal stands in the engine's own answer. The bodies are read by the code that read them live.
 */
import { isDeepStrictEqual } from 'node:util';
import { completionBody, readCompletion, readProps } from '../engine/dialect.js';
import { QualifyError } from '../errors.js';
import type { Answer, Entry, EntryOf } from '../journal/entries.js';
import { askedProbabilities } from '../plan/asked-probabilities.js';
import { findPrompt } from '../plan/find-prompt.js';
import { generatedTokens } from '../plan/generated-tokens.js';
import { promptDigest, promptTokens } from '../plan/prompts.js';
import type { Plan, Prompt } from '../plan/schema.js';
import type { EvidenceIndex } from './evidence-index.js';
import { invalid } from './invalid.js';
import { replayEvidence } from './replay-evidence.js';
import { JOURNAL_FILE } from './run-folder.js';

/** Bytes of a listed file, checked against the index as they are read. */
type Read = (path: string) => Promise<Buffer>;

/** A request as the plan and the purpose determine it, without the prompt. */
type Asked = Omit<Parameters<typeof completionBody>[0], 'tokens'>;

/** Body of a request for a prompt in a launch. */
type BodyOf = (prompt: Prompt, launch: string, asked: Asked) => string;

/** Checks every exchange of the journal. Returns how many there were. Throws a `QualifyError` (exit `invalid`). */
export async function replayExchanges(
  plan: Plan,
  entries: readonly Entry[],
  index: EvidenceIndex,
  read: Read,
): Promise<number> {
  replayEvidence(entries, index);
  const bodyOf = memoizeBodies(plan);
  const ready = new Map<string, EntryOf<'ready'>>();
  let exchanges = 0;
  for (const entry of entries) {
    if (entry.kind === 'ready') {
      await checkProps(entry, read);
      ready.set(entry.launch, entry);
    }
    if (entry.kind === 'counters') await checkCounters(entry, ready.get(entry.launch), read);
    for (const { answer, body } of exchangesOf(plan, entry, bodyOf)) {
      await checkExchange(entry, answer, body, read);
      exchanges += 1;
    }
  }
  return exchanges;
}

function exchangesOf(plan: Plan, entry: Entry, bodyOf: BodyOf): { answer: Answer; body: string }[] {
  if (entry.kind !== 'sample' && entry.kind !== 'control') return [];
  const prompt = findPrompt(plan, entry.prompt);
  const cell = plan.cells.find((candidate) => candidate.id === prompt?.cell);
  const purpose = entry.kind === 'sample' ? entry.purpose : 'control';
  const planned =
    prompt?.kind === purpose && promptDigest(plan, prompt.id, entry.launch) === entry.promptSha256;
  if (!prompt || !cell || !planned) {
    throw wrong(
      entry,
      `names the prompt ${JSON.stringify(entry.prompt)}, which the plan does not have for a ${purpose}`,
    );
  }
  if (entry.kind === 'sample' && (entry.cell !== cell.id || entry.index !== prompt.index)) {
    throw wrong(entry, `uses the prompt ${prompt.id} for ${entry.cell}, number ${entry.index}`);
  }
  const asked = {
    chunk: cell.chunk,
    generatedTokens: generatedTokens(plan, cell, purpose),
    probabilities: askedProbabilities(plan),
  };
  const body = bodyOf(prompt, entry.launch, { ...asked, reuseCache: entry.kind === 'control' });
  if (entry.kind === 'sample') return [{ answer: entry.answer, body }];
  return [entry.first, entry.second].map((answer) => ({ answer, body }));
}

async function checkExchange(entry: Entry, answer: Answer, asked: string, read: Read): Promise<void> {
  const { path } = answer.request;
  if ((await read(path)).toString('utf8') !== asked) {
    throw invalid(
      path,
      `does not ask what the plan says at line ${entry.seq + 1} of the journal: prompt, length, chunk or cache differ`,
    );
  }
  const body = (await read(answer.response.path)).toString('utf8');
  const { clientMs: _clock, request: _request, response: _response, ...recorded } = answer;
  const said = readLive(answer.response.path, () => readCompletion(body));
  const field = firstDifference(recorded, said);
  if (field !== null) {
    throw wrong(entry, `says another ${field} than the engine's answer in ${answer.response.path}`);
  }
}

async function checkProps(entry: EntryOf<'ready'>, read: Read): Promise<void> {
  const body = (await read(entry.props.path)).toString('utf8');
  const { witness } = readLive(entry.props.path, () => readProps(body));
  const field = firstDifference(entry.witness, witness);
  if (field !== null)
    throw wrong(entry, `says another ${field} than the engine's /props in ${entry.props.path}`);
}

/** The last `/props` of a launch has the counters of the journal, and is of the process that became ready. */
async function checkCounters(
  entry: EntryOf<'counters'>,
  ready: EntryOf<'ready'> | undefined,
  read: Read,
): Promise<void> {
  const { path } = entry.props;
  const body = (await read(path)).toString('utf8');
  const { counters, witness } = readLive(path, () => readProps(body));
  if (!isDeepStrictEqual(entry.counters, counters))
    throw wrong(entry, `says other counters than the engine's /props in ${path}`);
  if (ready === undefined) throw wrong(entry, 'has counters of a launch that never became ready');
  const field = firstDifference(ready.witness, witness);
  if (field !== null) throw wrong(entry, `rests on ${path}, whose ${field} is not that of the launch`);
}

/** A body that was readable during the session and is not now is a broken file, whatever its digest says. */
function readLive<T>(path: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof QualifyError)
      throw invalid(path, `is not what an engine answers: ${error.message}`, error);
    throw error;
  }
}

/** Name of the first field that differs, or null; one that only one of them has differs. */
function firstDifference<T extends object>(recorded: T, said: T): string | null {
  const [ours, theirs] = [new Map(Object.entries(recorded)), new Map(Object.entries(said))];
  for (const field of new Set([...theirs.keys(), ...ours.keys()])) {
    if (!isDeepStrictEqual(theirs.get(field), ours.get(field))) return field;
  }
  return null;
}

/** The body of a request is the same in each launch, but for warm-ups, which are new in each: it is made once. */
function memoizeBodies(plan: Plan): BodyOf {
  const made = new Map<string, string>();
  return (prompt, launch, asked) => {
    const key = prompt.kind === 'warmup' ? null : `${prompt.id} ${asked.reuseCache}`;
    const known = key === null ? undefined : made.get(key);
    if (known !== undefined) return known;
    const body = completionBody({ ...asked, tokens: [...promptTokens(plan, prompt.id, launch)] });
    if (key !== null) made.set(key, body);
    return body;
  };
}

const wrong = (entry: Entry, why: string): QualifyError =>
  invalid(JOURNAL_FILE, `line ${entry.seq + 1} ${why}`);
