/** A small git repository with the folders of an engine in it. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Who commits; and that no commit looks whether there is something to tidy up, which is a process each. */
const CONFIG =
  '[user]\n\tname = Test\n\temail = test@example.org\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n';

export class Repository {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
    this.git('init', '--quiet', '--initial-branch=main');
    appendFileSync(join(folder, '.git', 'config'), CONFIG);
    this.write('native/CMakeLists.txt', '# one\n');
    this.write('kernels/a.h', '// one\n');
  }

  git(...args: string[]): string {
    return execFileSync('git', ['-C', this.folder, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  /** Commits everything; answers the commit. */
  commit(message: string): string {
    this.git('add', '--all');
    this.git('commit', '--quiet', '--allow-empty', '--message', message);
    return this.git('rev-parse', 'HEAD');
  }
}
