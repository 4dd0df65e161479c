/** Did a switch change what ran? A switch that only changes what the engine says is no switch. */
import type { Plan } from '../plan/schema.js';
import { type Finding, finding } from './finding.js';
import { finished, type Launch } from './observations.js';

/** A switch, and the counter that must be above zero with it on (not `0`) and zero with it off. */
const promises: Readonly<Record<string, RegExp>> = {
  DFLASH_MOE_GROUPED_MMID_PREFILL: /(^|[._])grouped([._]|$)/,
};

type Counters = Readonly<Record<string, number>>;

const sumOf = (counters: Counters, pattern: RegExp): number =>
  Object.entries(counters).reduce((sum, [name, count]) => (pattern.test(name) ? sum + count : sum), 0);

function brokenPromises(launch: Launch, name: string, pattern: RegExp, counters: Counters): Finding[] {
  const value = launch.ready?.witness.switches[name];
  if (value === undefined) return [];
  const ran = sumOf(counters, pattern);
  if (value === '0' && ran > 0) {
    return [finding('switch-without-effect', `${launch.id}: ${name}=0, yet its kernels ran ${ran} times`)];
  }
  if (value !== '0' && ran === 0) {
    return [finding('switch-without-effect', `${launch.id}: ${name}=${value}, yet its kernels never ran`)];
  }
  return [];
}

/** Names of switches whose effective values differ between two launches. */
function differing(a: Launch, b: Launch): string[] {
  const [left, right] = [a.ready?.witness.switches ?? {}, b.ready?.witness.switches ?? {}];
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].filter((name) => left[name] !== right[name]);
}

const missing = (...launches: Launch[]): Finding =>
  finding(
    'counters-missing',
    `${launches.map(({ id }) => id).join(', ')}: without counters no switch is shown to have worked`,
  );

/**
 * Switches with a known promise must keep it in each launch of a round, by whatever binary: those that the launch's arm
 * asks for, and those whose effective values differ. Defaults that both arms share are free: other switches may gate them.
 */
export function promiseFindings(plan: Plan, base: Launch, head: Launch): Finding[] {
  const apart = differing(base, head);
  return [base, head].filter(finished).flatMap((launch) => {
    const asked = plan.arms.find(({ name }) => name === launch.arm)?.switches ?? {};
    const due = Object.entries(promises).filter(([name]) => name in asked || apart.includes(name));
    if (due.length === 0) return [];
    const counters = launch.counters?.counters;
    if (counters === undefined) return [missing(launch)];
    return due.flatMap(([name, pattern]) => brokenPromises(launch, name, pattern, counters));
  });
}

/**
 * Compares the counters of the two arms of a round that share a binary and differ in switches without a known promise:
 * at least one counter must differ.
 */
export function counterFindings(base: Launch, head: Launch): Finding[] {
  if (!finished(base) || !finished(head)) return [];
  const switches = differing(base, head);
  if (switches.length === 0 || switches.some((name) => name in promises)) return [];
  const [left, right] = [base.counters?.counters, head.counters?.counters];
  if (left === undefined || right === undefined) return [missing(base, head)];
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  if ([...names].some((name) => (left[name] ?? 0) !== (right[name] ?? 0))) return [];
  return [
    finding('switch-without-effect', `${switches.join(', ')} differ, yet both arms ran the same kernels`),
  ];
}
