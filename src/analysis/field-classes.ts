/**
 * The class of every condition of a launch: what must be equal, what may differ between arms, what has a bound, what is only for the
 * record; with a word for people and what to do about a difference. docs/fingerprint.md is this table.
 */
import { boundedRows, recordedRows } from './moment-fields.js';

/** What may set two arms apart in a field, because the plan says so. */
export type Excuse = 'switches' | 'arguments' | 'plantedSlowdownPercent';

/** How far two adjacent launches may be apart: by an amount (times another field where one is named), or as a share of the larger. */
export type Bound =
  | { kind: 'difference'; most: number; times?: string; unit: string }
  | { kind: 'share'; least: number };

interface Common {
  /** The field, or the beginning of a family of fields, then with a star: `library.*`. */
  name: string;
  /** For people, as it stands in "the launches differ in ...". */
  word: string;
  remedy: string;
  /** Code of the finding where it is not `field-differs`. */
  code?: string;
}

export type FieldClass =
  /** One value in all launches of a comparison. `engine` says nothing across two engines, but each arm keeps its own. */
  | (Common & { class: 'equal'; scope: 'shared' | 'engine'; excuse?: Excuse })
  /** One value in all launches of an arm; `analysis/matching.ts` judges what differs between arms. */
  | (Common & { class: 'differ' })
  /** Compared between the launches of a round, by the clock that it matters to where only one bears it. */
  | (Common & { class: 'bounded'; bound: Bound; onlyClock?: 'wall' })
  | (Common & { class: 'recorded' });

type Row = readonly [name: string, word: string];

const rows =
  (scope: 'shared' | 'engine', remedy: string) =>
  (...list: readonly Row[]): FieldClass[] =>
    list.map(([name, word]) => ({ name, word, remedy, class: 'equal', scope }));

const sameMachine = 'run all launches of a session on one machine, and leave its hardware alone';
const leaveAlone = 'leave the setting alone during the session; on a shared machine find out who changes it';
const sameSystem = 'do not update or reconfigure the system between launches; measure anew';
const sameLimits =
  'give every launch the same limits: run the whole session in one shell, service or container';
const hermetic =
  'start engines without wrappers that set variables; what an arm needs is a switch of the matrix';
const sameTools =
  'build all arms on this machine with the same tools, by a revision and not as a prebuilt folder';
const sameModel = 'leave the model file alone while the session runs';
const sameWork =
  'compare runs of one matrix; inside a session this is a bug of the harness, please report it';
const sameLibraries = 'do not update libraries during the session, and let both builds load the same ones';

const machine: FieldClass[] = [
  ...rows('shared', sameMachine)(
    ['machine.id', 'machine'],
    ['cpu.model', 'CPU model'],
    ['cpu.logical', 'number of CPUs'],
    ['cpu.features', 'instruction sets of the CPU'],
    ['cpu.flags', 'flags of the CPU'],
    ['cpu.microcode', 'microcode'],
    ['numa.nodes', 'number of NUMA nodes'],
    ['memory.total', 'amount of memory'],
    ['gpu.list', 'graphics processors'],
    ['gpu.vbios', 'VBIOS of graphics processors'],
    ['gpu.firmware', 'firmware of graphics processors'],
    ['gpu.memory', 'memory of graphics processors'],
  ),
  ...rows('shared', leaveAlone)(
    ['cpu.online', 'CPUs that are online'],
    ['cpu.isolated', 'isolated CPUs'],
    ['cpu.governor', 'CPU governor'],
    ['cpu.scalingDriver', 'driver of CPU clocks'],
    ['cpu.energyPreference', 'energy preference of the CPU (EPP)'],
    ['cpu.maximumFrequency', 'highest allowed CPU clock'],
    ['cpu.boost', 'CPU boost'],
    ['cpu.smt', 'simultaneous multithreading (SMT)'],
    ['cpu.idleDriver', 'driver of CPU idle states'],
    ['memory.swapTotal', 'amount of swap'],
    ['memory.hugePages', 'number of huge pages'],
    ['memory.transparentHugePages', 'transparent huge pages'],
    ['memory.hugePageDefrag', 'defragmentation for huge pages'],
    ['memory.ksm', 'merging of equal pages (KSM)'],
    ['memory.zswap', 'compressed swap (zswap)'],
    ['memory.swappiness', 'swappiness'],
    ['memory.overcommit', 'overcommit of memory'],
    ['kernel.aslr', 'address space randomisation (ASLR)'],
    ['kernel.numaBalancing', 'NUMA balancing'],
    ['kernel.autogroup', 'grouping of tasks by the scheduler'],
    ['kernel.clockSource', 'clock source'],
    ['system.powerProfile', 'power profile of the platform'],
    ['system.powerSource', 'power source (mains or battery)'],
    ['gpu.powerCap', 'power limit of graphics processors'],
    ['gpu.performanceLevel', 'performance level of graphics processors'],
  ),
  ...rows('shared', sameSystem)(
    ['cpu.mitigations', 'mitigations of CPU vulnerabilities'],
    ['kernel.release', 'kernel release'],
    ['kernel.version', 'kernel version'],
    ['kernel.commandLine', 'command line of the kernel'],
    ['system.distribution', 'distribution'],
    ['system.container', 'container or not'],
    ['gpu.driver', 'driver of graphics processors'],
    ['harness.version', 'version of qualify'],
    ['harness.node', 'version of Node.js'],
  ),
  ...rows('shared', sameLimits)(
    ['cgroup.cpuLimit', 'CPU time that the control group allows'],
    ['cgroup.cpus', 'CPUs that the control group allows'],
    ['cgroup.memoryLimit', 'memory that the control group allows'],
  ),
];

