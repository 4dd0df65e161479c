/** `qualify model quantize`. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { QualifyError } from '../errors.js';
import { expertsSchema } from '../matrix/schema.js';
import { describeQuantized } from '../report/model.js';
import { requireEmbeddedAddon } from './embedded.js';
import { refuseExisting, writeModel } from './model-file.js';
import { answer, answerJson } from './output.js';

/** Every type that a matrix can have. */
const DENSE_TYPES = [
  'f32',
  'f16',
  'bf16',
  'q4_0',
  'q8_0',
  'q2_k',
  'mxfp4',
  'rocmfp4',
  'rocmfp4_fast',
  'rocmfp2',
  'rocmfp3',
];

interface QuantizeFlags {
  experts: string;
  dense?: string;
  imatrix?: string;
  threads: number;
  force: boolean;
  json: boolean;
}

/** Replacing a file by what is read from it would lose both on a failure. */
async function refuseSameFile(input: string, output: string): Promise<void> {
  const [from, to] = await Promise.all([input, output].map((path) => stat(path).catch(() => undefined)));
  if (from === undefined || to === undefined || from.dev !== to.dev || from.ino !== to.ino) return;
  throw new QualifyError('ERR_QUALIFY_SAME_FILE', `${output} is the model that is read`, {
    exit: 'usage',
    hint: 'name another file to write; remove the first one afterwards',
    where: output,
  });
}

async function quantize(input: string, output: string, flags: QuantizeFlags): Promise<void> {
  await refuseSameFile(resolve(input), resolve(output));
  await refuseExisting(output, flags.force);
  const addon = await requireEmbeddedAddon();
  const { experts, threads } = flags;
  const source = resolve(input);
  const importance = flags.imatrix === undefined ? null : resolve(flags.imatrix);
  const made = await writeModel(
    output,
    'quantising',
    (out, onBytes) =>
      addon.quantizeModel(
        { in: source, out, experts, dense: flags.dense ?? null, importance, threads },
        onBytes,
      ),
    importance === null ? [source] : [source, importance],
  );
  if (flags.json) answerJson({ schemaVersion: 1, ...made });
  else answer(describeQuantized(made));
}

/** Adds the command to `qualify model`; `threads` makes its option of that name. */
export function registerQuantize(model: Command, threads: () => Option): void {
  model
    .command('quantize <in> <out>')
    .description('round the experts of a GGUF file, float or of any type, to another type')
    .addOption(
      new Option('--experts <type>', 'type of the routed experts (rocmfp2 has rocmfp3 down)')
        .choices(expertsSchema.options)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--dense <type>',
        'type of attention, indexer, shared experts, embedding and output; without it they stay',
      ).choices(DENSE_TYPES),
    )
    .option(
      '--imatrix <file>',
      'a GGUF of llama-imatrix: how much each input matters when rounding to ROCmFP types',
    )
    .addOption(threads())
    .option('--force', 'overwrite the file', false)
    .option('--json', 'answer with one JSON object', false)
    .action(quantize);
}
