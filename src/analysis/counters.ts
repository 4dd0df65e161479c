/** Did a switch change what ran? A switch that only changes what the engine says is no switch. */
import { counted } from '../counted.js';
import type { Plan } from '../plan/schema.js';
import { type Finding, finding } from './finding.js';
import { finished, type Launch } from './observations.js';

/** What a switch promises: a counter that is above zero with it on, where what it needs is so, and zero with it off. */
interface Promised {
  /** The value that kills the switch. */
  off: string;
  counter: RegExp;
  /** Switches without which this one has nothing to do. */
  needs?: Readonly<Record<string, 'on' | 'off'>>;
}

const GROUPED = 'DFLASH_MOE_GROUPED_MMID_PREFILL';
const OWNERS = 'DFLASH_MOE_OWNERS';
const STREAM = 'GGML_CUDA_MLA_STREAM_TOPK';
const STAGE = 'GGML_CUDA_MLA_STREAM_F32_STAGE';

/** What only bounds or places work (token counts, budgets, files) promises no kernel of its own and is not here. */
const promises: Readonly<Record<string, Promised>> = {
  [GROUPED]: { off: '0', counter: /(^|[._])grouped([._]|$)/ },
  // Owners are joined by sums of their own.
  DFLASH_MOE_FUSED_COMBINE: {
    off: '0',
    counter: /grouped\.down_combine$/,
    needs: { [GROUPED]: 'on', [OWNERS]: 'off' },
  },
  GGML_CUDA_MMQ_MOE_ADAPTIVE_X: { off: '0', counter: /adaptive_tile$/, needs: { [GROUPED]: 'on' } },
  GGML_CUDA_MMQ_MOE_PERSISTENT: { off: '0', counter: /persistent_queue$/, needs: { [GROUPED]: 'on' } },
  [OWNERS]: { off: '1', counter: /mmid\.owner$/ },
  // With streaming the rows are read where they lie, whoever selected them: what is on leaves no trace of its own then, and what is
  // off is told by `attention.mask_scan`, which makes the counters of two arms differ.
  DFLASH_DS4_DIRECT_INDEXER_TOPK: { off: '0', counter: /attention\.gathered$/, needs: { [STREAM]: 'off' } },
  [STREAM]: { off: '0', counter: /attention\.(streamed|staged|fast_exp)$/ },
  [STAGE]: { off: '0', counter: /attention\.(staged|fast_exp)$/, needs: { [STREAM]: 'on' } },
  GGML_CUDA_MLA_STREAM_FAST_EXP: {
    off: '0',
    counter: /attention\.fast_exp$/,
    needs: { [STREAM]: 'on', [STAGE]: 'on' },
  },
};

/** Whether a switch is on or off; nothing when the engine does not know it. */
function stateOf(name: string, switches: Readonly<Record<string, string>>): 'on' | 'off' | undefined {
  const value = switches[name];
  if (value === undefined) return undefined;
  return value === promises[name]?.off ? 'off' : 'on';
}

type Counters = Readonly<Record<string, number>>;

const sumOf = (counters: Counters, pattern: RegExp): number =>
  Object.entries(counters).reduce((sum, [name, count]) => (pattern.test(name) ? sum + count : sum), 0);

const hasWhatItNeeds = ({ needs = {} }: Promised, switches: Readonly<Record<string, string>>): boolean =>
  Object.entries(needs).every(([other, state]) => (stateOf(other, switches) ?? 'off') === state);

/** Whether a launch has to show the kernels of a switch when it is on. */
function isPromised(name: string, launch: Launch): boolean {
  const promised = promises[name];
  return promised !== undefined && hasWhatItNeeds(promised, launch.ready?.witness.switches ?? {});
}

function brokenPromises(launch: Launch, name: string, promised: Promised, counters: Counters): Finding[] {
  const switches = launch.ready?.witness.switches ?? {};
  const state = stateOf(name, switches);
  const ran = sumOf(counters, promised.counter);
  const told = `${launch.id}: ${name}=${switches[name]}, yet its kernels`;
  if (state === 'off' && ran > 0)
    return [finding('switch-without-effect', `${told} ran ${counted(ran, 'time')}`)];
  if (state === 'on' && hasWhatItNeeds(promised, switches) && ran === 0)
    return [finding('switch-without-effect', `${told} never ran`)];
  return [];
}

/** Whether the own kernels of a switch ran in a launch; undefined where none are promised: off, unknown, or without what it needs. */
export function ownKernelsRan(name: string, launch: Launch): boolean | undefined {
  const promised = promises[name];
  const isOn = stateOf(name, launch.ready?.witness.switches ?? {}) === 'on';
  if (promised === undefined || !isOn || !isPromised(name, launch)) return undefined;
  return sumOf(launch.counters?.counters ?? {}, promised.counter) > 0;
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
    return due.flatMap(([name, promised]) => brokenPromises(launch, name, promised, counters));
  });
}

/**
 * Compares the counters of the two arms of a round that share a binary and differ in switches of which none has to show kernels of
 * its own: at least one counter must differ.
 */
export function counterFindings(base: Launch, head: Launch): Finding[] {
  if (!finished(base) || !finished(head)) return [];
  const switches = differing(base, head);
  const shown = switches.some((name) => isPromised(name, base) && isPromised(name, head));
  if (switches.length === 0 || shown) return [];
  const [left, right] = [base.counters?.counters, head.counters?.counters];
  if (left === undefined || right === undefined) return [missing(base, head)];
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  if ([...names].some((name) => (left[name] ?? 0) !== (right[name] ?? 0))) return [];
  return [
    finding('switch-without-effect', `${switches.join(', ')} differ, yet both arms ran the same kernels`),
  ];
}
