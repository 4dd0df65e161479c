/** What a report says beside the verdict: which builds, which model, which machine, how to check it. */

import { z } from 'zod';
import { counted } from '../counted.js';
import { short } from '../digest.js';
import type { Entry, EntryOf } from '../journal/entries.js';
import { generatedModelText } from '../matrix/generated-model.js';
import { plantedText } from '../matrix/planted.js';
import type { Plan } from '../plan/schema.js';
import { shellPath } from '../shell-word.js';
import { looksText } from './looks.js';
import { simulationText } from './simulated.js';

/** Where a report takes its provenance from: the files of the run folder, so that anyone renders the same bytes. */
export interface ReportContext {
  plan: Plan;
  entries: readonly Entry[];
  /** Parsed `evidence/machine.json`; only what is recognised in it is shown. */
  machine?: unknown;
  /** How the reader finds the run folder; `.qualify/runs/<session>` when absent. */
  runFolder?: string;
  /** Of a run that was verified: SHA-256 of `evidence.sha256`, and the fingerprint of the key that signed. */
  sealed?: { indexSha256: string; signer: string };
}

/** One line of provenance: `label: text`. Text may hold anything an engine or a user wrote; renderers escape it. */
export interface Provenance {
  label: string;
  text: string;
}

const machineSchema = z.object({
  cpu: z.object({ model: z.string(), logical: z.int(), governor: z.string().nullish() }),
  memory: z.object({ totalBytes: z.string().regex(/^\d+$/) }),
  system: z.object({ kernel: z.string(), distribution: z.string().nullish() }),
});

/** The first entry of a kind. */
export const entryOf = <K extends Entry['kind']>(
  entries: readonly Entry[],
  kind: K,
): EntryOf<K> | undefined => entries.find((entry): entry is EntryOf<K> => entry.kind === kind);

function machineText({ machine, entries }: ReportContext): string {
  const id = entryOf(entries, 'session')?.machineId;
  const parsed = machineSchema.safeParse(machine);
  const name = id === undefined ? 'unknown' : `machine ${short(id)}`;
  if (!parsed.success) return name;
  const { cpu, memory, system } = parsed.data;
  const gigabytes = Math.round(Number(memory.totalBytes) / 2 ** 30);
  const os = [system.distribution ?? 'Linux', system.kernel].join(', ');
  return `${cpu.logical} x ${cpu.model}, ${gigabytes} GiB, ${os} (${name})`;
}

function modelText({ plan, entries }: ReportContext): string {
  const name =
    'preset' in plan.model
      ? generatedModelText(plan.model)
      : 'simulated' in plan.model
        ? 'none: simulated'
        : plan.model.path;
  const sha = entryOf(entries, 'model')?.sha256;
  return sha === undefined ? name : `${name}, sha256 ${short(sha)}`;
}

function armText(plan: Plan, entries: readonly Entry[], arm: Plan['arms'][number]): string {
  const build = entries.find(
    (entry): entry is EntryOf<'build'> => entry.kind === 'build' && entry.arms.includes(arm.name),
  );
  const switches = Object.entries(arm.switches).map(([name, value]) => `${name}=${value}`);
  const defaults = arm.engine === 'embedded' ? 'switches at defaults' : '';
  const planted = arm.plantedSlowdownPercent;
  const settings = [
    ...(arm.control === undefined ? [] : [`control ${arm.control}`]),
    ...(planted === undefined ? [] : [plantedText(planted)]),
    [...switches, ...arm.arguments].join(' ') || (plan.arms.length > 1 ? defaults : ''),
  ].filter((text) => text !== '');
  if (build === undefined) return [`${arm.revision} (not built)`, ...settings].join(', ');
  const { requested, commit, tree, dirty } = build.revision;
  const source =
    commit === null ? `tree ${short(tree)}${dirty ? ', dirty: not a commit' : ''}` : `commit ${commit}`;
  const again = requested.startsWith('prebuilt:') ? ', a copy elsewhere' : ', built once more elsewhere';
  const place = build.elsewhere ? again : '';
  return [`${requested} (${source})`, `binary ${short(build.binarySha256)}${place}`, ...settings].join(', ');
}

