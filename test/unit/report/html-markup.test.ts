/** The escape of the page: no text gets out of its place. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { htmlText } from '../../../src/report/escape.js';
import { html, trusted } from '../../../src/report/html/markup.js';
import { stackedTable } from '../../../src/report/html/table.js';

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

test('a table that a phone shows as a list has the head of the column in each field but the heading of the line', () => {
  const columns = [{ head: 'cell' }, { head: 'change', number: true }];
  const { text } = stackedTable('The "result"', columns, [['64/32', html`<b>2 %</b>`]]);
  const frame = '<div class="scroll stack" role="region" aria-label="The &quot;result&quot;" tabindex="0">';
  const head = '<thead><tr><th scope="col">cell</th><th scope="col" class="number">change</th></tr></thead>';
  const line =
    '<tr><th scope="row">64/32</th><td class="number"><span class="label">change</span><b>2 %</b></td></tr>';
  const caption = '<caption>The &quot;result&quot;</caption>';
  assert.equal(text, `${frame}<table>${caption}${head}<tbody>${line}</tbody></table></div>`);
});
