/** `qualify kernels` as people read it: the parity of each group on each instruction set, and the table of speeds. */
import { type FaultOutcome, isCaught } from '../kernels/faults.js';
import type { Isa, SuiteCase, SuiteLine, SuiteMeasure } from '../kernels/lines.js';
import type { Finding } from '../machine/doctor.js';

const WIDTH = 110;

const ofType = <T extends SuiteLine['type']>(lines: readonly SuiteLine[], type: T) =>
  lines.filter((line): line is Extract<SuiteLine, { type: T }> => line.type === type);

/** `76/76`, or what keeps it from being that. */
function score(cases: readonly SuiteCase[]): string {
  const ran = cases.filter(({ outcome }) => outcome !== 'unsupported');
  if (ran.length === 0) return 'unsupported';
  return `${ran.filter(({ outcome }) => outcome === 'passed').length}/${ran.length}`;
}

/** Names one after the other, in lines of a bounded width, indented. */
function wrapped(names: readonly string[]): string {
  const lines: string[] = [];
  let line = '   ';
  for (const [index, name] of names.entries()) {
    const piece = ` ${name}${index + 1 < names.length ? ';' : ''}`;
    if (line.length + piece.length > WIDTH && line.trim() !== '') {
      lines.push(line);
      line = '   ';
    }
    line += piece;
  }
  return [...lines, line].join('\n');
}

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];

function figures({ nmse, maxAbs, cosineDistance }: SuiteCase): string {
  if (nmse === undefined) return '';
  const shown = (value: number | null | undefined) => (value == null ? 'not finite' : value.toExponential(1));
  return ` (NMSE ${shown(nmse)}, max abs ${shown(maxAbs)}, 1 - cosine ${shown(cosineDistance)})`;
}

/** Groups with their score on every instruction set and the list of their cases, failures, what did not run. */
export function describeSuiteTest(lines: readonly SuiteLine[], options: { brief: boolean }): string {
  const cases = ofType(lines, 'case');
  const [header] = ofType(lines, 'header');
  const isas = unique(cases.map(({ isa }) => isa));
  const groups = unique(cases.map(({ group }) => group));
  const out = [
    `seed ${header?.seed ?? '?'}, ${header?.threads ?? '?'} threads: --seed repeats these inputs`,
    '',
  ];
  const nameWidth = Math.max(10, ...groups.map((group) => group.length));
  for (const group of groups) {
    const own = cases.filter((one) => one.group === group);
    const scores = isas.map((isa) => `${isa} ${score(own.filter((one) => one.isa === isa))}`.padEnd(20));
    out.push(
      `${group.padEnd(nameWidth)}  ${unique(own.map((one) => one.class))
        .join('+')
        .padEnd(13)}  ${scores.join('  ')}`.trimEnd(),
    );
    if (!options.brief) out.push(wrapped(unique(own.map(({ name }) => name))));
  }
  const failed = cases.filter(({ outcome }) => outcome === 'failed');
  if (failed.length > 0) out.push('');
  for (const one of failed)
    out.push(`FAILED ${one.group}/${one.name} on ${one.isa}: ${one.failure ?? ''}${figures(one)}`);
  out.push(
    '',
    ...isas.map((isa) =>
      total(
        isa,
        cases.filter((one) => one.isa === isa),
      ),
    ),
  );
  return out.join('\n');
}

function total(isa: Isa, cases: readonly SuiteCase[]): string {
  const result = score(cases);
  if (result === 'unsupported')
    return `${isa.padEnd(8)} not run: this CPU or build lacks it, ${cases.length} cases are not proved`;
  return `${isa.padEnd(8)} ${result}`;
}

function catcher({ caughtBy: [first, ...more], crash }: FaultOutcome): string {
  if (first === undefined) return (crash ?? '').split('\n')[0] ?? '';
  return `${first.group}/${first.name}${more.length > 0 ? ` and ${more.length} more` : ''}`;
}

/** One line a fault: by which case it was caught, or that it was not. */
export function describeFaults(outcomes: readonly FaultOutcome[]): string {
  const width = Math.max(...outcomes.map(({ fault }) => fault.name.length));
  const caught = outcomes.filter(isCaught).length;
  return [
    ...outcomes.map((outcome) => {
      const { fault } = outcome;
      return isCaught(outcome)
        ? `caught   ${fault.name.padEnd(width)}  ${catcher(outcome)}`
        : `SURVIVED ${fault.name.padEnd(width)}  ${fault.why} (kernels/${fault.file})`;
    }),
    '',
    `${caught}/${outcomes.length} planted faults are caught`,
  ].join('\n');
}

const factor = (value: number): string => value.toFixed(value < 10 ? 2 : 0);

const cells = (line: SuiteMeasure): string[] => [
  `${line.op}, ${line.shape}`,
  line.threads === 1 ? '1 cpu' : `${line.threads} wall`,
  line.us.toFixed(line.us < 100 ? 2 : 0),
  `${line.rate.toFixed(1)} ${line.unit}`,
  line.ofCeiling === null ? '' : `${(line.ofCeiling * 100).toFixed(0)} %`,
  line.speedup == null ? '' : `${factor(line.speedup)} x ${line.against ?? ''}`,
];

/** Ceilings of this run, one line a measurement, and whether something else was running before it. */
export function describeBench(lines: readonly SuiteLine[], load: Pick<Finding, 'status' | 'found'>): string {
  const out: string[] = [];
  for (const ceiling of ofType(lines, 'ceiling')) {
    const { name, isa, one, all, threads, unit } = ceiling;
    out.push(
      `ceiling ${name} (${isa}): ${one.toFixed(1)} ${unit} on one thread, ${all.toFixed(1)} on ${threads}`,
    );
  }
  const rows = [
    ['operation, shape', 'clock', 'us', 'rate', 'ceiling', 'speedup'],
    ...ofType(lines, 'measure').map(cells),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: string[]) =>
    row
      .map((cell, i) => (i >= 1 && i <= 4 ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  const busy =
    load.status === 'ok' ? [] : ['', `busy machine: load ${load.found}; wall times and ceilings suffer`];
  return [...out, '', ...rows.map(line), ...busy].join('\n');
}
