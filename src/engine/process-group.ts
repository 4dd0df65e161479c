/**
 * One engine process and everything it starts, as a process group of its own: started with a closed environment, watched,
 * and ended as a whole. Invariant: after `stop` resolves nothing that the launch started is alive; when the harness ends by any
 * way that runs JavaScript, `killAllGroups` ends what is left; when it is killed, a guard does, and the engine's stdin closes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { explainDiskFull } from '../disk-full.js';
import { QualifyError } from '../errors.js';
import { guardGroup } from '../machine/group-guard.js';
import { groupMembers, processesWithVariable, processName } from '../machine/procfs.js';
import { signalGroup } from '../machine/signal-group.js';
import { EngineLog } from './engine-log.js';
import { LAUNCH_VARIABLE } from './environment.js';

export interface GroupSpec {
  command: string;
  arguments: readonly string[];
  /** The whole environment. `LAUNCH_VARIABLE` is added to it and marks every descendant. */
  environment: Readonly<Record<string, string>>;
  /** Unique; the value of `LAUNCH_VARIABLE`. */
  mark: string;
  /** stdout and stderr go here, see `EngineLog`; must not exist. */
  logPath: string;
}

interface GroupEnd {
  how: 'asked' | 'killed' | 'died';
  /** Names of the processes that were still there once the leader had ended and its children had had their time; absent for none. */
  left?: string[];
  exitCode: number | null;
  signal: string | null;
}

const ASK_MS = 5000;
const KILL_MS = 10_000;
/** What children get to follow their leader. Those that take longer are named as left behind, so it is ample. */
const CHILDREN_MS = 2000;
/** What the end of a process or of its output gets to be seen. */
const LINGER_MS = 500;
const POLL_MS = 10;
const LINE_LIMIT = 65_536;
const LOG_TAIL_LINES = 20;

const running = new Set<ProcessGroup>();

/** Kills every engine that still runs, at once. For the exit of the harness only. */
export function killAllGroups(): void {
  for (const group of running) group.kill();
}

export class ProcessGroup {
  readonly pid: number;
  readonly spec: GroupSpec;
  /** Resolves when the leader ends; descendants may live on until `stop`. */
  readonly ended: Promise<{ exitCode: number | null; signal: string | null }>;
  readonly #child: ChildProcess;
  readonly #closed: Promise<void>;
  readonly #log: EngineLog;
  readonly #dismissGuard: () => void;
  /** Sees each line of stdout while somebody waits for one; nothing is kept otherwise. */
  #onLine: ((line: string) => void) | null = null;
  #end: { exitCode: number | null; signal: string | null } | null = null;
  #stopped: Promise<GroupEnd> | undefined;
  /** Why the log could not be written; the engine is ended for it. */
  #logFailure: unknown = null;
  /** The end of a log that is closed. */
  #tail: string | undefined;

