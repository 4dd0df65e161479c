/**
 * The package of the peer: `peers/llama-cpp` of the installed harness, with its own lock file and its own `node_modules`, which are
 * there only once somebody wants to compare with it. What it is follows from its files, never from what its process says.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../../digest.js';
import { QualifyError } from '../../errors.js';
import { harnessFolder } from '../../harness.js';
import { PEER_REVISION } from '../../matrix/engines.js';
import { sha256File } from '../file-digest.js';

export const peerFolder = join(harnessFolder, 'peers', 'llama-cpp');
/** What installs it: nothing but packages of the registry by their digests, and no script of theirs runs. */
const INSTALL = 'npm ci --ignore-scripts --omit=optional';
/** Prebuilt binaries for the CPU. */
const BINARIES = 'node_modules/@node-llama-cpp/linux-x64/bins/linux-x64';

const packageSchema = z.looseObject({ version: z.string() });
const releaseSchema = z.looseObject({ release: z.string() });

/** The package as it lies there. */
export interface PeerPackage {
  folder: string;
  /** Folder of everything native, and SHA-256 of each file in it by its path below `folder`. */
  binariesFolder: string;
  files: ReadonlyMap<string, string>;
  /** Over the lock file; over the native files; of the command that installs. */
  lockSha256: string;
  binarySha256: string;
  recipeDigest: string;
  versions: Record<string, string>;
}

/** @throws ERR_QUALIFY_PEER_MISSING (exit 15) with the command that installs what is missing. */
export function requirePeer(folder = peerFolder): void {
  const version = readVersion(join(folder, 'node_modules', 'node-llama-cpp', 'package.json'));
  const wanted = PEER_REVISION.split('@')[1];
  if (version === wanted && existsSync(join(folder, BINARIES, 'llama-addon.node'))) return;
  const found = version === null ? 'is not installed' : `is there as ${version}, or without its binary`;
  throw new QualifyError('ERR_QUALIFY_PEER_MISSING', `The peer ${PEER_REVISION.slice(4)} ${found}.`, {
    exit: 'infrastructure',
    where: folder,
    hint: `Install it (85 MB): (cd ${folder} && ${INSTALL})`,
  });
}

function readVersion(path: string): string | null {
  if (!existsSync(path)) return null;
  const parsed = packageSchema.safeParse(JSON.parse(readFileSync(path, 'utf8')));
  return parsed.success ? parsed.data.version : null;
}

/** Reads and hashes the package. @throws ERR_QUALIFY_PEER_MISSING (exit 15) */
export async function readPeer(folder = peerFolder): Promise<PeerPackage> {
  requirePeer(folder);
  const binariesFolder = join(folder, BINARIES);
  const names = readdirSync(binariesFolder).filter((name) => /\.(so|node)(\.|$)/.test(name));
  const files = new Map<string, string>();
  for (const name of names.toSorted()) {
    const path = join(binariesFolder, name);
    files.set(relative(folder, path), await sha256File(path));
  }
  const total = createHash('sha256');
  for (const [path, digest] of files) total.update(`${digest}  ${path}\n`);
  const source = join(folder, 'node_modules', 'node-llama-cpp', 'llama', 'binariesGithubRelease.json');
  return {
    folder,
    binariesFolder,
    files,
    lockSha256: await sha256File(join(folder, 'package-lock.json')),
    binarySha256: total.digest('hex'),
    recipeDigest: sha256(INSTALL),
    versions: {
      'node-llama-cpp': PEER_REVISION.split('@')[1] ?? '',
      node: process.version,
      'llama.cpp': releaseSchema.parse(JSON.parse(readFileSync(source, 'utf8'))).release,
    },
  };
}

/** Native files below `node_modules` that a process has mapped, by absolute path. */
function mappedBinaries(pid: number): string[] {
  const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  const paths = lines.map((line) => line.split(/\s+/).slice(5).join(' '));
  return [...new Set(paths)].filter((path) => /\/node_modules\/.*\.(so|node)(\.|$)/.test(path));
}

/**
 * Holds what a process has mapped against the package: every native file is one of it with the same content, and the engine itself
 * is among them.
 * @throws ERR_QUALIFY_WRONG_ENGINE (exit 15)
 */
export async function examineProcess(pid: number, { folder, files }: PeerPackage): Promise<void> {
  const mapped = mappedBinaries(pid);
  const wrong = (why: string): QualifyError =>
    new QualifyError('ERR_QUALIFY_WRONG_ENGINE', `What answers is not the peer that was read: ${why}.`, {
      exit: 'infrastructure',
      where: folder,
      hint: `Install it anew: (cd ${folder} && ${INSTALL})`,
    });
  for (const path of mapped) {
    const expected = files.get(relative(folder, path));
    if (expected === undefined) throw wrong(`it has mapped ${path}`);
    if (expected !== (await sha256File(path))) throw wrong(`${path} has changed`);
  }
  if (!mapped.some((path) => path.endsWith('/llama-addon.node')))
    throw wrong('it has not mapped llama-addon.node');
}