const processes: FieldClass[] = [
  ...rows('engine', sameLimits)(
    ['process.cpus', 'CPUs that the process may use'],
    ['process.threadCpus', 'CPUs that threads of the process may use'],
    ['process.memoryNodes', 'NUMA nodes that the process may use'],
    ['process.memoryPolicy', 'NUMA policy of the process'],
    ['process.pageSize', 'page size'],
    ['process.nice', 'niceness'],
    ['process.scheduler', 'scheduling policy'],
    ['process.lockedMemoryLimit', 'limit of locked memory'],
    ['process.stackLimit', 'limit of the stack'],
    ['process.addressSpaceLimit', 'limit of the address space'],
    ['process.oomScoreAdjust', 'score for the out-of-memory killer'],
    ['process.transparentHugePages', 'whether the process may have huge pages'],
    ['process.speculation', 'speculative store bypass of the process'],
    ['process.seccomp', 'filter of system calls'],
  ),
  ...rows('engine', sameLibraries)(
    ['process.executable', 'program that runs the engine'],
    ['library.count', 'number of mapped libraries outside of the build'],
    ['library.*', 'a mapped library'],
    ['runtime.cuda', 'CUDA runtime'],
    ['runtime.cudaDriver', 'CUDA driver library'],
    ['runtime.hip', 'HIP runtime'],
    ['runtime.hsa', 'HSA runtime'],
    ['runtime.vulkan', 'Vulkan loader'],
  ),
  {
    name: 'environment.*',
    word: 'an environment variable',
    remedy: hermetic,
    class: 'equal',
    scope: 'engine',
    excuse: 'switches',
  },
];

const builds: FieldClass[] = [
  { name: 'build.tree', class: 'differ', word: 'source tree', remedy: sameTools },
  { name: 'build.digest', class: 'differ', word: 'build', remedy: sameTools },
  { name: 'build.binary', class: 'differ', word: 'binary', remedy: sameTools },
  { name: 'engine.name', class: 'differ', word: 'engine', remedy: sameWork },
  ...rows('engine', sameTools)(
    ['build.recipe', 'recipe of the build'],
    ['build.type', 'build type'],
    ['build.flags', 'compiler flags'],
    ['build.defines', 'definitions of the build'],
    ['toolchain.*', 'a tool of the build'],
  ),
];

const workload: FieldClass[] = [
  ...rows('shared', sameModel)(['model.sha256', 'model'], ['model.sizeBytes', 'size of the model file']),
  {
    name: 'model.tokenizer',
    word: 'tokenizer',
    remedy: sameModel,
    class: 'equal',
    scope: 'engine',
    code: 'tokenizer-differs',
  },
  {
    name: 'engine.threads',
    word: 'number of threads',
    remedy: 'name `threads` under `engine` in the matrix',
    class: 'equal',
    scope: 'shared',
    code: 'threads-differs',
  },
  {
    name: 'engine.isa',
    word: 'instruction set',
    remedy: 'build all arms so that they choose kernels for the same instruction set',
    class: 'equal',
    scope: 'engine',
    code: 'isa-differs',
  },
  ...(['engine.contextTokens', 'engine.cacheSlots', 'engine.microBatch', 'engine.arguments'] as const).map(
    (name): FieldClass => ({
      name,
      word: {
        'engine.contextTokens': 'length of the context',
        'engine.cacheSlots': 'slots of the prefix cache',
        'engine.microBatch': 'most tokens given to the engine at once',
        'engine.arguments': "arguments of the engine's server",
      }[name],
      remedy: sameWork,
      class: 'equal',
      scope: 'engine',
      excuse: 'arguments',
    }),
  ),
  {
    name: 'engine.plantedSlowdown',
    word: 'planted slowdown',
    remedy: sameWork,
    class: 'equal',
    scope: 'engine',
    excuse: 'plantedSlowdownPercent',
  },
  ...rows('shared', sameWork)(
    ['engine.cpus', 'CPUs that threads are pinned to'],
    ['workload.prompts', 'set of prompts'],
    ['workload.vocabulary', 'vocabulary of the prompts'],
    ['workload.saltTokens', 'salt of the prompts'],
    ['workload.sampler', 'sampler'],
    ['workload.warmups', 'number of warm-ups'],
    ['workload.samples', 'number of samples'],
    ['workload.parity', 'level of parity'],
    ['workload.parityTokens', 'length of outputs for parity'],
    ['workload.clock', 'clock that decides'],
    ['prompt.*', 'length of the prompts of a cell'],
    ['chunk.*', 'chunk of a cell'],
    ['generated.*', 'tokens that a cell generates'],
  ),
];

/** Every field that this version knows, in the order in which differences are told. */
export const fieldClasses: readonly FieldClass[] = [
  ...machine,
  ...workload,
  ...builds,
  ...processes,
  ...boundedRows,
  ...recordedRows,
];

const exact = new Map(fieldClasses.map((row) => [row.name, row]));
const families = fieldClasses.filter(({ name }) => name.endsWith('*'));

/** The class of a field. One that nobody knows must be equal: what is not understood is not waved through. */
export function classOf(field: string): FieldClass {
  const known = exact.get(field) ?? families.find(({ name }) => field.startsWith(name.slice(0, -1)));
  if (known !== undefined) return known;
  const remedy = 'compare runs of one version of qualify';
  return {
    name: field,
    word: 'a field that this version does not know',
    remedy,
    class: 'equal',
    scope: 'shared',
  };
}

/** Fields that the conditions of every launch must have. */
export const requiredFields: readonly string[] = fieldClasses
  .map(({ name }) => name)
  .filter((name) => !name.endsWith('*'));
