/**
 * Signing by a command of the user's: a key in a KMS, an HSM or on another host signs without `qualify` ever having it. The command gets
 * the bytes to sign on stdin and answers with the signature on stdout: 64 bytes of Ed25519, or ECDSA with SHA-256 in DER. It is started
 * without a shell, and what it answers is checked before anything is written.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { QualifyError } from '../errors.js';
import { guardGroup } from '../machine/group-guard.js';
import { signalGroup } from '../machine/signal-group.js';
import { masked } from '../report/escape.js';
import type { SigningKey } from './key-store.js';
import { preAuthenticationEncoding } from './pae.js';
import type { PublicKey } from './public-key.js';
import { readPublicKey } from './public-key-file.js';
import { isSignedBy, normaliseSignature, signatureProblem } from './signature.js';

/** The command and the public key that belongs to it. No engine and no build inherits either. */
export const SIGNER_VARIABLE = 'QUALIFY_SIGNER';
export const SIGNER_KEY_VARIABLE = 'QUALIFY_SIGNER_KEY';

/** How long the command may take. */
const SIGNER_LIMIT_MS = 60_000;
const MOST_OUTPUT_BYTES = 4096;
const MOST_COMPLAINT = 1000;
/** What is signed to try the command; no verifier takes this type for a statement. */
const PROBE_TYPE = 'application/vnd.qualify.probe';

/**
 * The signer that the environment names, or null when it names none. Words of the command are separated by spaces; there is no quoting.
 * @throws ERR_QUALIFY_USAGE (exit 64) when only one of the variables is there
 */
export async function externalSigner(
  environment: NodeJS.ProcessEnv = process.env,
  limitMs = SIGNER_LIMIT_MS,
): Promise<SigningKey | null> {
  const words = (environment[SIGNER_VARIABLE] ?? '').split(' ').filter((word) => word !== '');
  const keyPath = environment[SIGNER_KEY_VARIABLE] ?? '';
  const [program, ...args] = words;
  if (program === undefined && keyPath === '') return null;
  if (program === undefined || keyPath === '') {
    const [given, missing] =
      program === undefined ? [SIGNER_KEY_VARIABLE, SIGNER_VARIABLE] : [SIGNER_VARIABLE, SIGNER_KEY_VARIABLE];
    throw new QualifyError('ERR_QUALIFY_USAGE', `${given} is set and ${missing} is not`, {
      exit: 'usage',
      where: missing,
      hint: `Set ${SIGNER_VARIABLE} to the command and ${SIGNER_KEY_VARIABLE} to its public key, or neither.`,
    });
  }
  const publicKey = await readPublicKey(keyPath);
  const command: Command = { program, args, environment, limitMs };
  return { name: program, publicKey, sign: (message) => signBy(command, publicKey, message) };
}

/** Has the signer sign something that says nothing, so that hours of measuring are not lost to a command that fails. */
export async function probeSigner(signer: SigningKey): Promise<void> {
  await signer.sign(preAuthenticationEncoding(PROBE_TYPE, randomBytes(32)));
}

interface Command {
  program: string;
  args: readonly string[];
  environment: NodeJS.ProcessEnv;
  limitMs: number;
}

async function signBy(command: Command, key: PublicKey, message: Uint8Array): Promise<Buffer> {
  const signature = normaliseSignature(key, await answerOf(command, message));
  const problem = signatureProblem(key, signature);
  if (problem !== null) throw failed(command, `answered with a signature that ${problem}`);
  if (!isSignedBy(key, message, signature))
    throw failed(
      command,
      `answered with a signature that is not by ${key.keyId}, the key of ${SIGNER_KEY_VARIABLE}`,
    );
  return signature;
}

/** What the command writes to stdout. Nothing that it started is left when this is answered. */
async function answerOf(command: Command, message: Uint8Array): Promise<Buffer> {
  const { program, args, environment, limitMs } = command;
  // In a group of its own: Ctrl-C ends the measuring, not the sealing of what was measured.
  const child = spawn(program, args, { env: environment, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const unguard = child.pid === undefined ? () => {} : guardGroup(child.pid);
  let ended: string | null = null;
  const end = (why: string | null = null): void => {
    ended ??= why;
    signalGroup(child.pid, 'SIGKILL');
    // What left the group may keep the pipes open, and is not waited for.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  };
  const endAtExit = (): void => end();
  process.once('exit', endAtExit);
  const timer = setTimeout(() => end(`took longer than ${limitMs / 1000} s`), limitMs);
  const output: Buffer[] = [];
  let complaint = '';
  child.stdout.on('data', (bytes: Buffer) => {
    output.push(bytes);
    if (output.reduce((sum, { length }) => sum + length, 0) > MOST_OUTPUT_BYTES)
      end(`wrote more than ${MOST_OUTPUT_BYTES} bytes; a signature is expected on stdout, and nothing else`);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-MOST_COMPLAINT);
  });
  // A command that does not read all is judged by what it answers.
  child.stdin.on('error', () => {});
  child.stdin.end(message);
  try {
    const [exitCode, signal] = (await once(child, 'close')) as [number | null, string | null];
    if (ended !== null) throw failed(command, ended, complaint);
    if (exitCode !== 0) throw failed(command, `ended with ${signal ?? `exit code ${exitCode}`}`, complaint);
    return Buffer.concat(output);
  } catch (cause) {
    if (cause instanceof QualifyError) throw cause;
    throw failed(command, 'cannot be started', cause instanceof Error ? cause.message : String(cause), cause);
  } finally {
    clearTimeout(timer);
    end();
    process.removeListener('exit', endAtExit);
    unguard();
  }
}

function failed({ program }: Command, why: string, complaint = '', cause?: unknown): QualifyError {
  const said = masked(complaint.trim(), '\n');
  return new QualifyError(
    'ERR_QUALIFY_SIGNER',
    `The signer ${program} ${why}.${said === '' ? '' : `\n${said}`}`,
    {
      exit: 'infrastructure',
      where: SIGNER_VARIABLE,
      hint: 'Try it by hand: it gets the bytes to sign on stdin and writes the signature to stdout. docs/trust.md has an example.',
      ...(cause === undefined ? {} : { cause }),
    },
  );
}
