/** What an engine is to a session: it is asked, it answers, it says what it is, and it is stopped. */
import type { Answer, Witness } from '../journal/entries.js';

/** A request for one completion, in the harness's words. */
export interface CompletionRequest {
  tokens: readonly number[];
  generatedTokens: number;
  chunk: number;
  /** False asks for a cold run; true is for the positive control only. */
  reuseCache: boolean;
  /** How many of the likeliest ids to name for each generated position, with their log-probabilities; 0 for none. */
  probabilities: number;
  timeoutMs: number;
  /** Names the evidence files of this exchange. */
  evidenceName: string;
}

/** How to start one process of one arm. */
export interface LaunchSpec {
  /** Absolute folder of the build: holds `engine.node`. */
  buildFolder: string;
  buildDigest: string;
  modelPath: string;
  nonce: string;
  /** Which launch of the plan this is. */
  place: { round: number; position: number };
  /** See `plantedSlowdownPercent` of an arm. */
  plantedSlowdownPercent: number | undefined;
  /** What the process inherits, see `inheritedVariables`. */
  inherited: Readonly<Record<string, string>>;
  switches: Readonly<Record<string, string>>;
  arguments: readonly string[];
  threads: number | undefined;
  cpus: string | undefined;
  contextTokens: number;
  readyTimeoutMs: number;
  /** Where the process's stdout and stderr go. */
  logPath: string;
}

/** A process that is up and has shown the right nonce. */
export interface RunningEngine {
  readonly pid: number;
  readonly port: number;
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly readyMs: number;
  readonly witness: Witness;
  /** Raw `/props` body, kept as evidence. */
  readonly props: string;
  complete(request: CompletionRequest): Promise<Answer>;
  /** Counters of the kernels that ran so far, and the raw `/props` body that tells them. */
  counters(): Promise<{ counters: Record<string, number>; props: string }>;
  /** Ends the whole process group and waits until it is gone. Safe to call twice. */
  stop(): Promise<{
    how: 'asked' | 'killed' | 'died';
    exitCode: number | null;
    signal: string | null;
    /** Names of processes that outlived the server and had to be killed; absent for none. */
    left?: string[];
  }>;
}

/** An adapter: knows how to start one kind of server and how to read its proofs. */
export interface Engine {
  readonly name: string;
  launch(spec: LaunchSpec): Promise<RunningEngine>;
}
