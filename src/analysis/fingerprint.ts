/** Were two arms under the same conditions? Compares what every launch of a comparison recorded, field by field. */
import { variableText } from '../matrix/condition-values.js';
import type { Plan } from '../plan/schema.js';
import { type Bound, classOf, type Excuse, fieldClasses, requiredFields } from './field-classes.js';
import { type Finding, finding } from './finding.js';
import { finished, type Launch } from './observations.js';

type Value = string | null;
type Fields = Readonly<Record<string, Value>>;

/** What the witness says itself: it stands above what the conditions repeat of it. */
function witnessFields({ ready }: Launch): Record<string, Value> {
  if (ready === undefined) return {};
  const { modelSha256, tokenizerSha256, threads, isa } = ready.witness;
  return {
    'model.sha256': modelSha256,
    'model.tokenizer': tokenizerSha256 ?? null,
    'engine.threads': String(threads),
    'engine.isa': isa,
  };
}

/** A launch that recorded its conditions, with those that it has by its witness. */
interface Told {
  id: string;
  round: number;
  fields: Fields;
}

const toldOf = (launches: readonly Launch[]): Told[] =>
  launches.flatMap((launch) => {
    const { id, round, conditions } = launch;
    return conditions === undefined
      ? []
      : [{ id, round, fields: { ...conditions.fields, ...witnessFields(launch) } }];
  });

/** A value as a sentence shows it: unset, unknown and empty are three things, and of a digest the beginning does. */
function shown(field: string, value: Value): string {
  if (value === null) return field.startsWith('environment.') ? 'unset' : 'unknown';
  if (value === '') return 'empty';
  return value.replaceAll(/\b([0-9a-f]{12})[0-9a-f]{52}\b/g, '$1');
}

const codeOf = (field: string): string => classOf(field).code ?? 'field-differs';

/** Which launches have which value, most first: `x in r00-0-base and 3 more; y in r00-1-head`. */
function groupsText(field: string, launches: readonly Told[]): string {
  const groups = new Map<Value, string[]>();
  for (const { id, fields } of launches) {
    const value = fields[field] ?? null;
    groups.set(value, [...(groups.get(value) ?? []), id]);
  }
  return [...groups]
    .map(([value, [first, ...more]]) => {
      const others = more.length === 0 ? '' : ` and ${more.length} more`;
      return `${shown(field, value)} in ${first}${others}`;
    })
    .join('; ');
}

function isUniform(field: string, launches: readonly Told[]): boolean {
  const first = launches[0]?.fields[field] ?? null;
  return launches.every(({ fields }) => (fields[field] ?? null) === first);
}

const differs = (field: string, launches: readonly Told[]): Finding => {
  const { word, remedy } = classOf(field);
  return finding(
    codeOf(field),
    `the launches differ in ${word} (${field}): ${groupsText(field, launches)}; ${remedy}`,
  );
};

/** Whether the plan itself sets two arms apart in a field. */
function isExcused(plan: Plan, excuse: Excuse, field: string, arms: readonly string[]): boolean {
  const planned = plan.arms.filter(({ name }) => arms.includes(name));
  const values = planned.map((arm) =>
    excuse === 'switches' ? arm.switches[field.slice('environment.'.length)] : JSON.stringify(arm[excuse]),
  );
  return new Set(values).size > 1;
}

/** Whether a field may have another value in each of two arms, and must have one within each. Null: it is not compared like that. */
function mayBeApart(plan: Plan, field: string, arms: readonly string[]): boolean | null {
  const row = classOf(field);
  if (row.class === 'bounded' || row.class === 'recorded') return null;
  const engines = new Set(plan.arms.filter(({ name }) => arms.includes(name)).map(({ engine }) => engine));
  return (
    row.class === 'differ' ||
    (row.scope === 'engine' && engines.size > 1) ||
    (row.excuse !== undefined && isExcused(plan, row.excuse, field, arms))
  );
}

const number = (value: Value): number => (value === null || value === '' ? Number.NaN : Number(value));

/** Whether two values are within a bound; two that nobody knows are, one that is unknown beside one that is known is not. */
function isWithin(bound: Bound, [left, right]: readonly [Value, Value], factor: number): boolean {
  if (left === null && right === null) return true;
  const [a, b] = [number(left), number(right)];
  if (bound.kind === 'difference') return Math.abs(a - b) <= bound.most * factor;
  return Math.min(a, b) >= bound.least * Math.max(a, b);
}

const boundText = (bound: Bound, factor: number): string =>
  bound.kind === 'difference'
    ? `at most ${bound.most * factor} ${bound.unit} are borne`
    : `the smaller must be at least ${bound.least * 100} % of the larger`;

