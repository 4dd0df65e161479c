/**
 * The HTML report as a browser shows it: every kind of session, on a phone and on a desktop, light and dark. Run by the step `browser`
 * of `.ci/run`; `PICTURES` names a folder for what it saw.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compiled, openBrowser, openPage, picture } from './browser.js';

const { reports } = await compiled('test/fixtures/reports.js');
const { renderHtml } = await compiled('src/report/html/page.js');
const { headline, legend } = await compiled('src/report/details.js');
const { workload } = await compiled('src/report/format.js');
const { rowsOf } = await compiled('src/report/rows.js');
const manifests = fileURLToPath(new URL('../../manifests/', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'qualify-browser-'));
const pictures = process.env.PICTURES ?? join(scratch, 'pictures');
mkdirSync(pictures, { recursive: true });
const views = [
  { width: 360, scheme: 'light' },
  { width: 360, scheme: 'dark' },
  { width: 768, scheme: 'light' },
  { width: 1280, scheme: 'light' },
  { width: 1280, scheme: 'dark' },
];

let browser;
before(async () => {
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** A page, and the verdict that it shows. */
async function write(kind, alter = (html) => html) {
  const { verdict, context } = reports[kind]();
  const path = join(scratch, `${kind}.html`);
  writeFileSync(path, alter(await renderHtml(verdict, context)));
  return { url: pathToFileURL(path).href, verdict };
}

/** The pages of the signed runs, as they are checked in. */
const golden = readdirSync(manifests)
  .filter((file) => file.endsWith('.html'))
  .map((file) => basename(file, '.html'));
const read = (name) => ({
  url: pathToFileURL(join(manifests, `${name}.html`)).href,
  verdict: JSON.parse(readFileSync(join(manifests, `${name}.verdict.json`), 'utf8')),
});

/** What a reader must find: the result, each cell by its name, what the numbers are, and how to check them. */
function mustShow(verdict) {
  const rows = rowsOf(verdict);
  const cells = rows.map(({ cell }) => workload(cell));
  const texts = [headline(verdict), ...cells, legend(verdict, rows, true), 'qualify verify '];
  return [...new Set(texts)].filter((text) => text !== '');
}

/** Those of the texts that nobody sees: nowhere, or only where nothing is shown, or beside the page. */
const unseen = (page, texts) =>
  page.evaluate((wanted) => {
    const hasText = (element, text) => element.textContent.replaceAll(/\s+/g, ' ').includes(text);
    const elements = [...document.querySelectorAll('body *')];
    const isSeen = (element) => {
      const { width, height, left } = element.getBoundingClientRect();
      // Where it begins: a command may scroll in its frame.
      const isInside = left >= -0.5 && left < document.documentElement.clientWidth;
      const { color } = getComputedStyle(element);
      const isInk = color !== getComputedStyle(document.body).backgroundColor;
      const asked = { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true };
      return width > 0 && height > 0 && isInside && isInk && element.checkVisibility(asked);
    };
    const innermost = (text) =>
      elements.filter(
        (element) => hasText(element, text) && ![...element.children].some((child) => hasText(child, text)),
      );
    return wanted.filter((text) => !innermost(text).some(isSeen));
  }, texts);

/** What of the page a reader would miss or stumble over. */
const look = (page) =>
  page.evaluate(() => {
    // Vega hides a label that has no room by its opacity.
    const shown = (element) => element.getClientRects().length > 0 && element.getAttribute('opacity') !== '0';
    const inside = (box) => box.left >= -0.5 && box.right <= document.documentElement.clientWidth + 0.5;
    const texts = [...document.querySelectorAll('svg.chart text')].filter(shown);
    const frames = [...document.querySelectorAll('svg.chart')].filter(shown);
    const clipped = texts.filter((text) => {
      const [own, frame] = [text.getBoundingClientRect(), text.closest('svg.chart').getBoundingClientRect()];
      return own.left < frame.left - 2 || own.right > frame.right + 2 || own.bottom > frame.bottom + 2;
    });
    const pixels = (text) =>
      (Number.parseFloat(getComputedStyle(text).fontSize) *
        text.closest('svg.chart').getBoundingClientRect().width) /
      text.closest('svg.chart').viewBox.baseVal.width;
    const result = document.querySelector('#result ~ .scroll');
    const labels = [...document.querySelectorAll('.stack .label')].filter(shown);
    return {
      // By how much the table of the result is wider than its frame.
      sideways: result === null ? null : result.scrollWidth - result.clientWidth,
      labels: labels.length,
      // Labels that lie over what they are labels of.
      covering: labels.filter(
        (label) => label.offsetWidth > Number.parseFloat(getComputedStyle(label.parentElement).paddingLeft),
      ).length,
      overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      charts: frames.length,
      legends: [...document.querySelectorAll('svg.chart .role-legend text')].filter(shown).length,
      outside: frames.filter((frame) => !inside(frame.getBoundingClientRect())).length,
      clipped: clipped.map((text) => text.textContent),
      smallest: Math.min(...texts.map(pixels)),
      ground: getComputedStyle(document.body).backgroundColor,
      ink: texts.length === 0 ? null : getComputedStyle(texts[0]).fill,
      heading: document.querySelector('h1').textContent,
      scripts: document.scripts.length,
      injected: [...document.querySelectorAll('*')].filter((element) =>
        element.getAttributeNames().some((name) => name.startsWith('on')),
      ).length,
    };
  });

