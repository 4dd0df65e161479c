/** `qualify pack`: a run as one file. */
import type { Command } from 'commander';
import { packRun } from '../manifest/pack.js';
import { findRun, RUN_ARGUMENT } from './find-run.js';
import { answer, answerJson, formatBytes, note } from './output.js';
import { describeTrust } from './verification-text.js';

interface Flags {
  out?: string;
  json?: true;
}

export function register(program: Command): void {
  program
    .command('pack')
    .description('check a run and pack it into one file, the same bytes on any machine')
    .argument('<run>', RUN_ARGUMENT)
    .option('--out <file>', 'the new file (default: <session>.tar here)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nPrints the path, the size and the SHA-256 of the archive, once the run has stood\n' +
        'up to every check of `qualify verify`; else exits 16 and writes nothing. It is a\n' +
        'plain tar: no compression gives the same bytes everywhere, so compress it where\n' +
        'you upload it, and name its SHA-256. `qualify unpack`, `verify`, `report`\n' +
        'and `compare` take it; so does tar.',
    )
    .action(async (name: string, { out, json }: Flags) => {
      const packed = await packRun(findRun(name), { out });
      const { path, sizeBytes, sha256, files, verification } = packed;
      const shown = out ?? path;
      if (json) answerJson({ schemaVersion: 1, path: shown, sizeBytes: String(sizeBytes), sha256, files });
      else
        answer(`${shown}\n${formatBytes(sizeBytes)} (${sizeBytes} bytes), ${files} files\nsha256 ${sha256}`);
      const { signer } = verification;
      note(`Checked before it was packed, signed by ${signer.key.keyId}\n(${describeTrust(signer)}).`);
    });
}
