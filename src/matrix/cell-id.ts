/** The name of a cell where its author gave none. */
import type { Cell } from './schema.js';

/** `401/512` (prompt tokens / chunk) for prefill, `401+64` (prompt + generated tokens) for decode. */
export function cellId(
  cell: Pick<Cell, 'id' | 'promptTokens' | 'chunk' | 'phase' | 'generatedTokens'>,
): string {
  if (cell.id !== undefined) return cell.id;
  return cell.phase === 'prefill'
    ? `${cell.promptTokens}/${cell.chunk}`
    : `${cell.promptTokens}+${cell.generatedTokens}`;
}
