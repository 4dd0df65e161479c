/** `qualify model create|inspect|audit`; `quantize` has its own file. */
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { sha256File } from '../engine/file-digest.js';
import { auditModel } from '../engine/model-audit.js';
import { denseSchema, expertsSchema, presetSchema } from '../matrix/schema.js';
import { describeAudit, describeModel } from '../report/model.js';
import { requireEmbeddedAddon } from './embedded.js';
import { modelError, refuseExisting, requireModelFile, writeModel } from './model-file.js';
import { registerQuantize } from './model-quantize.js';
import { wholeNumber } from './options.js';
import { answer, answerJson, formatBytes, note, startProgress } from './output.js';

/** The one that the embedded engine runs; a file of another can be looked at. */
const ARCHITECTURE = 'deepseek4';

interface CreateFlags {
  preset: string;
  experts: string;
  dense?: string;
  seed: number;
  out: string;
  threads: number;
  stress: boolean;
  roundTrips: boolean;
  force: boolean;
  json: boolean;
}

async function create(flags: CreateFlags, command: Command): Promise<void> {
  await refuseExisting(flags.out, flags.force);
  const addon = await requireEmbeddedAddon();
  const { preset, seed, threads, stress, roundTrips } = flags;
  // Stress models are F32 throughout; only what the user asked for may be refused for that.
  const experts = stress && command.getOptionValueSource('experts') === 'default' ? 'f32' : flags.experts;
  const dense = flags.dense ?? null;
  const made = await writeModel(flags.out, 'writing', (out, onBytes) =>
    addon.createModel({ preset, experts, dense, seed, threads, stress, roundTrips, out }, onBytes),
  );
  if (flags.json) answerJson({ schemaVersion: 1, ...made });
  else answer(`${made.path}: ${formatBytes(made.sizeBytes)}, ${made.tensors} tensors, sha256 ${made.sha256}`);
}

const ANOTHER_FILE = 'qualify model create --out FILE makes a sound one';

async function inspect(path: string, flags: { json: boolean }): Promise<void> {
  await requireModelFile(path);
  const addon = await requireEmbeddedAddon();
  const description = await addon.inspectModel(resolve(path), true).catch((error: unknown) => {
    throw modelError('ERR_QUALIFY_MODEL_FILE', error, path, ANOTHER_FILE);
  });
  const architecture = description.metadata['general.architecture'];
  if (architecture === undefined) {
    const message = 'the file names no architecture: the key general.architecture is missing';
    throw modelError('ERR_QUALIFY_MODEL_FILE', new Error(message), path, ANOTHER_FILE);
  }
  if (architecture !== ARCHITECTURE)
    note(
      `the architecture is ${JSON.stringify(architecture)}; the embedded engine runs ${ARCHITECTURE} only`,
    );
  const sha256 = await sha256File(path);
  if (flags.json) answerJson({ schemaVersion: 1, path: resolve(path), sha256, ...description });
  else answer(describeModel(path, sha256, description));
}

async function audit(path: string, flags: { json: boolean; threads: number }): Promise<void> {
  await requireModelFile(path);
  const addon = await requireEmbeddedAddon();
  const progress = startProgress();
  const report = await auditModel(addon, resolve(path), flags.threads, (done, total) =>
    progress.update(`auditing prompt ${done} of ${total}`, done / total),
  ).catch((error: unknown) => {
    throw modelError('ERR_QUALIFY_MODEL_FILE', error, path, ANOTHER_FILE);
  });
  progress.end();
  if (flags.json) answerJson({ schemaVersion: 1, path: resolve(path), ...report });
  else answer(describeAudit(path, report));
}

export function register(program: Command): void {
  const model = program.command('model').description('models: make, quantise, look at, audit');
  const threads = () =>
    new Option('--threads <n>', 'threads to use')
      .argParser(wholeNumber(1, 1024))
      .default(availableParallelism());
  model
    .command('create')
    .description('write a GGUF file of the deepseek4 architecture whose weights follow from a seed')
    .addOption(
      new Option('--preset <name>', 'size of the model').choices(presetSchema.options).default('mini'),
    )
    .addOption(
      new Option('--experts <type>', 'type of the experts: gate and up, with the down type that goes with it')
        .choices(expertsSchema.options)
        .default('rocmfp2'),
    )
    .addOption(
      new Option(
        '--dense <type>',
        'type of attention, indexer, shared experts, embedding and output (default: q8_0); of a float model, no activation is rounded',
      ).choices(denseSchema.options),
    )
    .addOption(
      new Option('--seed <n>', 'seed of the weights')
        .argParser(wholeNumber(0, Number.MAX_SAFE_INTEGER))
        .default(1),
    )
    .requiredOption('--out <file>', 'the file to write')
    .addOption(threads())
    .option(
      '--stress',
      'unstructured weights, every tensor F32, odd metadata: for correctness against the oracle',
      false,
    )
    .option(
      '--no-round-trips',
      'do not round keys to FP8 and indexer vectors to FP4: for comparing with llama.cpp, which never does',
    )
    .option('--force', 'overwrite the file', false)
    .option('--json', 'answer with one JSON object', false)
    .action(create);
  registerQuantize(model, threads);
  model
    .command('inspect <file>')
    .description('check a model and print its dimensions, tensors, types, sizes and SHA-256')
    .option('--json', 'answer with one JSON object', false)
    .action(inspect);
  model
    .command('audit <file>')
    .description(
      'report how decisive the logits are: the margin of the best over the second id, over built-in prompts',
    )
    .addOption(threads())
    .option('--json', 'answer with one JSON object', false)
    .action(audit);
}
