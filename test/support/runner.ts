/** Runners of workflows: folders, variables and commands of their own, in which a test runs the scripts of steps by bash. */
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after } from 'node:test';
import { removeFolder } from './folder.js';
import { scratchRoot } from './scratch-root.js';

const folder = mkdtempSync(join(scratchRoot, 'qualify-action-'));
after(() => removeFolder(folder));
const bin = join(folder, 'bin');
mkdirSync(bin);

/** Puts a command into the path of every runner of this file of tests. */
export function executable(name: string, text: string): void {
  writeFileSync(join(bin, name), text);
  chmodSync(join(bin, name), 0o755);
}

let runs = 0;
/** A runner's folder and variables of its own. */
export function runner(more: Record<string, string> = {}): {
  temp: string;
  environment: Record<string, string>;
} {
  runs += 1;
  const temp = join(folder, `runner-${runs}`);
  mkdirSync(temp);
  const files = { GITHUB_OUTPUT: 'output', GITHUB_STEP_SUMMARY: 'summary', GITHUB_PATH: 'path' };
  const environment: Record<string, string> = {
    PATH: [bin, process.env.PATH].join(delimiter),
    HOME: temp,
    RUNNER_TEMP: temp,
    GITHUB_SERVER_URL: 'https://github.com',
    GITHUB_REPOSITORY: 'o/r',
    GITHUB_RUN_ID: '7',
  };
  for (const [name, file] of Object.entries(files)) {
    environment[name] = join(temp, file);
    writeFileSync(join(temp, file), '');
  }
  return { temp, environment: { ...environment, ...more } };
}

/** Answers `gh api` from files, with real jq for `--jq`, and keeps what is sent. */
export function standInForGh(): void {
  executable(
    'gh',
    `#!/usr/bin/env bash
[[ $1 == api ]] || exit 9
shift
method=GET filter= url=
while [[ $# -gt 0 ]]; do
  case $1 in
    --method) method=$2; shift ;;
    --jq) filter=$2; shift ;;
    --field) printf '%s' "\${2%%=@*} " >>"$RUNNER_TEMP/sent"; cp "\${2#*=@}" "$RUNNER_TEMP/body"; shift ;;
    --input) cp "$2" "$RUNNER_TEMP/body"; shift ;;
    --paginate | --silent) ;;
    *) url=$1 ;;
  esac
  shift
done
printf '%s %s\\n' "$method" "$url" >>"$RUNNER_TEMP/sent"
[[ $url != */zip ]] || exec cat "$RUNNER_TEMP/api/$(printf '%s' "$url" | tr / _)"
[[ $method != GET ]] || jq -r "$filter" "$RUNNER_TEMP/api/$(printf '%s' "$url" | tr / _).json"
`,
  );
}
