/** The colours of the page can be told apart. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { palettes } from '../../../src/report/html/palette.js';

describe('the palettes', () => {
  /** Relative luminance by WCAG 2.2. */
  function luminance(hex: string): number {
    const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
      const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  function contrast(one: string, other: string): number {
    const [high = 0, low = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  }

  test('are measured rightly', () => {
    assert.equal(contrast('#000000', '#ffffff'), 21);
    assert.ok(Math.abs(contrast('#767676', '#ffffff') - 4.54) < 0.01);
  });

  for (const setting of ['light', 'dark'] as const) {
    test(`${setting}: text has a contrast of 4.5 and lines of 3, on the page and on panels`, () => {
      const { page, panel, rule: _, line, ...texts } = palettes[setting];
      for (const ground of [page, panel]) {
        for (const [name, value] of Object.entries(texts))
          assert.ok(contrast(value, ground) >= 4.5, `${name}: ${contrast(value, ground)}`);
        assert.ok(contrast(line, ground) >= 3, `line: ${contrast(line, ground)}`);
      }
    });
  }
});
