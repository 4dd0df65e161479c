/**
 * Replays what was said to engines: every request in the evidence carries the prompt of the plan, and every number of
 * the journal stands in the engine's own answer. The bodies are read by the code that read them live.
 */
import { isDeepStrictEqual } from 'node:util';
import { sha256 } from '../digest.js';
import { completionBody, readCompletion, readProps } from '../engine/dialect.js';
import { QualifyError } from '../errors.js';
import type { Answer, Entry, EntryOf } from '../journal/entries.js';
import { askedProbabilities } from '../plan/asked-probabilities.js';
import { findPrompt } from '../plan/find-prompt.js';
import { generatedTokens } from '../plan/generated-tokens.js';
import { promptDigest, promptTokens, warmupSalt } from '../plan/prompts.js';
import type { Plan, PlannedCell, Prompt } from '../plan/schema.js';
import type { EvidenceIndex } from './evidence-index.js';
import { invalid } from './invalid.js';
import { invalidLine } from './invalid-line.js';
import { replayEvidence } from './replay-evidence.js';

/** Bytes of a listed file, checked against the index as they are read. */
type Read = (path: string) => Promise<Buffer>;

/** A request as the plan and the purpose determine it, without the prompt. */
type Asked = Omit<Parameters<typeof completionBody>[0], 'tokens'>;

/** SHA-256 of the body of a request for a prompt in a launch. */
type BodyDigestOf = (prompt: Prompt, launch: string, asked: Asked) => string;

/** Checks every exchange of the journal. Returns how many there were. Throws a `QualifyError` (exit `invalid`). */
export async function replayExchanges(
  plan: Plan,
  entries: readonly Entry[],
  index: EvidenceIndex,
  read: Read,
): Promise<number> {
  replayEvidence(entries, index);
  const cells = new Map(plan.cells.toReversed().map((cell) => [cell.id, cell]));
  const bodyDigestOf = memoizeBodies(plan);
  const ready = new Map<string, EntryOf<'ready'>>();
  let exchanges = 0;
  for (const entry of entries) {
    if (entry.kind === 'ready') {
      await checkProps(entry, read);
      ready.set(entry.launch, entry);
    }
    if (entry.kind === 'counters') await checkCounters(entry, ready.get(entry.launch), read);
    if (entry.kind !== 'sample' && entry.kind !== 'control') continue;
    const digest = askedBy(plan, cells, entry, bodyDigestOf);
    for (const answer of entry.kind === 'sample' ? [entry.answer] : [entry.first, entry.second]) {
      checkRequest(entry, answer, digest);
      await checkAnswer(entry, answer, read);
      exchanges += 1;
    }
  }
  return exchanges;
}

/** Digest of the body that an entry's requests must have. */
function askedBy(
  plan: Plan,
  cells: ReadonlyMap<string, PlannedCell>,
  entry: EntryOf<'sample'> | EntryOf<'control'>,
  bodyDigestOf: BodyDigestOf,
): string {
  const prompt = findPrompt(plan, entry.prompt);
  const cell = prompt && cells.get(prompt.cell);
  const purpose = entry.kind === 'sample' ? entry.purpose : 'control';
  const planned =
    prompt?.kind === purpose && promptDigest(plan, prompt.id, entry.launch) === entry.promptSha256;
  if (!prompt || !cell || !planned) {
    throw invalidLine(
      entry,
      `names the prompt ${JSON.stringify(entry.prompt)}, which the plan does not have for a ${purpose}`,
    );
  }
  if (entry.kind === 'sample' && (entry.cell !== cell.id || entry.index !== prompt.index)) {
    throw invalidLine(entry, `uses the prompt ${prompt.id} for ${entry.cell}, number ${entry.index}`);
  }
  return bodyDigestOf(prompt, entry.launch, {
    chunk: cell.chunk,
    generatedTokens: generatedTokens(plan, cell, purpose),
    probabilities: askedProbabilities(plan),
    reuseCache: entry.kind === 'control',
  });
}

