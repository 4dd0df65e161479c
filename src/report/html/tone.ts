/** The colour and the sign of a verdict: nobody has to tell it by its colour. */
import type { VerdictName } from '../../verdict/schema.js';
import { html, type Markup } from './markup.js';

type Tone = 'pass' | 'fail' | 'open' | 'refused';

/** Passed, failed, undecided; everything else is a refusal. */
export function toneOf(verdict: VerdictName): Tone {
  if (verdict === 'pass' || verdict === 'fail') return verdict;
  return verdict === 'inconclusive' ? 'open' : 'refused';
}

const signs = { pass: '✓', fail: '✗', open: '?', refused: '⊘' } as const;

/** A verdict in its colour with its sign before it. */
export function badge(verdict: VerdictName, text: string = verdict): Markup {
  const tone = toneOf(verdict);
  return html`<span class="badge ${tone}"><span aria-hidden="true">${signs[tone]}</span> ${text}</span>`;
}
