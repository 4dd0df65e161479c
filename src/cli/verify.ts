/** `qualify verify`: checks a run folder, whoever made it. */
import type { Command } from 'commander';
import { QualifyError } from '../errors.js';
import { withRunFolder } from '../manifest/unpack.js';
import { type Verification, verifyRun } from '../manifest/verify.js';
import { findRun, RUN_OR_ARCHIVE } from './find-run.js';
import { describeAnswer, issuedChallenge } from './issued-challenge.js';
import { answer, answerJson } from './output.js';

interface Options {
  key?: string;
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
    .option('--explain', 'say what each check found')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExits 0 when everything holds, whatever the verdict of the run is, and 16 when anything does not.\n' +
        'Without --key, only a key of your own folder (see `qualify keys list`) says who signed.',
    )
    .action(async (name: string, options: Options) => {
      const run = findRun(name);
      try {
        const issued = issuedChallenge(options);
        const verification = await withRunFolder(run, (folder) =>
          verifyRun(folder, {
            ...(options.key !== undefined && { key: options.key }),
            ...(issued && { challenge: issued }),
          }),
        );
        if (options.json) answerJson(toJson(run, verification, options));
        else answer(toText(run, verification, options));
      } catch (error) {
        // A failed check is an answer too: --json says it on stdout, and main.ts on stderr with the exit code.
        if (options.json && error instanceof QualifyError) answerJson(failureToJson(run, error));
        throw error;
      }
    });
}

export function toText(run: string, { signer, statement, checks }: Verification, options: Options): string {
  const { predicate } = statement;
  const explained = options.explain ? checks.map(({ name, found }) => `  ${name.padEnd(10)} ${found}\n`) : [];
  return [
    `verified ${run}\n`,
    ...explained,
    `  signed by  ${signer.key.keyId} (${describeTrust(signer)})\n`,
    `  session    ${predicate.session}, matrix ${predicate.matrix.name}, begun ${predicate.startedAt}\n`,
    ...describeAnswer(predicate.challenge, options),
    ...(predicate.simulation ? ['  SIMULATED  nothing was measured: every rate is made up\n'] : []),
    `  verdict    ${predicate.result} (exit code ${predicate.exitCode})\n`,
    ...predicate.cells.map((cell) => `    ${cell.id}  ${cell.verdict}\n`),
  ].join('');
}

/** Why the key of a run is believed, or that nobody vouches for it. */
export function describeTrust({ trust, name }: Verification['signer']): string {
  switch (trust) {
    case 'asked':
      return 'the key you asked for';
    case 'own':
      return `your own key "${name}"`;
    case 'trusted':
      return `your trusted key "${name}"`;
    case 'unknown':
      return 'UNKNOWN SIGNER: not in your trusted keys; anybody can make a key. Check with --key';
  }
}

export function toJson(run: string, { signer, statement, checks }: Verification, options: Options): object {
  const { challenge } = statement.predicate;
  return {
    schemaVersion: 1,
    verified: true,
    run,
    signer: { keyId: signer.key.keyId, trust: signer.trust, name: signer.name },
    challenge:
      challenge === undefined ? null : { nonce: challenge.nonce, confirmed: options.challenge !== undefined },
    checks,
    statement,
  };
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