/** The request has the digest of the very bytes that the plan asks for: `replayEvidence` held it to the index, and the index was held to the files. */
function checkRequest(entry: Entry, { request }: Answer, digest: string): void {
  if (request.sha256 === digest) return;
  throw invalid(
    request.path,
    `does not ask what the plan says at line ${entry.seq + 1} of the journal: prompt, length, chunk or cache differ`,
  );
}

/** What of an answer is not in the engine's own. */
const OF_CLIENT: ReadonlySet<string> = new Set(['clientMs', 'request', 'response']);

async function checkAnswer(entry: Entry, answer: Answer, read: Read): Promise<void> {
  const { path } = answer.response;
  const body = (await read(path)).toString('utf8');
  const said = readLive(path, () => readCompletion(body));
  const field = firstDifference<Partial<Answer>>(answer, said, OF_CLIENT);
  if (field !== null) throw invalidLine(entry, `says another ${field} than the engine's answer in ${path}`);
}

async function checkProps(entry: EntryOf<'ready'>, read: Read): Promise<void> {
  const body = (await read(entry.props.path)).toString('utf8');
  const { witness } = readLive(entry.props.path, () => readProps(body));
  const field = firstDifference(entry.witness, witness);
  if (field !== null)
    throw invalidLine(entry, `says another ${field} than the engine's /props in ${entry.props.path}`);
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
    throw invalidLine(entry, `says other counters than the engine's /props in ${path}`);
  if (ready === undefined) throw invalidLine(entry, 'has counters of a launch that never became ready');
  const field = firstDifference(ready.witness, witness);
  if (field !== null) throw invalidLine(entry, `rests on ${path}, whose ${field} is not that of the launch`);
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

/** Name of the first field that differs, or null; one that only one of them has differs. Those in `apart` are not compared. */
function firstDifference<T extends object>(
  recorded: T,
  said: T,
  apart: ReadonlySet<string> = new Set(),
): string | null {
  const differs = (field: string): boolean => {
    const [ours, theirs] = [own(recorded, field), own(said, field)];
    return !apart.has(field) && !isSameList(theirs, ours) && !isDeepStrictEqual(theirs, ours);
  };
  return Object.keys(said).find(differs) ?? Object.keys(recorded).find(differs) ?? null;
}

/** Whether two values are one value, or lists of the same: told sooner of tokens than by a comparison of everything. */
const isSameList = (a: unknown, b: unknown): boolean =>
  Object.is(a, b) ||
  (Array.isArray(a) &&
    Array.isArray(b) &&
    a.length === b.length &&
    a.every((one, at) => Object.is(one, b[at])));

const own = (from: object, field: string): unknown =>
  Object.hasOwn(from, field) ? from[field as keyof typeof from] : undefined;

/** The body of a request is the same in each launch, but for warm-ups, which have a new salt in each: the rest is spelt once. */
function memoizeBodies(plan: Plan): BodyDigestOf {
  const digests = new Map<string, string>();
  const spelt = new Map<string, { head: string; rest: string }>();
  const bodyOf = (prompt: Prompt, asked: Asked): string =>
    completionBody({ ...asked, tokens: [...promptTokens(plan, prompt.id)] });
  const warmupDigest = (prompt: Prompt, launch: string, asked: Asked): string => {
    const { head, rest } = spelt.get(prompt.id) ?? withoutSalt(bodyOf(prompt, asked), prompt);
    spelt.set(prompt.id, { head, rest });
    return sha256(`${head}${warmupSalt(plan, prompt.id, launch).join(',')}${rest}`);
  };
  return (prompt, launch, asked) => {
    if (prompt.kind === 'warmup') return warmupDigest(prompt, launch, asked);
    const key = `${prompt.id} ${asked.reuseCache}`;
    const digest = digests.get(key) ?? sha256(bodyOf(prompt, asked));
    digests.set(key, digest);
    return digest;
  };
}

/** What stands in a body before the first token, and what from the comma on that ends the salt: no matrix has prompts so short as that. */
function withoutSalt(body: string, { saltTokens }: Prompt): { head: string; rest: string } {
  const begin = body.indexOf('[') + 1;
  let end = begin;
  for (let count = 0; count < saltTokens; count += 1) end = body.indexOf(',', end + 1);
  return { head: body.slice(0, begin), rest: body.slice(end) };
}
