/** `qualify unpack`: a run from one file. */
import type { Command } from 'commander';
import { unpackRun } from '../manifest/unpack.js';
import { answer, answerJson, note } from './output.js';
import { toJson, toText } from './verification-text.js';

interface Flags {
  out?: string;
  key?: string;
  json?: true;
}

export function register(program: Command): void {
  program
    .command('unpack')
    .description('unpack the archive of a run, if it holds: the archive may come from anybody')
    .argument('<file>', 'what `qualify pack` wrote, uncompressed')
    .option('--out <folder>', 'the new folder (default: the name of the session, here)')
    .option('--key <key>', 'take only this signer: a .pub.pem or .pub file, or a fingerprint SHA256:…')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nTakes only what `qualify pack` writes, to the byte: plain files below one\n' +
        'folder, no links, no long names, nothing twice, nothing behind the end. The\n' +
        'folder gets its name when everything in it holds; else the exit code is 16 and\n' +
        'nothing is left. Nothing is written over.',
    )
    .action(async (file: string, { out, key, json }: Flags) => {
      const { runFolder, sha256, verification } = await unpackRun(file, {
        out,
        ...(key !== undefined && { verify: { key } }),
      });
      if (json) answerJson({ ...toJson(runFolder, verification, null, {}), archive: { sha256 } });
      else answer(toText(runFolder, verification, null, {}));
      note(`unpacked into ${runFolder}; the archive has the sha256 ${sha256}`);
    });
}
