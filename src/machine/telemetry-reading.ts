/** The readings of the machine in the course of one launch. */
import type { TelemetrySample } from '../journal/telemetry.js';
import { hasComputeDevice, holdsComputeDevice } from './compute-devices.js';
import { ForeignTicks } from './foreign-ticks.js';
import { KeptFiles } from './kept-files.js';
import { parseCpuLine } from './load.js';
import { ProcessTable } from './process-table.js';
import type { ProcessStat } from './procfs.js';
import { findSensors, readSensors } from './sensors.js';
import { isUnexplained, suspectsOf } from './suspects.js';

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** As the kernel has it, without what could steer a terminal. */
const printable = (name: string): string => name.replace(/[^\x20-\x7e]/g, '?');

const otherOf = ({ pid, name, cpuTicks }: ProcessStat): Others[number] => ({
  pid,
  name: printable(name),
  cpuTicks,
});

/** Between two readings of all processes, where somebody works whom they do not show, or holds a device without working. */
const READINGS_BETWEEN_WHOLE = 5;

/** All but who else was there. */
type Counters = Omit<TelemetrySample, 'others' | 'gpuUsers'>;
type Others = NonNullable<TelemetrySample['others']>;

/** Ticks that neither the engine nor the harness ran. */
const foreignOf = ({ busyTicks, ownTicks }: Counters): number => busyTicks - ownTicks;

/**
 * Reads the machine beside the engine's group. It may not cost what it is there to notice: it looks once for what there is to read, keeps
 * the files open until `close`, and reads all processes at both ends, and in between only when somebody unknown works.
 */
export class TelemetryReader {
  readonly #beganAt = performance.now();
  readonly #group: number;
  readonly #own: readonly number[];
  readonly #files: KeptFiles;
  readonly #processes: ProcessTable;
  readonly #sensors = findSensors();
  readonly #ticks = new ForeignTicks();
  readonly #asksForDevices: boolean;
  /** Members of the group that the last whole reading found; in between only these are read, and the suspects. */
  #members: number[] = [];
  #suspects: number[] = [];
  #lastWhole: Others = [];
  #sinceWhole = 0;
  #before: TelemetrySample | undefined;
  /** Work that is there from the beginning is not new: whose it is can wait. */
  #wasUnexplained = true;

  /** `own` are the harness and the telemetry: neither the engine nor others. `asksForDevices` where somebody can hold one. */
  constructor(
    group: number,
    own: readonly number[],
    asksForDevices = hasComputeDevice(),
    files = new KeptFiles(),
  ) {
    this.#group = group;
    this.#own = own;
    this.#asksForDevices = asksForDevices;
    this.#files = files;
    this.#processes = new ProcessTable(files);
  }

  /** The first reading. Nothing is timed before it is done, so its counters are read last: what comes after them is the launch's. */
  first(): TelemetrySample {
    const found = this.#readProcesses();
    // Who worked before the launch is no suspect.
    this.#suspects = [];
    const counters = this.#readCounters();
    const sample = { ...counters, ...this.#told(found, counters) };
    this.#before = sample;
    return sample;
  }

  /** A later reading: the counters, then all processes where that is due. In the `last` nothing is timed any more, and it always is. */
  next(last: boolean): TelemetrySample {
    const counters = this.#readCounters();
    const suspects = this.#statsOf(this.#suspects).map(otherOf);
    const isLooked = suspects.length > 0;
    this.#sinceWhole += 1;
    // What they are told in the end may be another reading of theirs, so it is only looked ahead to here.
    const seen = isLooked
      ? { ...counters, others: this.#ticks.foresee(suspects, foreignOf(counters)) }
      : counters;
    const whole = this.#isWholeDue(seen) || last;
    const found = whole ? this.#readProcesses() : isLooked && { others: suspects };
    this.#before = found ? { ...counters, ...this.#told(found, counters) } : counters;
    return this.#before;
  }

  close(): void {
    this.#files.close();
  }

  #isWholeDue(now: TelemetrySample): boolean {
    const unexplained = this.#before !== undefined && isUnexplained(this.#before, now);
    const isNew = unexplained && !this.#wasUnexplained;
    this.#wasUnexplained = unexplained;
    return isNew || ((unexplained || this.#asksForDevices) && this.#sinceWhole >= READINGS_BETWEEN_WHOLE);
  }

  /** Who else is there, with what they can have run. */
  #told<T extends { others: Others }>(found: T, counters: Counters): T {
    return { ...found, others: this.#ticks.tell(found.others, foreignOf(counters)) };
  }

  #readCounters(): Counters {
    const engine = this.#statsOf(this.#members);
    const own = this.#statsOf(this.#own);
    const sensors = readSensors(this.#files, this.#sensors);
    const stat = this.#files.read('/proc/stat');
    if (stat === null) throw new Error('/proc/stat cannot be read');
    const { user, system } = process.cpuUsage();
    return {
      atMs: performance.now() - this.#beganAt,
      ...sensors,
      ...parseCpuLine(stat),
      ownTicks: sum([...engine, ...own].map((stat) => stat.cpuTicks)),
      majorFaults: sum(engine.map((stat) => stat.majorFaults)),
      selfCpuMs: (user + system) / 1000,
    };
  }

  #statsOf(pids: readonly number[]): ProcessStat[] {
    return pids.flatMap((pid) => this.#processes.read(pid) ?? []);
  }

  #readProcesses(): { others: Others; gpuUsers?: TelemetrySample['gpuUsers'] } {
    const all = this.#processes.readAll();
    this.#members = all.filter((stat) => stat.group === this.#group).map(({ pid }) => pid);
    const foreign = all.filter((stat) => stat.group !== this.#group && !this.#own.includes(stat.pid));
    // Nobody needs the hundreds that have done nothing yet.
    const others = foreign.filter((stat) => stat.cpuTicks > 0).map(otherOf);
    this.#suspects = suspectsOf(this.#lastWhole, others);
    this.#lastWhole = others;
    this.#sinceWhole = 0;
    if (!this.#asksForDevices) return { others };
    const gpuUsers = {
      engine: this.#members.some(holdsComputeDevice),
      others: foreign.filter(({ pid }) => holdsComputeDevice(pid)).map(({ name }) => printable(name)),
    };
    return { others, gpuUsers };
  }
}
