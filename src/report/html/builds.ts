/** The arms side by side: what was built and how it was launched, with what differs marked. */
import { type Build, buildOf, type Observations } from '../../analysis/observations.js';
import { short } from '../../digest.js';
import type { Plan } from '../../plan/schema.js';
import { html, type Markup, nothing } from './markup.js';
import { table } from './table.js';

type Arm = Plan['arms'][number];
type Value = string | null;

/** A line of the table: a word, and what it is in each arm; null where it does not apply. */
interface Line {
  word: string;
  values: Value[];
  /** The arms are meant to differ in it. */
  isName?: true;
}

const isDigest = (value: string): boolean => /^[0-9a-f]{40,64}$/.test(value);

/** A value; of a digest or a commit the beginning, with the whole for those who point at it. */
function shown(value: Value, differs: boolean): Markup {
  if (value === null) return differing('–', differs);
  if (!isDigest(value)) return differing(value, differs);
  return html`<code title="${value}">${differing(short(value), differs)}</code>`;
}

/** Marks a value that is not that of the first arm. */
function differing(value: string, differs: boolean): Markup {
  if (!differs) return html`${value}`;
  return html`<span class="differs"><span aria-hidden="true">≠</span><span class="unseen">differs: </span> ${value}</span>`;
}

function switchLines(arms: readonly Arm[]): Line[] {
  const names = [...new Set(arms.flatMap(({ switches }) => Object.keys(switches)))].toSorted();
  return names.map((name) => ({ word: name, values: arms.map(({ switches }) => switches[name] ?? null) }));
}

/** Tools of which some build has another version. */
function toolLines(builds: readonly (Build | undefined)[]): Line[] {
  const names = [...new Set(builds.flatMap((build) => Object.keys(build?.toolchain ?? {})))].toSorted();
  return names.map((name) => ({ word: name, values: builds.map((build) => build?.toolchain[name] ?? null) }));
}

function linesOf(arms: readonly Arm[], seen: Observations): Line[] {
  const builds = arms.map(({ name }) => buildOf(seen, name));
  const of = (word: string, value: (build: Build) => Value): Line => ({
    word,
    values: builds.map((build) => (build === undefined ? null : value(build))),
  });
  return [
    {
      word: 'role',
      isName: true,
      values: arms.map(({ control }, index) => control ?? (index === 0 ? 'reference' : 'compared')),
    },
    { word: 'engine', values: arms.map(({ engine }) => engine) },
    { word: 'revision asked for', values: arms.map(({ revision }) => revision) },
    of('commit', ({ revision }) => revision.commit ?? 'none: the tree is no commit'),
    of('tree', ({ revision }) => revision.tree),
    of('uncommitted changes', ({ revision }) => (revision.dirty ? 'yes' : 'no')),
    of('build', ({ buildDigest }) => buildDigest),
    of('recipe', ({ recipeDigest }) => recipeDigest),
    of('binary', ({ binarySha256 }) => binarySha256),
    ...toolLines(builds),
    ...switchLines(arms),
    { word: 'arguments', values: arms.map(({ arguments: list }) => list.join(' ') || null) },
    {
      word: 'planted slowdown',
      values: arms.map(({ plantedSlowdownPercent: planted }) =>
        planted === undefined ? null : `${planted} %`,
      ),
    },
  ];
}

/** The table of the arms of a plan. Of an ablation, whose arms differ in the levels of its switches alone, the first and the last. */
export function buildTable(plan: Plan, seen: Observations): Markup {
  const last = plan.arms.at(-1);
  const arms =
    plan.design === undefined ? plan.arms : plan.arms.filter((arm, at) => at === 0 || arm === last);
  const lines = linesOf(arms, seen)
    .filter(({ values }) => values.some((value) => value !== null))
    .map(({ word, values, isName = false }) => [
      word,
      ...values.map((value) => shown(value, !isName && value !== values[0])),
    ]);
  if (arms.length === 0) return nothing;
  return table('Arms side by side', [{ head: 'what' }, ...arms.map(({ name }) => ({ head: name }))], lines);
}
