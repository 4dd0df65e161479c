/** `qualify engine serve|logits`: the embedded engine by itself. */
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { z } from 'zod';
import type { NativeEngine } from '../engine/addon.js';
import {
  DEFAULT_CACHE_SLOTS,
  DEFAULT_CHUNK,
  DEFAULT_CONTEXT_TOKENS,
  isaSchema,
} from '../engine/host-options.js';
import { QualifyError } from '../errors.js';
import { conform } from '../faults.js';
import { parseCpuList } from '../matrix/cpu-list.js';
import { explainSystemError } from '../system-error.js';
import { requireEmbeddedAddon } from './embedded.js';
import { wholeNumber } from './options.js';
import { note } from './output.js';
import { serve } from './serve.js';

const idsSchema = z.array(z.unknown()).min(1);

/** An `Int32Array` would take ids modulo 2^32 without a word. */
const MOST_ID = 2 ** 31 - 1;

const isId = (id: unknown): id is number => Number.isInteger(id) && Number(id) >= 0 && Number(id) <= MOST_ID;

const wrongId = (path: string, index: number, id: unknown, wanted: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_TOKENS_FILE', `id ${JSON.stringify(id)} at index ${index} is not ${wanted}`, {
    exit: 'usage',
    hint: 'the file holds one JSON array of ids, as [1, 2, 3]',
    where: `${path}[${index}]`,
  });

async function readIds(path: string): Promise<Int32Array> {
  try {
    const ids = conform(idsSchema, JSON.parse(await readFile(path, 'utf8')), (faults) => noIds(path, faults));
    const wrong = ids.findIndex((id) => !isId(id));
    if (wrong >= 0) throw wrongId(path, wrong, ids[wrong], `a whole number from 0 to ${MOST_ID}`);
    return Int32Array.from(ids.filter(isId));
  } catch (error) {
    if (error instanceof QualifyError) throw error;
    throw noIds(path, ` ${(error as Error).message}`, error);
  }
}

const noIds = (path: string, why: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_TOKENS_FILE', `cannot read token ids:${why}`, {
    exit: 'usage',
    hint: 'the file holds one JSON array of ids, as [1, 2, 3]',
    where: path,
    cause,
  });

interface LogitsFlags {
  model: string;
  tokens: string;
  out: string;
  all: boolean;
  reference: boolean;
  chunk: number;
  threads: number;
  isa?: string;
}

/** Raw F32, little-endian: every machine that the engine runs on is. */
async function writeLogits(engine: NativeEngine, ids: Int32Array, flags: LogitsFlags): Promise<void> {
  const { vocabulary } = engine;
  const beyond = ids.findIndex((id) => id >= vocabulary);
  if (beyond >= 0)
    throw wrongId(flags.tokens, beyond, ids[beyond], `in the vocabulary: from 0 to ${vocabulary - 1}`);
  const rows = await engine.logits(ids, { chunk: flags.chunk, reference: flags.reference });
  const wanted = flags.all ? rows : rows.subarray(rows.length - vocabulary);
  const words = Float32Array.from(wanted);
  await writeFile(flags.out, new Uint8Array(words.buffer)).catch((error: unknown) => {
    throw explainSystemError(error, flags.out);
  });
  note(
    `${flags.out}: ${words.length / vocabulary} x ${vocabulary} F32, isa ${engine.isa}${flags.reference ? ', fp64 reference' : ''}`,
  );
}

async function logits(flags: LogitsFlags): Promise<void> {
  const ids = await readIds(flags.tokens);
  const addon = await requireEmbeddedAddon();
  const isa = isaSchema.nullable().parse(flags.isa ?? null);
  const options = { threads: flags.threads, cpus: null, contextTokens: ids.length + 1, cacheSlots: 0, isa };
  try {
    const engine = await addon.open(resolve(flags.model), options);
    try {
      await writeLogits(engine, ids, flags);
    } finally {
      engine.close();
    }
  } catch (error) {
    if (error instanceof QualifyError) throw error;
    throw new QualifyError('ERR_QUALIFY_ENGINE', (error as Error).message, {
      exit: 'infrastructure',
      where: flags.model,
      cause: error,
    });
  }
}

export function register(program: Command): void {
  const engine = program
    .command('engine')
    .description('the embedded engine by itself: serve a model, write its logits');
  const number = (flags: string, text: string, minimum: number, maximum: number, value: number) =>
    new Option(flags, text).argParser(wholeNumber(minimum, maximum)).default(value);
  const threads = () => number('--threads <n>', 'threads that compute', 1, 1024, availableParallelism());
  const isa = () => new Option('--isa <name>', 'instruction set, for tests').choices(isaSchema.options);
  const cpus = new Option('--cpus <list>', 'CPUs to pin the threads to, one each, as 0-1 or 0,2').argParser(
    (text) => {
      parseCpuList(text);
      return text;
    },
  );
  engine
    .command('serve')
    .description('serve a model on loopback in the dialects of llama-server and OpenAI completions')
    .requiredOption('--model <file>', 'the GGUF file')
    .addOption(number('--port <n>', 'port; 0 takes a free one', 0, 65_535, 8080))
    .addOption(
      new Option('--host <address>', 'loopback address')
        .choices(['127.0.0.1', '::1', 'localhost'])
        .default('127.0.0.1'),
    )
    .addOption(threads())
    .addOption(cpus)
    .addOption(
      number(
        '--context <n>',
        'longest prompt and output together, in tokens',
        1,
        1_048_576,
        DEFAULT_CONTEXT_TOKENS,
      ),
    )
    .addOption(
      number('--cache-slots <n>', 'slots of the prefix cache; 0 turns it off', 0, 1024, DEFAULT_CACHE_SLOTS),
    )
    .addOption(isa())
    .option('--nonce <text>', 'text that /props echoes')
    .action(serve);
  engine
    .command('logits')
    .description('write the logits of a prompt as raw little-endian F32, for checks from outside')
    .requiredOption('--model <file>', 'the GGUF file')
    .requiredOption('--tokens <file>', 'JSON array of token ids')
    .requiredOption('--out <file>', 'the file to write')
    .option('--all', 'every position, row by row, instead of the last', false)
    .option('--reference', 'from the fp64 reference instead of the fast path', false)
    .addOption(number('--chunk <n>', 'tokens evaluated at once', 1, 1_048_576, DEFAULT_CHUNK))
    .addOption(threads())
    .addOption(isa())
    .action(logits);
}