describe('a browser', () => {
  const pages = [
    ...Object.keys(reports).map((kind) => [kind, () => write(kind)]),
    ...golden.map((name) => [`manifests/${name}.html`, () => read(name)]),
  ];
  for (const [name, open] of pages) {
    test(`shows ${name}`, async () => {
      const { url, verdict } = await open();
      for (const view of views) {
        const { page, said, asked } = await openPage(browser, url, view);
        const seen = await look(page);
        const at = `${name} at ${view.width}, ${view.scheme}: ${JSON.stringify(seen)}`;
        assert.deepEqual(said, [], at);
        assert.deepEqual(asked, [url], at);
        assert.deepEqual(await unseen(page, mustShow(verdict)), [], at);
        assert.ok(seen.overflow <= 0, at);
        // An ablation judges nothing, and its effects have tables of their own.
        const hasResult = verdict.ablation === undefined;
        assert.equal(seen.sideways !== null, hasResult, at);
        if (view.width === 360 && hasResult)
          assert.ok(seen.sideways <= 0 && seen.labels > 0 && seen.covering === 0, at);
        assert.ok(seen.charts > 0 && seen.outside === 0, at);
        // Where there are figures of arms, colours are explained.
        const hasFigures = !hasResult || rowsOf(verdict).some(({ comparison }) => comparison.effect !== null);
        assert.equal(seen.legends >= 2, hasFigures, at);
        assert.deepEqual(seen.clipped, [], at);
        assert.ok(seen.smallest >= 8, at);
        assert.deepEqual([seen.scripts, seen.injected], [0, 0], at);
        assert.equal(seen.ground, view.scheme === 'dark' ? 'rgb(16, 19, 23)' : 'rgb(255, 255, 255)', at);
        assert.notEqual(seen.ink, 'rgb(0, 0, 0)', at);
        await picture(page, join(pictures, `${basename(name, '.html')}-${view.width}-${view.scheme}.png`));
        await page.close();
      }
    });
  }

  test('prints in light colours whatever the screen has', async () => {
    const { page } = await openPage(browser, (await write('passed')).url, { width: 1280, scheme: 'dark' });
    await page.emulateMediaType('print');
    assert.equal((await look(page)).ground, 'rgb(255, 255, 255)');
    await page.pdf({ path: join(pictures, 'passed.pdf'), format: 'A4', printBackground: true });
    await page.close();
  });

  test('of this test misses what is hidden and what is not there', async () => {
    const hidden = ['<h1 class', '<pre tabindex', '<p class="quiet">Rates are'];
    const alter = (html) =>
      hidden
        .reduce((text, tag) => text.replace(tag, tag.replace(/ |(?<=p)$/, ' hidden ')), html)
        .replaceAll('-token ', '-word ');
    const { url, verdict } = await write('passed', alter);
    const { page } = await openPage(browser, url, { width: 1280, scheme: 'light' });
    assert.deepEqual(await unseen(page, mustShow(verdict)), mustShow(verdict));
    await page.close();
  });

  test('of this test sees a script that is stopped, a picture that is asked for, and an overflow', async () => {
    const alter = (html) =>
      html.replace(
        '<main>',
        '<main><script>document.title = "ran"</script><img src="http://127.0.0.1:9/x.png" alt=""><div class="wide-thing"><table><tr><td>' +
          `${'x'.repeat(400)}</td></tr></table></div>`,
      );
    const { url } = await write('small', alter);
    const { page, said } = await openPage(browser, url, { width: 360, scheme: 'light' });
    const seen = await look(page);
    assert.equal(seen.scripts, 1);
    assert.notEqual(await page.title(), 'ran');
    assert.ok(
      said.some((text) => /script/i.test(text)) && said.some((text) => /image|img-src/i.test(text)),
      said.join('\n'),
    );
    await page.close();
  });
});
