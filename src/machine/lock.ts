/**
 * The machine-wide lock: two sessions on one machine would measure each other. And the lock of a run folder, which two processes would
 * write at once where `QUALIFY_LOCK` lets two sessions be. A lock is a listening local socket with a fixed name. The kernel frees it with the process, also after `kill -9`, and whoever finds it taken asks it who holds it.
 */
import { realpathSync, unlinkSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { sha256 } from '../digest.js';
import { QualifyError } from '../errors.js';

/** Whoever listens there says what they like, and it is shown: nothing in it may steer a terminal. */
const textSchema = z
  .string()
  .transform((text) => text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ').slice(0, 200));

const holderSchema = z.object({
  pid: z.number(),
  user: textSchema,
  /** When it took the lock; the time that it waited before is not in it. */
  since: textSchema,
  what: textSchema,
  /** What it is at now; absent when it does not say. */
  phase: textSchema.optional(),
});
export type Holder = z.infer<typeof holderSchema>;

/** Longest that a holder whose event loop is busy gets to say who it is. */
const ASK_TIMEOUT_MS = 2000;
/** More than a holder says of itself; who says more is no holder of ours and is not listened to. */
const ANSWER_LIMIT_BYTES = 16 * 1024;
/** Until the next try, whatever the last one ended with: somebody who listens badly must not keep us busy. */
const RETRY_MS = 100;
/** Of tries to find who holds it; then somebody has its name and does not listen. */
const TRIES = 10;

/**
 * Where the lock lives: a name in Linux's abstract namespace (no file, nothing stale), a socket file elsewhere.
 * `QUALIFY_LOCK` names another one; two sessions under different names do not exclude each other.
 */
const lockAddress = (): string => addressOf(process.env.QUALIFY_LOCK ?? 'qualify.lock');

const addressOf = (name: string): string =>
  process.platform === 'linux' ? `\0${name}` : join(tmpdir(), name);

/** Where the lock of a folder lives: named after the folder itself, whatever link leads to it. It must exist. */
export const folderLockAddress = (folder: string): string =>
  addressOf(`qualify.run.${sha256(realpathSync(folder)).slice(0, 32)}`);

/** Bytes of `sun_path`, of which a name in the abstract namespace has the NUL at its beginning. */
const NAME_BYTES = 108;

/**
 * The name under which the system knows an address. In the abstract namespace every byte counts, and Node 20 fills a name up with NULs
 * where Node 22 does not: it is filled up here, so that sessions of both exclude each other. One that is too long goes by its digest.
 */
export function socketName(address: string): string {
  if (!address.startsWith('\0')) return address;
  const length = Buffer.byteLength(address);
  if (length > NAME_BYTES) return socketName(addressOf(`qualify.${sha256(address)}`));
  return address + '\0'.repeat(NAME_BYTES - length);
}

export interface MachineLock {
  /** Safe to call twice. */
  release(): Promise<void>;
}

/** Listens and tells everyone who connects who holds the lock. Null when somebody else listens there already. */
function listen(
  address: string,
  holder: Holder,
  phase: (() => string | undefined) | undefined,
): Promise<MachineLock | null> {
  return new Promise((resolve, reject) => {
    const asking = new Set<Socket>();
    const server = createServer((socket) => {
      asking.add(socket);
      socket.on('error', () => socket.destroy());
      socket.once('close', () => asking.delete(socket));
      socket.unref();
      socket.write(`${JSON.stringify({ ...holder, phase: phase?.() })}\n`);
    });
    const release = (): Promise<void> =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of asking) socket.destroy();
      });
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(null) : reject(error),
    );
    // Other users may ask too; an abstract address knows no permissions.
    const open = address.startsWith('\0') ? {} : { readableAll: true, writableAll: true };
    server.listen({ path: socketName(address), ...open }, () => {
      server.unref();
      resolve({ release });
    });
  });
}

type Asked =
  | { state: 'held'; holder: Holder | null; released: Promise<void>; hangUp: () => void }
  | { state: 'free' };

/** Nobody listens there. */
const NOBODY = ['ECONNREFUSED', 'ENOENT'];
/** Somebody has the name: too many ask at once, it is no stream, or it hangs up. */
const SILENT = ['EAGAIN', 'EPROTOTYPE', 'ECONNRESET', 'EPIPE'];

/**
 * Asks the lock who holds it. `released` resolves when the holder lets go, dies, or says too much to be listened to.
 * @throws what else keeps us from asking
 */
