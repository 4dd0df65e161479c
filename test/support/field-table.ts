/** The table of docs/fingerprint.md, made of the code's own. */
import { type FieldClass, fieldClasses } from '../../src/analysis/field-classes.js';

function ruleOf(row: FieldClass): string {
  switch (row.class) {
    case 'equal': {
      const excused = {
        switches: ', but for switches that the plan gives the arms',
        arguments: ', but for arguments that the plan gives the arms',
        plantedSlowdownPercent: ', but for what the plan plants',
      };
      const scope = row.scope === 'shared' ? 'equal' : 'equal within an engine';
      return scope + (row.excuse === undefined ? '' : excused[row.excuse]);
    }
    case 'differ':
      return 'may differ between arms';
    case 'bounded': {
      const { bound } = row;
      const only = row.onlyClock === undefined ? '' : `, where ${row.onlyClock} time decides`;
      if (bound.kind === 'share') return `bounded: at least ${bound.least * 100} % of the other${only}`;
      const times = bound.times === undefined ? '' : ` x \`${bound.times}\``;
      return `bounded: ${bound.most}${times} ${bound.unit} apart${only}`;
    }
    case 'recorded':
      return 'recorded';
  }
}

/** Markdown rows, in the order of the code. */
export const fieldTable = (): string =>
  fieldClasses.map((row) => `| \`${row.name}\` | ${row.word} | ${ruleOf(row)} |\n`).join('');