/** Fields with a bound are compared between adjacent launches: the two of a round. */
function boundFindings(plan: Plan, base: Told, head: Told): Finding[] {
  const [left, right] = [base.fields, head.fields];
  return fieldClasses.flatMap((row) => {
    if (row.class !== 'bounded') return [];
    if (row.onlyClock !== undefined && row.onlyClock !== plan.protocol.clock) return [];
    const { name, word, remedy, bound } = row;
    const values = [left[name] ?? null, right[name] ?? null] as const;
    const times = bound.kind === 'difference' ? bound.times : undefined;
    const factor = times === undefined ? 1 : number(left[times] ?? null);
    if (isWithin(bound, values, factor)) return [];
    const told = `${shown(name, values[0])} in ${base.id}, ${shown(name, values[1])} in ${head.id}`;
    const message = `${word} (${name}) is ${told}; ${boundText(bound, factor)}; ${remedy}`;
    return [finding('field-beyond-bound', message)];
  });
}

/** What a launch recorded of itself must be all there, and must not contradict what else the journal has of it. */
function ownFindings(launch: Launch): Finding[] {
  const fields = launch.conditions?.fields;
  if (fields === undefined) {
    const message = `${launch.id}: its conditions were not recorded; measure anew with this version of qualify`;
    return [finding('conditions-missing', message)];
  }
  const absent = requiredFields.filter((field) => !(field in fields));
  const missing =
    absent.length === 0
      ? []
      : [finding('conditions-missing', `${launch.id}: its conditions lack ${absent.join(', ')}`)];
  const contradicted = Object.entries(witnessFields(launch)).flatMap(([field, said]) => {
    if ((fields[field] ?? null) === said) return [];
    const told = `${shown(field, fields[field] ?? null)}, the engine says ${shown(field, said)}`;
    const message = `${launch.id}: its conditions record for ${classOf(field).word} (${field}) ${told}`;
    return [finding(codeOf(field), message)];
  });
  return [...missing, ...contradicted, ...environmentFindings(launch, fields)];
}

/** The processes must have the environment that they were given. Variables that nobody watches may come from a shell. */
function environmentFindings({ id, started }: Launch, fields: Fields): Finding[] {
  const prefix = 'environment.';
  const names = new Set([
    ...Object.keys(started.environment),
    ...Object.keys(fields).flatMap((field) => (field.startsWith(prefix) ? [field.slice(prefix.length)] : [])),
  ]);
  return [...names].flatMap((name) => {
    const given = variableText(name, started.environment[name], started.environment);
    const found = fields[`${prefix}${name}`] ?? null;
    if (given === found) return [];
    const [asked, got] = [shown(`${prefix}${name}`, given), shown(`${prefix}${name}`, found)];
    const message = `${id}: ${name} (${prefix}${name}) is ${got} in its process, given was ${asked}; start engines without wrappers that set variables`;
    return [finding('environment-differs', message)];
  });
}

const MOST_TOLD = 3;

/** The first findings of a code in full and the fields of the others: an update of a system changes many at once. */
function briefly(found: readonly { field: string; found: Finding }[]): Finding[] {
  const codes = [...new Set(found.map(({ found: { code } }) => code))];
  return codes.flatMap((code) => {
    const own = found.filter((each) => each.found.code === code);
    const told = own.slice(0, MOST_TOLD).map((each) => each.found.message);
    const more = own.slice(MOST_TOLD).map(({ field }) => field);
    const rest = more.length === 0 ? [] : [`and they differ in ${more.join(', ')}`];
    return [finding(code, [...told, ...rest].join('. '))];
  });
}

/** Why the conditions of two arms' launches do not allow a comparison; empty when they do. Launches that broke are left out. */
export function fieldFindings(
  plan: Plan,
  allBases: readonly Launch[],
  allHeads: readonly Launch[],
): Finding[] {
  const ended = [...allBases, ...allHeads].filter(finished);
  const arms = [...new Set(ended.map(({ arm }) => arm))];
  const [bases, heads] = [toldOf(allBases.filter(finished)), toldOf(allHeads.filter(finished))];
  const names = new Set([...bases, ...heads].flatMap(({ fields }) => Object.keys(fields)));
  const inOrder = fieldClasses.map(({ name }) => name).filter((name) => names.has(name));
  const apart = [...new Set([...inOrder, ...names])].flatMap((field) => {
    const allowed = mayBeApart(plan, field, arms);
    if (allowed === null) return [];
    const groups = allowed ? [bases, heads] : [[...bases, ...heads]];
    return groups
      .filter((group) => !isUniform(field, group))
      .map((group) => ({ field, found: differs(field, group) }));
  });
  const beyond = bases.flatMap((base) => {
    const head = heads.find(({ round }) => round === base.round);
    return head === undefined ? [] : boundFindings(plan, base, head);
  });
  return [...ended.flatMap(ownFindings), ...briefly(apart), ...beyond];
}
