import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, it } from 'node:test';
import { harnessFolder } from '../../src/harness.js';

/** Layers of the design, from the outside in: a folder imports its own layer and those that follow. */
const LAYERS = [
  ['cli', 'schemas'],
  ['bisect'],
  ['session', 'gate', 'history'],
  ['manifest'],
  ['report'],
  ['analysis', 'verdict', 'plan', 'simulation', 'engine', 'kernels', 'revision', 'machine', 'journal'],
  ['matrix'],
];
/** Files beside the folders belong to every layer and import none but each other. */
const SHARED = '.';
/** The schemas that the middle layers share, pure by themselves. */
const PURE_FOLDERS = ['matrix', 'plan', 'analysis', 'verdict', 'simulation', 'report'];
const EFFECTFUL_FOLDERS = [
  'engine',
  'kernels',
  'revision',
  'machine',
  'session',
  'cli',
  'manifest',
  'gate',
  'history',
  'bisect',
];
/** Modules of Node that compute and touch nothing; `fs`, `path`-less reading of built-in matrices is the loader's. */
const PURE_MODULES = new Set([
  'node:crypto',
  'node:util',
  'node:path',
  'node:url',
  'node:buffer',
  'node:zlib',
]);
const LONGEST_LINES = 300;

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
}

const source = join(harnessFolder, 'src');

function sourceFiles(folder = source): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? sourceFiles(path) : path.endsWith('.ts') ? [path] : [];
  });
}

/** Imports of a file: relative ones as paths below `src`, others as they are written. */
function importsOf(path: string): Import[] {
  const text = readFileSync(path, 'utf8');
  const statement = /^(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;
  return [...text.matchAll(statement)].map((match) => {
    const name = match[2] ?? '';
    const to = name.startsWith('.')
      ? normalize(relative(source, join(dirname(path), name))).replace(/\.js$/, '.ts')
      : name;
    return { from: relative(source, path), to, typeOnly: match[1] !== undefined };
  });
}

const folderOf = (path: string) => (path.includes('/') ? (path.split('/')[0] ?? SHARED) : SHARED);
const layerOf = (folder: string) => LAYERS.findIndex((layer) => layer.includes(folder));
const files = sourceFiles();
const imports = files.flatMap(importsOf);
const ours = imports.filter(({ to }) => files.includes(join(source, to)));
/** Files that run because one is imported, itself among them. */
function reach(from: string, seen = new Set<string>()): Set<string> {
  if (seen.has(from)) return seen;
  seen.add(from);
  for (const next of ours) if (next.from === from && !next.typeOnly) reach(next.to, seen);
  return seen;
}
const show = (list: Import[]) => list.map(({ from, to }) => `${from} -> ${to}`);

describe('the architecture', () => {
  it('has a layer for every folder', () => {
    const folders = new Set(files.map((path) => folderOf(relative(source, path))));
    assert.deepEqual(
      [...folders].filter((folder) => folder !== SHARED && layerOf(folder) < 0),
      [],
    );
    assert.ok(ours.length > 50, 'the checker reads the imports');
  });

  it('lets dependencies point one way', () => {
    const wrong = ours.filter(({ from, to }) => {
      if (folderOf(to) === SHARED) return false;
      return folderOf(from) === SHARED || layerOf(folderOf(to)) < layerOf(folderOf(from));
    });
    assert.deepEqual(show(wrong), []);
  });

  it('keeps what decides free of effects', () => {
    const wrong = imports.filter(({ from, to, typeOnly }) => {
      if (typeOnly || !['analysis', 'verdict'].includes(folderOf(from))) return false;
      if (to.startsWith('node:')) return !PURE_MODULES.has(to);
      return EFFECTFUL_FOLDERS.includes(folderOf(to)) || to.startsWith('journal/')
        ? to !== 'journal/entries.ts'
        : false;
    });
    assert.deepEqual(show(wrong), []);
  });

  it('keeps the pure folders from launching, serving and asking', () => {
    const effects = ['node:child_process', 'node:http', 'node:net', 'execa', 'fastify'];
    const wrong = imports.filter(
      ({ from, to }) => PURE_FOLDERS.includes(folderOf(from)) && effects.includes(to),
    );
    assert.deepEqual(show(wrong), []);
  });

  it('lets nothing that verifies reach the network', () => {
    const network = /^(node:)?(http|https|http2|net|tls|dgram|dns)(\/.*)?$/;
    const connects = (reached: ReadonlySet<string>): Import[] =>
      imports.filter(({ from, to, typeOnly }) => !typeOnly && reached.has(from) && network.test(to));
    const own = files
      .map((path) => relative(source, path))
      .filter((path) => ['manifest', 'gate', 'report', 'verdict', 'analysis'].includes(folderOf(path)));
    assert.deepEqual(show(connects(new Set(own))), []);
    for (const entry of ['verify', 'verify-trusted', 'unpack', 'extract-archive'])
      assert.deepEqual(show(connects(reach(`manifest/${entry}.ts`))), [], entry);
    assert.ok(connects(reach('cli/run.ts')).length > 0, 'the checker sees what does');
    const fetching = files.filter((path) => /\bfetch\(|\bWebSocket\b/.test(readFileSync(path, 'utf8')));
    assert.deepEqual(fetching, []);
  });

  it('never loads an addon in a session', () => {
    for (const entry of ['cli/run.ts', 'cli/pr.ts', 'cli/compare.ts', 'cli/switches.ts', 'cli/verify.ts']) {
      assert.equal(reach(entry).has('engine/addon-loader.ts'), false, entry);
    }
    assert.equal(reach('cli/model.ts').has('engine/addon-loader.ts'), true);
  });

  it('never lets a gate or a verdict rest on the history', () => {
    const isHistory = (path: string): boolean =>
      folderOf(path) === 'history' || path === 'analysis/change-points.ts';
    const inside = (path: string): boolean =>
      isHistory(path) || folderOf(path) === 'cli' || folderOf(path) === 'bisect';
    const wrong = ours.filter(({ from, to }) => isHistory(to) && !inside(from));
    assert.deepEqual(show(wrong), []);
    const users = ours.filter(({ from, to }) => isHistory(to) && !isHistory(from)).map(({ from }) => from);
    assert.deepEqual([...new Set(users)], ['cli/history.ts'], 'and the checker sees who does use it');
  });

  it('has no circle of files', () => {
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, trail: string[]): void => {
      if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(' -> '));
      if (done.has(file) || trail.includes(file)) return;
      for (const next of ours) if (next.from === file && !next.typeOnly) visit(next.to, [...trail, file]);
      done.add(file);
    };
    for (const path of files) visit(relative(source, path), []);
    assert.deepEqual(circles, []);
  });

  it('keeps files short', () => {
    for (const path of files) {
      const lines = readFileSync(path, 'utf8').split('\n');
      assert.ok(lines.length <= LONGEST_LINES, `${relative(source, path)} has ${lines.length} lines`);
    }
  });
});