  private constructor(spec: GroupSpec, child: ChildProcess, pid: number, log: EngineLog) {
    this.spec = spec;
    this.pid = pid;
    this.#child = child;
    this.#log = log;
    this.#dismissGuard = guardGroup(pid);
    let partial = '';
    child.stdout?.on('data', (data: Buffer) => {
      this.#keep(() => log.write(data));
      if (this.#onLine === null) return;
      const pieces = (partial + data.toString('utf8')).split('\n');
      partial = (pieces.pop() ?? '').slice(0, LINE_LIMIT);
      for (const line of pieces) this.#onLine?.(line);
    });
    child.stderr?.on('data', (data: Buffer) => this.#keep(() => log.write(data)));
    child.stdin?.on('error', () => child.stdin?.destroy());
    this.#closed = new Promise((resolve) => {
      child.once('close', () => {
        try {
          this.#tail = log.tail(LOG_TAIL_LINES);
          log.close();
        } catch (error) {
          this.#tail ??= '';
          this.#logFailure ??= explainDiskFull(error, spec.logPath);
        }
        resolve();
      });
    });
    this.ended = new Promise((resolve) => {
      child.once('exit', (exitCode, signal) => {
        this.#end = { exitCode, signal };
        resolve(this.#end);
      });
    });
    running.add(this);
  }

  /**
   * Starts the process as the leader of a new group.
   * @throws QualifyError `ERR_QUALIFY_LAUNCH_FAILED` (exit 15) when it cannot be started at all.
   */
  static async start(spec: GroupSpec): Promise<ProcessGroup> {
    const environment = { ...spec.environment, [LAUNCH_VARIABLE]: spec.mark };
    const log = new EngineLog(spec.logPath);
    const child = spawn(spec.command, spec.arguments, { detached: true, env: environment, stdio: 'pipe' });
    return new Promise((resolve, reject) => {
      child.once('error', (cause) => {
        log.close();
        reject(
          new QualifyError('ERR_QUALIFY_LAUNCH_FAILED', `Cannot start ${spec.command}: ${cause.message}.`, {
            exit: 'infrastructure',
            hint: 'Check that the file exists and is executable.',
            cause,
          }),
        );
      });
      child.once('spawn', () => {
        if (child.pid !== undefined)
          resolve(new ProcessGroup({ ...spec, environment }, child, child.pid, log));
      });
    });
  }

  /**
   * The first line of stdout that `read` makes something of. Call it right after `start`.
   * @throws QualifyError `ERR_QUALIFY_ENGINE_DIED` (exit 15) when the leader ends before it comes.
   */
  async firstLine<T>(read: (line: string) => T | null): Promise<T> {
    const found = new Promise<T>((resolve) => {
      this.#onLine = (line) => {
        const value = read(line);
        if (value === null) return;
        this.#onLine = null;
        resolve(value);
      };
    });
    const first = await Promise.race([found, this.#endedAndHeard().then(() => null)]);
    if (first === null) throw this.death('before it was ready');
    return first;
  }

  /**
   * Waits for `exchange`, but not longer than the leader lives.
   * @throws QualifyError `ERR_QUALIFY_ENGINE_DIED` (exit 15), also when the exchange broke because the engine is dying.
   */
  async alive<T>(exchange: Promise<T>): Promise<T> {
    const death = this.#endedAndHeard().then((): never => {
      throw this.death('while it answered');
    });
    // A broken connection is seen before the exit of the process: give the exit its moment to explain it.
    const explained = exchange.catch(async (error: unknown) => {
      await Promise.race([this.#endedAndHeard(), sleep(LINGER_MS, undefined, { ref: false })]);
      throw this.hasEnded ? this.death('while it answered') : error;
    });
    return Promise.race([explained, death]);
  }

  /** The leader has ended, and what it said is in the log; or somebody else still holds its output open. */
  async #endedAndHeard(): Promise<void> {
    await this.ended;
    await Promise.race([this.#closed, sleep(LINGER_MS, undefined, { ref: false })]);
  }

  #keep(write: () => void): void {
    if (this.#logFailure !== null) return;
    try {
      write();
    } catch (error) {
      this.#logFailure = explainDiskFull(error, this.spec.logPath);
      this.kill();
    }
  }

  get hasEnded(): boolean {
    return this.#end !== null;
  }

  /** The error to report when the leader is found dead. */
  death(when: string): QualifyError {
    if (this.#logFailure instanceof QualifyError) return this.#logFailure;
    const how = this.#end?.signal
      ? `by ${this.#end.signal}`
      : `with exit code ${this.#end?.exitCode ?? 'unknown'}`;
    return new QualifyError(
      'ERR_QUALIFY_ENGINE_DIED',
      `The engine ended ${how} ${when}.\n${this.logTail()}`,
      {
        exit: 'infrastructure',
        where: this.spec.logPath,
        hint: 'The whole log is at the place named above.',
      },
    );
  }

  /** Last lines of the log, for messages. */
  logTail(): string {
    return this.#tail ?? this.#log.tail(LOG_TAIL_LINES);
  }

  /** Ends group and strays now, without waiting. */
  kill(): void {
    signalGroup(this.pid, 'SIGKILL');
    for (const pid of this.#strays()) killProcess(pid);
  }

  /**
   * SIGTERM to the group, SIGKILL to what remains, and proof that nobody is left. Safe to call twice.
   * @throws QualifyError `ERR_QUALIFY_PROCESS_LEFT` (exit 15) when something survives even that; `ERR_QUALIFY_DISK_FULL` (15) for the end of the log
   */
  stop(): Promise<GroupEnd> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<GroupEnd> {
    const died = this.hasEnded;
    const failedBefore = this.#logFailure !== null;
    if (!died) signalGroup(this.pid, 'SIGTERM');
    const asked =
      !died &&
      (await this.#within(ASK_MS, () => this.hasEnded)) &&
      (await this.#within(CHILDREN_MS, this.#isGone));
    const left = asked ? [] : this.#left();
    if (!asked) {
      this.kill();
      if (!(await this.#within(KILL_MS, this.#isGone))) {
        const hint = `They belong to group ${this.pid}: look with \`ps -eo pid,pgid,stat,args\`.`;
        throw new QualifyError(
          'ERR_QUALIFY_PROCESS_LEFT',
          `Processes of launch ${this.spec.mark} survive SIGKILL.`,
          { exit: 'infrastructure', hint },
        );
      }
    }
    running.delete(this);
    this.#dismissGuard();
    this.#child.stdin?.destroy();
    // Whoever could write to the pipe is gone, so its end comes as soon as what is in it has been logged.
    await Promise.race([this.#closed, sleep(LINGER_MS, undefined, { ref: false })]);
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    await this.#closed;
    // What failed before has ended the engine, and is told as that.
    if (!failedBefore && this.#logFailure !== null) throw this.#logFailure;
    const how = died ? 'died' : asked ? 'asked' : 'killed';
    return { how, ...(await this.ended), ...(left.length > 0 && { left }) };
  }

  async #within(limitMs: number, holds: () => boolean): Promise<boolean> {
    const deadline = performance.now() + limitMs;
    while (!holds()) {
      if (performance.now() > deadline) return false;
      await sleep(POLL_MS);
    }
    return true;
  }

  /** The leader has been reaped and nothing else of the launch lives. */
  readonly #isGone = (): boolean =>
    this.hasEnded && groupMembers(this.pid).length === 0 && this.#strays().length === 0;

  /** Names of what outlives the leader. One that still runs has left nothing yet. */
  #left(): string[] {
    if (!this.hasEnded) return [];
    const pids = new Set([...groupMembers(this.pid).map(({ pid }) => pid), ...this.#strays()]);
    return [...pids].flatMap((pid) => processName(pid) ?? []).toSorted();
  }

  /** Descendants that made a group of their own. */
  #strays(): number[] {
    return processesWithVariable(`${LAUNCH_VARIABLE}=${this.spec.mark}`);
  }
}

const killProcess = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
};
