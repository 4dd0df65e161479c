/** The harness's side of telemetry: one process for the session, told which launch to watch. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { QualifyError } from '../errors.js';
import { type Order, replySchema } from './telemetry-messages.js';

const program = fileURLToPath(new URL('./telemetry-process.js', import.meta.url));

/** One reading a second: half of what may disturb (two), and enough for a clock that falls during a prefill. */
const TELEMETRY_PERIOD_MS = 1000;

/**
 * For V8 in a process that works for a millisecond a second. To optimise code that runs so seldom, or to collect garbage in the course of
 * a launch, costs more than ten readings: the process collects what its start left, which needs `gc`, and has room for what follows.
 */
const FRUGAL = ['--no-opt', '--expose-gc', '--no-memory-reducer', '--min-semi-space-size=16'];

const REPLY_TIMEOUT_MS = 10_000;

const failed = (why: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_TELEMETRY', `The telemetry of the session stopped: ${why}.`, {
    exit: 'infrastructure',
    hint: 'Resume the session, or look at what ended the process.',
  });

/** Watches one launch at a time. Ends with `close`, and by itself when the harness is gone. */
export class Telemetry {
  readonly #child: ChildProcess;

  constructor() {
    // In a session of its own, so that Ctrl-C at the terminal does not reach it; of the environment, nothing that it could need.
    this.#child = fork(program, [], {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: FRUGAL,
      detached: true,
    });
    this.#child.on('error', () => {});
    this.#child.unref();
    this.#child.channel?.unref();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Begins to watch the engine's group; a first line is in `path` when this resolves. @throws ERR_QUALIFY_TELEMETRY (exit 15) */
  async watch(group: number, path: string): Promise<void> {
    await this.#order({ do: 'watch', group, harness: process.pid, periodMs: TELEMETRY_PERIOD_MS, path });
  }

  /** Takes a last reading and lets go of the launch. @throws ERR_QUALIFY_TELEMETRY (exit 15) */
  async finish(): Promise<void> {
    await this.#order({ do: 'finish' });
  }

  /** It has written all that it was asked for, so nothing is lost by not asking: a process that was stopped would never answer. */
  close(): void {
    this.#child.kill('SIGKILL');
  }

  async #order(order: Order): Promise<void> {
    const child = this.#child;
    if (!child.connected) throw failed('its process is gone');
    child.channel?.ref();
    let stopWaiting = (): void => {};
    try {
      const answered = new Promise<unknown>((resolve, reject) => {
        const timer = setTimeout(() => reject(failed('it does not answer')), REPLY_TIMEOUT_MS);
        const gone = (): void => reject(failed('its process ended'));
        child.once('message', resolve);
        child.once('exit', gone);
        stopWaiting = () => {
          clearTimeout(timer);
          child.off('message', resolve);
          child.off('exit', gone);
        };
      });
      child.send(order);
      const { error } = replySchema.parse(await answered);
      if (error !== null) throw failed(error);
    } finally {
      stopWaiting();
      if (child.connected) child.channel?.unref();
    }
  }
}
