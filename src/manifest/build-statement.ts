/**
 * Makes the statement of a run: a pure function of plan, journal, verdict, machine and evidence index, so that `verify`
 * makes it again and compares bytes.
 */
import type { Entry, EntryOf } from '../journal/entries.js';
import type { Fingerprint } from '../machine/fingerprint.js';
import type { Plan } from '../plan/schema.js';
import type { Verdict } from '../verdict/schema.js';
import { INDEX_FILE } from './evidence-index.js';
import { PREDICATE_TYPE, STATEMENT_TYPE, type Statement } from './statement.js';

/** Everything a statement is made of. */
interface StatementInput {
  plan: Plan;
  planDigest: string;
  entries: readonly Entry[];
  verdict: Verdict;
  machine: Fingerprint;
  /** Digest of `evidence.sha256`, and what the files it lists add up to. */
  evidence: { sha256: string; files: number; bytes: number };
  signer: string;
}

/** The statement of a run. */
export function buildStatement(input: StatementInput): Statement {
  const { plan, entries, verdict } = input;
  const builds = entries.filter((entry) => entry.kind === 'build');
  const session = entries.find((entry) => entry.kind === 'session');
  // A session that was resumed ended before; what it comes to is its last line.
  const last = entries.at(-1);
  const end = last?.kind === 'end' ? last : undefined;
  if (!session) throw new Error('A journal without its first line came to the statement.');
  return {
    _type: STATEMENT_TYPE,
    subject: [
      { name: INDEX_FILE, digest: { sha256: input.evidence.sha256 } },
      ...headSubjects(
        plan.arms.filter(({ control }) => control !== 'null').map((arm) => arm.name),
        builds,
      ),
    ],
    predicateType: PREDICATE_TYPE,
    predicate: {
      schemaVersion: 1,
      session: plan.session,
      signer: input.signer,
      startedAt: session.startedAt,
      finishedAt: end?.finishedAt ?? null,
      complete: end?.complete ?? false,
      harness: session.harness,
      matrix: { ...plan.matrix, digest: { sha256: plan.matrix.digest } },
      plan: { digest: { sha256: input.planDigest }, seed: plan.seed },
      ...(plan.challenge && { challenge: plan.challenge }),
      machine: describeMachine(session, input.machine),
      model: describeModel(
        plan,
        entries.find((entry) => entry.kind === 'model'),
      ),
      arms: plan.arms.map((arm) => ({ ...arm, build: describeBuild(buildOf(builds, arm.name)) })),
      engine: plan.engine,
      protocol: plan.protocol,
      budgets: plan.budgets,
      ...(plan.simulation && { simulation: plan.simulation }),
      decision: plan.decision,
      ...(plan.design !== undefined && { design: plan.design }),
      result: verdict.result,
      exitCode: verdict.exitCode,
      cells: verdict.cells.map(describeCell),
      evidence: { index: INDEX_FILE, files: input.evidence.files, bytes: String(input.evidence.bytes) },
    },
  };
}

/**
 * Commits, binaries and folders of every arm but the reference and the null arm, which is the reference built again. What the reference also is, is no subject: subjects are found by
 * digest, and "is the base qualified?" must not be answered by a comparison against it. Dirty trees have no commit.
 */
function headSubjects(arms: readonly string[], builds: readonly EntryOf<'build'>[]): Statement['subject'] {
  const [reference, ...heads] = arms;
  const base = reference === undefined ? undefined : buildOf(builds, reference);
  const commits: Statement['subject'] = [];
  const contents: Statement['subject'] = [];
  const seen = new Set([base?.revision.commit, base?.binarySha256, base?.folderSha256]);
  for (const arm of heads) {
    const build = buildOf(builds, arm);
    if (!build) continue;
    const { commit } = build.revision;
    if (commit !== null && !seen.has(commit))
      commits.push({ name: `${arm}@${commit}`, digest: { gitCommit: commit } });
    for (const [what, sha256] of [
      ['engine', build.binarySha256],
      ['folder', build.folderSha256],
    ] as const)
      if (sha256 !== undefined && !seen.has(sha256))
        contents.push({ name: `${arm}/${what}`, digest: { sha256 } });
    seen.add(commit).add(build.binarySha256).add(build.folderSha256);
  }
  return [...commits, ...contents];
}

const buildOf = (builds: readonly EntryOf<'build'>[], arm: string) =>
  builds.find((build) => build.arms.includes(arm));

function describeBuild(build: EntryOf<'build'> | undefined): Statement['predicate']['arms'][number]['build'] {
  if (!build) return null;
  const { revision, buildDigest, recipeDigest, toolchain, binarySha256, folderSha256 } = build;
  return {
    ...{ revision, buildDigest, recipeDigest, toolchain, binarySha256 },
    ...(folderSha256 !== undefined && { folderSha256 }),
  };
}

function describeMachine(
  session: EntryOf<'session'>,
  machine: Fingerprint,
): Statement['predicate']['machine'] {
  return {
    id: session.machineId,
    cpu: machine.cpu.model,
    logicalCpus: machine.cpu.logical,
    kernel: machine.system.kernel,
    memoryBytes: machine.memory.totalBytes,
    gpus: machine.gpus.map((gpu) => gpu.name ?? `${gpu.vendor}:${gpu.device}`),
    description: { path: session.machine.path, digest: { sha256: session.machine.sha256 } },
  };
}

function describeModel(plan: Plan, model: EntryOf<'model'> | undefined): Statement['predicate']['model'] {
  return model
    ? { requested: plan.model, digest: { sha256: model.sha256 }, sizeBytes: model.sizeBytes }
    : null;
}

function describeCell(cell: Verdict['cells'][number]): Statement['predicate']['cells'][number] {
  const { id, promptTokens, chunk, phase, generatedTokens, required, verdict } = cell;
  return {
    ...{ id, promptTokens, chunk, phase, generatedTokens, required, verdict },
    coldness: cell.coldness.status,
    arms: Object.fromEntries(
      Object.entries(cell.arms).map(([name, { n, median, mad, unit }]) => [name, { n, median, mad, unit }]),
    ),
    comparisons: cell.comparisons.map(({ arm, against, verdict: decided, detail, parity, effect }) => ({
      ...{ arm, against, verdict: decided, detail, parity },
      effect: effect && {
        deltaPercent: effect.deltaPercent,
        ratio: effect.ratio,
        lower: effect.lower,
        upper: effect.upper,
        level: effect.level,
        rounds: effect.rounds,
      },
    })),
  };
}
