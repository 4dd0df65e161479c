/** `qualify verify`: checks a run folder, whoever made it. */
import { type Command, Option } from 'commander';
import { QualifyError } from '../errors.js';
import { type Role, roleSchema } from '../manifest/trust-policy.js';
import { withRunFolder } from '../manifest/unpack.js';
import type { Summary } from '../manifest/verification-summary.js';
import { type Check, verifyRun } from '../manifest/verify.js';
import { findRun, RUN_OR_ARCHIVE } from './find-run.js';
import { answer, answerJson, note } from './output.js';
import { toFailedText, toJson, toText, type Verified } from './verification-text.js';

interface Options {
  key?: string;
  trust?: string;
  role: Role;
  attestations: string[];
  attest?: string;
  as?: string;
  challenge?: string;
  matrix?: string;
  json?: true;
  explain?: true;
}

export function register(program: Command): void {
  program
    .command('verify')
    .description('check the signature of a run, every digest, and every number against the journal')
    .argument('<run>', RUN_OR_ARCHIVE)
    .option('--key <key>', 'take only this signer: a .pub.pem or .pub file, or a fingerprint SHA256:…')
    .option('--challenge <file>', 'the run must answer this challenge, which you issued')
    .option('--matrix <matrix>', 'the matrix of the challenge, where it is not built in')
    .addOption(
      new Option('--trust <file>', 'take only a signer whom this trust policy trusts').conflicts('key'),
    )
    .addOption(
      new Option('--role <role>', 'the role that the policy must give the signer')
        .choices(roleSchema.options)
        .default('observer'),
    )
    .addOption(
      new Option('--attestations <file...>', 'what verifiers of the policy attested before').default(
        [],
        'none',
      ),
    )
    .option('--attest <file>', 'write a summary of the verification (SLSA VSA), signed by a key of yours')
    .option('--as <name>', 'the key that signs the summary (default: the one that signs your runs)')
    .option('--explain', 'say what each check found, and what no check can find')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExits 0 when everything holds, whatever the verdict of the run is, and 16 when\n' +
        'anything does not, or the signer is not trusted. Without --key and --trust, only\n' +
        'a key of your own folder (see `qualify keys list`) says who signed.\n' +
        'A trust policy says whose keys count, for what, on which machines and when:\n' +
        '  qualify keys add alice.pub --role observer --trust qualify.trust.json\n' +
        '  qualify verify RUN --trust qualify.trust.json --explain',
    )
    .action(async (name: string, options: Options) => {
      requirePolicy(options);
      if (options.attest === '-')
        throw new QualifyError('ERR_QUALIFY_USAGE', '--attest - : it writes a file, and not to stdout', {
          exit: 'usage',
          hint: 'Name the file, such as run.vsa.jsonl; one that is called - is ./-',
        });
      const run = findRun(name);
      const made: Check[] = [];
      try {
        const { verification, summary } = await withRunFolder(run, async (folder) => {
          const found = await verify(folder, options, (check) => made.push(check));
          return { verification: found, summary: await summarise(folder, found, options) };
        });
        if (options.json) answerJson(toJson(run, verification, summary, options));
        else answer(toText(run, verification, summary, options));
      } catch (error) {
        // A failed check is an answer too: --json says it on stdout, and main.ts on stderr with the exit code.
        if (options.json && error instanceof QualifyError) answerJson(failureToJson(run, error));
        else if (options.explain && error instanceof QualifyError && error.exit === 'invalid')
          answer(toFailedText(run, made));
        throw error;
      }
    });
}

/** What a policy is needed for. */
function requirePolicy({ trust, role, attestations, attest: file, as }: Options): void {
  const asked = Object.entries({
    '--role': trust === undefined && role !== 'observer',
    '--attestations': trust === undefined && attestations.length > 0,
    '--attest': trust === undefined && file !== undefined,
    '--as': file === undefined && as !== undefined,
  }).find(([, missing]) => missing)?.[0];
  if (asked === undefined) return;
  const needs = asked === '--as' ? '--attest' : '--trust';
  throw new QualifyError('ERR_QUALIFY_USAGE', `${asked} means nothing without ${needs}`, {
    exit: 'usage',
    hint: `Give ${needs} FILE too, or leave it out.`,
  });
}

/** What few verifications need is loaded by those alone. */
async function verify(
  runFolder: string,
  options: Options,
  onCheck: (check: Check) => void,
): Promise<Verified> {
  const { key, trust, role, attestations } = options;
  const isAsked = options.challenge !== undefined || options.matrix !== undefined;
  const challenge = isAsked ? (await import('./issued-challenge.js')).issuedChallenge(options) : undefined;
  if (trust !== undefined) {
    const { verifyTrusted } = await import('../manifest/verify-trusted.js');
    return verifyTrusted(runFolder, { trust, role, attestations, now: new Date(), challenge, onCheck });
  }
  return verifyRun(runFolder, {
    onCheck,
    ...(key !== undefined && { key }),
    ...(challenge && { challenge }),
  });
}

/** Writes the summary that was asked for, and says so when nobody would count it. */
async function summarise(run: string, verification: Verified, options: Options): Promise<Summary | null> {
  const { trust } = verification;
  if (options.attest === undefined || trust === undefined) return null;
  const { attest } = await import('../manifest/attest.js');
  const { loadSigningKey } = await import('../manifest/signing-key.js');
  const { judgeTrust } = await import('../manifest/trust-judgement.js');
  const key = await loadSigningKey(options.as);
  const at = new Date();
  const time = at.toISOString();
  const asked = { key: key.publicKey, machineId: null, startedAt: time, finishedAt: time, issuedAt: null };
  const judgement = judgeTrust(
    trust.policy,
    { ...asked, role: 'verifier', manifestSha256: null, attestations: [] },
    at,
  );
  const summary = await attest({
    ...{ path: options.attest, runFolder: run, verification, key, at },
    policy: { path: trust.path, bytes: trust.bytes },
  });
  if (!judgement.trusted) note(`Nobody under ${trust.path} will count this summary: ${judgement.message}`);
  return summary;
}

function failureToJson(run: string, error: QualifyError): object {
  const { code, message, where, hint } = error;
  return {
    schemaVersion: 1,
    verified: false,
    run,
    error: { code, file: where ?? null, message, hint: hint ?? null },
  };
}
