/** The conditions of the launches: what differed between arms, what moved by itself, and what was the same in all. */
import { classOf, fieldClasses } from '../../analysis/field-classes.js';
import { finished, type Observations } from '../../analysis/observations.js';
import { counted } from '../../counted.js';
import { html, type Markup, nothing } from './markup.js';
import { folded, table } from './table.js';

type Value = string | null;

/** Values of one field: those of each arm, once each, in order of appearance. */
interface Field {
  field: string;
  word: string;
  byArm: Value[][];
}

const mostValues = 4;

function shown(value: Value): string {
  if (value === null) return 'unset or unknown';
  return value === '' ? 'empty' : value.replaceAll(/\b([0-9a-f]{12})[0-9a-f]{52}\b/g, '$1');
}

/** `a`, `a, b`, or of many numbers the least and the most. */
function valuesText(values: readonly Value[]): string {
  if (values.length <= mostValues) return values.map(shown).join(', ') || 'not recorded';
  const numbers = values.map((value) => (value === null || value === '' ? Number.NaN : Number(value)));
  if (numbers.some(Number.isNaN)) return counted(values.length, 'value');
  return `${Math.min(...numbers)} to ${Math.max(...numbers)}`;
}

function fieldsOf(seen: Observations, arms: readonly string[]): Field[] {
  const told = seen.launches.filter((launch) => finished(launch) && launch.conditions !== undefined);
  const names = new Set(told.flatMap(({ conditions }) => Object.keys(conditions?.fields ?? {})));
  const known = fieldClasses.map(({ name }) => name).filter((name) => names.has(name));
  return [...new Set([...known, ...names])].map((field) => ({
    field,
    word: classOf(field).word,
    byArm: arms.map((arm) => [
      ...new Set(
        told
          .filter((launch) => launch.arm === arm)
          .map(({ conditions }) => conditions?.fields[field] ?? null),
      ),
    ]),
  }));
}

const isMoving = ({ field }: Field): boolean => ['bounded', 'recorded'].includes(classOf(field).class);
const isUniform = ({ byArm }: Field): boolean => new Set(byArm.flat()).size <= 1;

/** Name and word of a field; a member of a family is told by its name. */
const nameOf = ({ field, word }: Field): Markup => html`${word} <code>${field}</code>`;

function fieldTable(caption: string, fields: readonly Field[], arms: readonly string[]): Markup {
  return table(
    caption,
    [{ head: 'condition' }, ...arms.map((head) => ({ head }))],
    fields.map((own) => [nameOf(own), ...own.byArm.map(valuesText)]),
  );
}

/** The conditions of the arms named, in three tables, of which only that of differences is open. */
export function conditionTables(seen: Observations, arms: readonly string[]): Markup {
  const fields = fieldsOf(seen, arms);
  if (fields.length === 0) return html`<p>No launch recorded its conditions.</p>`;
  const moving = fields.filter(isMoving);
  const fixed = fields.filter((own) => !isMoving(own));
  const apart = fixed.filter((own) => !isUniform(own));
  const same = fixed.filter(isUniform);
  const differences =
    apart.length === 0
      ? html`<p>No launch differed from another in any of ${counted(fixed.length, 'condition')} that stand still.</p>`
      : html`<p>${counted(apart.length, 'condition')} of ${fixed.length} differed between launches; whether an arm may is judged in its verdict.</p>${fieldTable('Conditions that differ', apart, arms)}`;
  const equal = table(
    'Conditions that are equal',
    [{ head: 'condition' }, { head: 'in all launches' }],
    same.map((own) => [nameOf(own), valuesText([...new Set(own.byArm.flat())])]),
  );
  return html`${differences}
${same.length === 0 ? nothing : folded(`${counted(same.length, 'condition')} equal in all launches`, equal)}
${moving.length === 0 ? nothing : folded(`${counted(moving.length, 'condition')} that move by themselves`, fieldTable('Conditions that move by themselves', moving, arms))}`;
}
