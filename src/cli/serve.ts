/** `qualify engine serve`: runs the engine's process, says when it listens, and why when it never does. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { short } from '../digest.js';
import { ENGINE_NODE_FLAGS } from '../engine/host-options.js';
import { listeningPort } from '../engine/launch.js';
import { QualifyError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { nativeHostScript } from '../harness.js';
import { parseCpuList } from '../matrix/cpu-list.js';
import { shellPath } from '../shell-word.js';
import { requireEmbeddedBuild } from './embedded.js';
import { requireModelFile } from './model-file.js';
import { note } from './output.js';

/** The switch whose value is a file. */
const HOTNESS = 'DFLASH_DS4_HOTNESS_CSV';

interface ServeFlags {
  model: string;
  host: string;
  port: number;
  nonce?: string;
  threads: number;
  cpus?: string;
  context: number;
  cacheSlots: number;
  isa?: string;
}

/**
 * Serves until the engine ends, and exits with its code.
 * @throws QualifyError exit 64 for a model file or a CPU that is not there and for a wrong switch, 15 when the engine ends before it listens.
 */
export async function serve(flags: ServeFlags): Promise<void> {
  await requireFlags(flags);
  const build = await requireEmbeddedBuild();
  const args = [...ENGINE_NODE_FLAGS, nativeHostScript, '--addon', build.binary];
  args.push('--model', resolve(flags.model));
  args.push('--host', flags.host, '--port', String(flags.port), '--nonce', flags.nonce ?? randomUUID());
  args.push('--check-values', 'yes', '--build-digest', build.buildDigest, '--threads', String(flags.threads));
  args.push('--context', String(flags.context), '--cache-slots', String(flags.cacheSlots));
  if (flags.cpus !== undefined) args.push('--cpus', flags.cpus);
  if (flags.isa !== undefined) args.push('--isa', flags.isa);
  // The pipe on stdin stays open as long as we live: the engine ends when it closes.
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let asked = false;
  // Handlers for good: a terminal sends Ctrl-C to both of us, and we wait for the engine to end in order.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      asked = true;
      child.kill('SIGTERM');
    });
  }
  const said = relay(child, (port) => {
    const address = flags.host === '::1' ? '[::1]' : flags.host;
    const where = `http://${address}:${port}`;
    note(`serving ${flags.model} on ${where}, build ${short(build.buildDigest)}; Ctrl-C ends it`);
  });
  const [exitCode] = (await once(child, 'close')) as [number | null];
  const before = said();
  if (before !== null && exitCode !== 0 && !asked) throw startFailure(before, exitCode, flags);
  process.exitCode = exitCode ?? EXIT.infrastructure;
}

async function requireFlags(flags: ServeFlags): Promise<void> {
  await requireModelFile(flags.model);
  const count = cpus().length;
  const beyond = parseCpuList(flags.cpus ?? '0').find((cpu) => cpu >= count);
  if (beyond === undefined) return;
  throw new QualifyError('ERR_QUALIFY_USAGE', `there is no CPU ${beyond}: this machine has ${count}`, {
    exit: 'usage',
    where: `--cpus ${flags.cpus}`,
    hint: `name CPUs from 0 to ${count - 1}`,
  });
}

/** Passes on what the engine says; the answer gives what it said on stderr as long as it does not listen, then null. */
function relay(child: ChildProcess, onListening: (port: number) => void): () => string | null {
  let before: string | null = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (before === null) process.stderr.write(text);
    else before += text;
  });
  if (child.stdout === null) throw new Error('The engine has no stdout.');
  createInterface(child.stdout).on('line', (line) => {
    process.stdout.write(`${line}\n`);
    const port = before === null ? null : listeningPort(line);
    if (port === null) return;
    process.stderr.write(before ?? '');
    before = null;
    onListening(port);
  });
  return () => before;
}

/** The engine says `engine: MESSAGE` and perhaps `next: HINT`, and exits 64 when its own flags or switches are wrong. */
function startFailure(said: string, exitCode: number | null, flags: ServeFlags): QualifyError {
  if (said.includes('EADDRINUSE')) {
    return new QualifyError('ERR_QUALIFY_PORT_TAKEN', `port ${flags.port} is taken by another process`, {
      exit: 'infrastructure',
      where: `${flags.host}:${flags.port}`,
      hint: 'name another with --port, or let --port 0 take a free one',
    });
  }
  const hint = /^ {2}next: (.*)$/m.exec(said)?.[1];
  const message = said
    .replace(/^ {2}next: .*$/m, '')
    .replace(/^engine: /, '')
    .trim();
  // A switch that is refused is named first, or the file that it names.
  const csv = process.env[HOTNESS];
  const ofCsv = csv !== undefined && csv !== '' && message.startsWith(csv);
  const name = ofCsv ? HOTNESS : /^([A-Z][A-Z0-9_]+)(?:=| is empty| needs )/.exec(message)?.[1];
  const remedy =
    name === undefined
      ? `qualify model inspect ${shellPath(flags.model)} says whether the file is whole`
      : `set ${name} to what is allowed, or leave it out`;
  return new QualifyError(
    'ERR_QUALIFY_ENGINE',
    message || `the engine ended at its start (exit ${exitCode})`,
    {
      exit: exitCode === EXIT.usage ? 'usage' : 'infrastructure',
      where: ofCsv ? csv : (name ?? flags.model),
      hint: hint ?? remedy,
    },
  );
}