/** One line an arm; of an ablation the reference, and which switches the others turn. */
function armLines(plan: Plan, entries: readonly Entry[]): Provenance[] {
  const { design } = plan;
  const rows = new Map((design?.rows.slice(1) ?? []).map(({ arm, levels }) => [arm, levels]));
  const lines = plan.arms
    .filter(({ name }) => !rows.has(name))
    .map((arm) => ({ label: `arm ${arm.name}`, text: armText(plan, entries, arm) }));
  if (design === undefined) return lines;
  const factors = design.factors.map(({ switch: name, low, high }) => `${name}=${low},${high}`);
  const levels = [...rows].map(([arm, own]) => `${arm} ${own}`);
  return [
    ...lines,
    { label: 'switches', text: `${factors.join(' ')} (off,on)` },
    { label: 'other arms', text: `one letter a switch: ${levels.join(', ')}` },
  ];
}

/** The threads and instruction set that the launches report, once each. */
function engineText(entries: readonly Entry[]): string {
  const ready = entries.filter((entry): entry is EntryOf<'ready'> => entry.kind === 'ready');
  const texts = ready.map(({ witness }) => `${counted(witness.threads, 'thread')}, ${witness.isa}`);
  return [...new Set(texts)].join('; ') || 'never ready';
}

/** What the launches' telemetry saw at its worst; null where no launch was watched. */
function telemetryText(entries: readonly Entry[]): string | null {
  const seen = entries.filter((entry): entry is EntryOf<'telemetry'> => entry.kind === 'telemetry');
  if (seen.length === 0) return null;
  const clocks = seen.flatMap(({ clockMhz }) => clockMhz ?? []);
  const degrees = seen.flatMap(({ highestC }) => highestC ?? []);
  const most = (values: readonly number[]): number => Math.max(...values);
  const readings = seen.reduce((sum, { samples }) => sum + samples, 0);
  return [
    counted(readings, 'reading'),
    `telemetry used at most ${(100 * most(seen.map(({ costShare }) => costShare))).toFixed(2)} % of the CPU time`,
    clocks.length === 0
      ? 'clock unknown'
      : `clock ${Math.round(Math.min(...clocks.map(({ low }) => low)))} to ${Math.round(most(clocks.map(({ high }) => high)))} MHz`,
    ...(degrees.length === 0 ? [] : [`at most ${Math.round(most(degrees))} degrees Celsius`]),
  ].join(', ');
}

function protocolText({ protocol, decision, design, rounds }: Plan): string {
  const clock = `${protocol.clock === 'cpu' ? 'CPU' : 'wall'} time`;
  const samples = `warm-ups ${protocol.warmups}, samples ${protocol.samples} a cell and launch`;
  if (design !== undefined) return `${samples}, ${counted(rounds.length, 'round')} to the end, ${clock}`;
  return [
    samples,
    looksText(decision.looks),
    `${clock} decides`,
    `${decision.interval} bounds at one-sided ${decision.levelPerLook}`,
  ].join(', ');
}

/** That a run answers a challenge; that it was issued, no run can say of itself. */
function challengeLine({ challenge }: Plan): Provenance[] {
  if (challenge === undefined) return [];
  const { repository, pullRequest, head, base, issuedAt, expiresAt } = challenge;
  const change = `${repository}${pullRequest === null ? '' : `#${pullRequest}`}`;
  const text =
    `a challenge for ${change}, head ${short(head)} and base ${short(base)}, issued ${issuedAt}, expires ${expiresAt}; ` +
    'whoever issued it confirms that: qualify verify RUN --challenge FILE';
  return [{ label: 'answers', text }];
}

function simulationLine(plan: Plan): Provenance[] {
  const text = simulationText(plan);
  return text === null ? [] : [{ label: 'simulated', text }];
}

/** Every line that belongs under a table of rates. */
export function provenanceOf(context: ReportContext): Provenance[] {
  const { plan, entries } = context;
  const session = entryOf(entries, 'session');
  const watched = telemetryText(entries);
  return [
    {
      label: 'session',
      text: session === undefined ? plan.session : `${plan.session}, ${session.startedAt}`,
    },
    ...challengeLine(plan),
    { label: 'machine', text: machineText(context) },
    ...(watched === null ? [] : [{ label: 'watched', text: watched }]),
    { label: 'engine', text: engineText(entries) },
    { label: 'model', text: modelText(context) },
    ...armLines(plan, entries),
    { label: 'protocol', text: protocolText(plan) },
    ...simulationLine(plan),
    {
      label: 'manifest',
      text: 'qualification.intoto.jsonl in the run folder signs plan, journal, verdict and report',
    },
    { label: 'matrix', text: `${plan.matrix.name}, sha256 ${short(plan.matrix.digest)}` },
  ];
}

/** The command that checks the run. */
export const verifyCommand = ({ plan, runFolder }: ReportContext): string =>
  `qualify verify ${shellPath(runFolder ?? `.qualify/runs/${plan.session}`)}`;