function ask(address: string, signal: AbortSignal | undefined): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ path: socketName(address) });
    const hangUp = (): void => void socket.destroy();
    const released = new Promise<void>((done) => socket.once('close', () => done()));
    const answer = (holder: Holder | null): void => resolve({ state: 'held', holder, released, hangUp });
    const timer = setTimeout(() => answer(null), ASK_TIMEOUT_MS);
    signal?.addEventListener('abort', hangUp, { once: true });
    let text = '';
    socket.on('data', (data) => {
      text += data.toString('utf8');
      if (text.length > ANSWER_LIMIT_BYTES) hangUp();
      else if (text.includes('\n')) answer(parseHolder(text));
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      const code = error.code ?? '';
      if (NOBODY.includes(code)) resolve({ state: 'free' });
      else if (!SILENT.includes(code)) reject(error);
    });
    socket.once('close', () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', hangUp);
      // Of no effect where it has answered.
      answer(null);
    });
  });
}

function parseHolder(text: string): Holder | null {
  try {
    return holderSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

const describe = (holder: Holder | null): string =>
  holder === null
    ? 'a process that does not answer'
    : `pid ${holder.pid} of ${holder.user} (${holder.what}), since ${holder.since}` +
      `${holder.phase === undefined || holder.phase === '' ? '' : `, now at: ${holder.phase}`}`;

const TELL_EVERY_MS = 60_000;

/** Whether `ended` comes to pass within the time. */
function endsWithin(ended: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    void ended.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

interface LockOptions {
  /** What holds it, for the message to others: a session's name. */
  what: string;
  /** What the holder is at, whenever somebody asks; undefined when there is nothing to say. */
  phase?: () => string | undefined;
  /** Wait for the holder instead of failing. */
  wait: boolean;
  /** Told who holds it at first and then each minute; also when the lock is taken over from a dead process. */
  onWait?: (message: string) => void;
  signal?: AbortSignal;
  address?: string;
  /** How often `onWait` is told; a minute when absent. */
  tellEveryMs?: number;
  /** What is taken, and what to do about it, for the message to others. */
  subject?: { name: string; hint: string };
}

const MACHINE = {
  name: 'The machine',
  hint: 'Two sessions at once would measure each other. Wait for it to end, or pass --wait.',
};

/** Why what measures nothing takes the lock of the machine too. */
export const SIMULATED_MACHINE = {
  name: MACHINE.name,
  hint: 'A simulation measures nothing, but its processes would disturb what the other session measures. Wait for that to end, or pass --wait.',
};

/** Whether a session writes the run of this folder now, which must exist. */
export async function isFolderLocked(folder: string): Promise<boolean> {
  const asked = await ask(folderLockAddress(folder), undefined);
  if (asked.state === 'held') asked.hangUp();
  return asked.state === 'held';
}

/** Takes the lock of a run folder, which must exist. @throws QualifyError `ERR_QUALIFY_LOCKED` (exit 15), unless `wait`. */
export const takeFolderLock = (
  folder: string,
  options: Omit<LockOptions, 'address' | 'subject'>,
): Promise<MachineLock> =>
  takeMachineLock({
    ...options,
    address: folderLockAddress(folder),
    subject: {
      name: `The run folder ${folder}`,
      hint: 'One session at a time writes a run. Wait for it to end.',
    },
  });

/**
 * Takes the lock.
 * @throws QualifyError `ERR_QUALIFY_LOCKED` (exit 15) naming the holder, unless `wait`.
 */
export async function takeMachineLock(options: LockOptions): Promise<MachineLock> {
  const address = options.address ?? lockAddress();
  const holder = {
    pid: process.pid,
    user: userInfo().username,
    what: options.what,
  };
  const tellEveryMs = options.tellEveryMs ?? TELL_EVERY_MS;
  let told = { message: '', at: Number.NEGATIVE_INFINITY };
  for (let tries = 0; ; await sleep(RETRY_MS)) {
    options.signal?.throwIfAborted();
    const lock = await listen(address, { ...holder, since: new Date().toISOString() }, options.phase);
    if (lock !== null) return lock;
    const asked = await ask(address, options.signal);
    options.signal?.throwIfAborted();
    if (asked.state === 'free') {
      // A socket file outlives its process where there is no abstract namespace: nobody answers, so it is stale.
      if (!address.startsWith('\0')) {
        unlinkSync(address);
        options.onWait?.(`took the lock ${address} over from a process that is dead`);
      }
      tries += 1;
      if (tries < TRIES) continue;
    }
    const found = asked.state === 'held' ? asked : null;
    if (!options.wait) {
      found?.hangUp();
      const { name, hint } = options.subject ?? MACHINE;
      throw new QualifyError(
        'ERR_QUALIFY_LOCKED',
        `${name} is taken by ${describe(found?.holder ?? null)}.`,
        {
          exit: 'infrastructure',
          hint,
        },
      );
    }
    const message = `waiting for ${describe(found?.holder ?? null)}`;
    if (message !== told.message || performance.now() - told.at >= tellEveryMs) {
      told = { message, at: performance.now() };
      options.onWait?.(message);
    }
    // What it is at changes: ask again after a while.
    if (found && !(await endsWithin(found.released, tellEveryMs))) found.hangUp();
  }
}
