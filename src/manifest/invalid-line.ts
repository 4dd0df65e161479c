/** What `verify` says of a line of the journal that does not follow from what lies before it. */
import type { QualifyError } from '../errors.js';
import type { Entry } from '../journal/entries.js';
import { invalid } from './invalid.js';
import { JOURNAL_FILE } from './run-folder.js';

/** `why` goes on from "journal.jsonl line 7". Exit 16, as all that `invalid` makes. */
export const invalidLine = (entry: Entry, why: string): QualifyError =>
  invalid(JOURNAL_FILE, `line ${entry.seq + 1} ${why}`);
