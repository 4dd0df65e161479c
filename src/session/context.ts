/** What every step of a session works with. */
import type { EvidenceFolder } from '../journal/evidence.js';
import type { Journal } from '../journal/journal.js';
import type { Telemetry } from '../machine/telemetry.js';
import type { Plan } from '../plan/schema.js';

/** Where a session says how far it is; never called while a sample runs. */
export interface SessionProgress {
  /** `share` of the whole step, from 0 to 1, where it is known. */
  update(text: string, share: number | null): void;
  note(text: string): void;
}

/** The same progress, and what it said last, for those who wait for the machine. */
export function withPhase(progress: SessionProgress): {
  progress: SessionProgress;
  phase: () => string | undefined;
} {
  let last: string | undefined;
  return {
    progress: {
      update: (text, share) => {
        last = text;
        progress.update(text, share);
      },
      note: (text) => progress.note(text),
    },
    phase: () => last,
  };
}

export interface SessionContext {
  readonly plan: Plan;
  readonly journal: Journal;
  readonly evidence: EvidenceFolder;
  readonly telemetry: Telemetry;
  /** What every engine of the session inherits, also after it was resumed from another shell. */
  readonly inherited: Readonly<Record<string, string>>;
  readonly progress: SessionProgress;
  /** Aborts when the user or the system wants the session to end. */
  readonly signal: AbortSignal;
}
