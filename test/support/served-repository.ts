/** A repository of the served engine: each commit builds in a second or two, serves, and is as fast as it says. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { harnessFolder } from '../../src/harness.js';
import { Repository } from './repository.js';
import type { Home } from './run-cli.js';
import { writeSmallMatrix } from './small-matrix.js';

const addon = fileURLToPath(new URL('../fixtures/timed-addon.cjs', import.meta.url));

export class ServedRepository extends Repository {
  readonly #place = `#pragma once\nconstexpr char kAddonPlace[] = ${JSON.stringify(addon)};\n`;

  constructor(home: Home) {
    super(home.path('repository'));
    cpSync(join(harnessFolder, 'test/fixtures/served-engine'), this.folder, { recursive: true });
    this.write('kernels/place.h', this.#place);
  }

  /** Commits an engine that takes so many microseconds for a token, with a binary of its own; answers the commit. */
  commitSpeed(microseconds: number, message: string): string {
    const name = `constexpr char kName[] = ${JSON.stringify(message)};`;
    this.write(
      'kernels/speed.h',
      `#pragma once\n${name}\nconstexpr int kMicrosecondsPerToken = ${microseconds};\n`,
    );
    return this.commit(message);
  }

  /** Commits a comment in the engine's sources: another tree, and the same binary. */
  commitComment(message: string): string {
    this.write('kernels/place.h', `${this.#place}// ${message}\n`);
    return this.commit(message);
  }

  /** Commits what does not build. */
  commitBroken(message: string): string {
    this.write('kernels/speed.h', `#error ${message}\n`);
    return this.commit(message);
  }
}

/** A matrix of small cells for it, by CPU time; answers its path. */
export function servedMatrix(home: Home, protocol: Record<string, unknown> = {}): string {
  return writeSmallMatrix(home.folder, 'served.yaml', 'served', {
    title: 'A tiny engine that serves',
    vocabulary: 300,
    engine: { threads: 1 },
    cells: [64, 96],
    arms: { base: {}, head: {} },
    protocol,
    budget: 5,
  });
}
