/** The escape of the page: no text gets out of its place. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { htmlText } from '../../../src/report/escape.js';
import { html, trusted } from '../../../src/report/html/markup.js';

describe('the escape', () => {
  test('leaves no text a way out of a tag or an attribute', () => {
    assert.equal(htmlText(`<a b="c" d='e'>&`), '&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) =>
        assert.doesNotMatch(htmlText(text), /[<>"'\p{Cc}]|&(?!amp;|lt;|gt;|quot;|#39;)/u),
      ),
    );
  });

  test('is what templates do with text, and not with markup', () => {
    assert.equal(
      html`<p title="${'"'}">${['<', html`<b>${1}</b>`]}</p>`.text,
      '<p title="&quot;">&lt;<b>1</b></p>',
    );
    assert.equal(html`${trusted('<')}`.text, '<');
  });
});
