/** The peer: llama.cpp through the package node-llama-cpp, in a process of its own, behind the same dialect as ours. */
import { join } from 'node:path';
import type { EvidenceFolder } from '../../journal/evidence.js';
import { parseCpuList } from '../../matrix/cpu-list.js';
import type { Engine, LaunchSpec, RunningEngine } from '../engine.js';
import { examineProcess, type PeerPackage, readPeer } from './peer-package.js';
import { option, startServer } from './server.js';

/** The peer cannot pin itself, so that `taskset` starts it where the matrix names CPUs. It then computes on as many threads. */
export function peerCommand(spec: LaunchSpec): { command: string; arguments: string[] } {
  const threads = spec.cpus === undefined ? spec.threads : parseCpuList(spec.cpus).length;
  const own = [
    join(spec.buildFolder, 'server.js'),
    ...option('--model', spec.modelPath),
    ...option('--host', '127.0.0.1'),
    ...option('--port', 0),
    ...option('--nonce', spec.nonce),
    ...option('--build-digest', spec.buildDigest),
    ...option('--threads', threads),
    ...option('--context', spec.contextTokens),
    ...spec.arguments,
  ];
  if (spec.cpus === undefined) return { command: process.execPath, arguments: own };
  return { command: 'taskset', arguments: ['--cpu-list', spec.cpus, process.execPath, ...own] };
}

export class NodeLlamaCppEngine implements Engine {
  readonly name = 'node-llama-cpp';
  readonly #evidence: EvidenceFolder;
  readonly #signal: AbortSignal | undefined;
  #package: Promise<PeerPackage> | undefined;

  constructor(evidence: EvidenceFolder, signal?: AbortSignal) {
    this.#evidence = evidence;
    this.#signal = signal;
  }

  async launch(spec: LaunchSpec): Promise<RunningEngine> {
    this.#package ??= readPeer(spec.buildFolder);
    const peer = await this.#package;
    return startServer(spec, {
      ...peerCommand(spec),
      evidence: this.#evidence,
      signal: this.#signal,
      examine: (pid) => examineProcess(pid, peer),
    });
  }
}
