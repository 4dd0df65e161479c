/** The evidence folder of a run: every file is written once, flushed, and known by its digest and its path in the run folder. */
import { closeSync, fsyncSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sha256 } from '../digest.js';
import { explainDiskFull } from '../disk-full.js';
import { sha256File } from '../engine/file-digest.js';
import type { Evidence } from './entries.js';
import { writeWhole } from './write-whole.js';

/** Turns a launch, cell or purpose into something that can be a file name: `401/512` becomes `401_512`. */
export const evidenceName = (...parts: (string | number)[]): string =>
  parts.map((part) => String(part).replace(/[^A-Za-z0-9.+-]/g, '_')).join('-');

/** Writes into `<runFolder>/evidence/`. */
export class EvidenceFolder {
  readonly runFolder: string;

  constructor(runFolder: string) {
    this.runFolder = runFolder;
    mkdirSync(join(runFolder, 'evidence'), { recursive: true });
  }

  /** Absolute path for a file that something else writes, such as a log; its folder exists afterwards. */
  pathOf(name: string): string {
    const path = join(this.runFolder, 'evidence', name);
    mkdirSync(dirname(path), { recursive: true });
    return path;
  }

  /** Stores bytes under `evidence/<name>`; the name must be new. */
  write(name: string, body: string | Uint8Array): Evidence {
    const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
    const path = this.pathOf(name);
    const file = openSync(path, 'wx', 0o644);
    try {
      writeWhole(file, bytes);
      fsyncSync(file);
    } catch (error) {
      // Half a file is not evidence.
      rmSync(path, { force: true });
      throw explainDiskFull(error, path);
    } finally {
      closeSync(file);
    }
    return { path: `evidence/${name}`, sha256: sha256(bytes) };
  }

  /** Names a file that something else has finished writing under `pathOf(name)`. */
  async adopt(name: string): Promise<Evidence> {
    return { path: `evidence/${name}`, sha256: await sha256File(this.pathOf(name)) };
  }
}
