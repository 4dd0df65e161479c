/** The page: safe, complete, reproducible, and silent about what is not proved. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { harnessFolder } from '../../../src/harness.js';
import { htmlText } from '../../../src/report/escape.js';
import { html, trusted } from '../../../src/report/html/markup.js';
import { renderHtml } from '../../../src/report/html/page.js';
import { palettes } from '../../../src/report/html/palette.js';
import { lookRecords } from '../../../src/report/html/rounds-chart.js';
import { timelineOf } from '../../../src/report/html/timeline.js';
import { hostile, reports } from '../../fixtures/reports.js';

type Kind = keyof typeof reports;

const render = (kind: Kind): Promise<string> => {
  const { verdict, context } = reports[kind]();
  return renderHtml(verdict, context);
};

const pages = new Map(
  await Promise.all(
    (Object.keys(reports) as Kind[]).map(async (kind) => [kind, await render(kind)] as const),
  ),
);
const pageOf = (kind: Kind): string => pages.get(kind) ?? '';

/** Text of a page without its tags and its style. */
const textOf = (page: string): string => page.replace(/<style>.*?<\/style>/s, '').replaceAll(/<[^>]*>/g, ' ');

/** Tags that are not closed in order; empty for a page that is well formed. */
function unbalanced(page: string): string[] {
  const open: string[] = [];
  for (const [, slash, name = '', closed] of page.matchAll(/<(\/?)([a-zA-Z][a-zA-Z0-9]*)[^>]*?(\/?)>/g)) {
    if (['meta', 'br'].includes(name) || closed === '/') continue;
    if (slash === '') open.push(name);
    else if (open.at(-1) === name) open.pop();
    else return [...open, `/${name}`];
  }
  return open;
}

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

describe('every page', () => {
  for (const kind of Object.keys(reports) as Kind[]) {
    test(`${kind}: is well formed, named and in order`, () => {
      const page = pageOf(kind);
      assert.deepEqual(unbalanced(page), []);
      assert.match(page, /^<!doctype html>\n<html lang="en">/);
      assert.match(page, /<title>[^<]+<\/title>/);
      for (const landmark of ['header', 'nav', 'main', 'footer'])
        assert.equal(page.split(`<${landmark}`).length, 2, landmark);
      const levels = [...page.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level));
      assert.equal(levels[0], 1);
      assert.ok(
        levels.every((level, at) => at === 0 || (level > 1 && level <= (levels[at - 1] ?? 0) + 1)),
        levels.join(),
      );
      const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
      assert.equal(new Set(ids).size, ids.length, 'an id is there twice');
      const pointed = [...page.matchAll(/(?:href="#|aria-labelledby=")([^"]+)"/g)].map(([, id]) => id);
      assert.ok(pointed.length > 3);
      assert.deepEqual(
        pointed.filter((id) => !ids.includes(id)),
        [],
      );
    });

    test(`${kind}: says of each chart what it is, and has no text in an unreadable size`, () => {
      const charts = [...pageOf(kind).matchAll(/<svg[^>]*>.*?<\/svg>/gs)].map(([svg]) => svg);
      assert.ok(charts.length > 0);
      for (const svg of charts) {
        assert.match(svg, /^<svg class="chart" role="img" aria-label="[^"]+" viewBox="0 0 [\d.]+ [\d.]+"/);
        assert.match(svg, /<title>[^<]+<\/title><desc>[^<]+<\/desc>/);
        const sizes = [...svg.matchAll(/font-size="([\d.]+)px"/g)].map(([, size]) => Number(size));
        assert.ok(
          sizes.every((size) => size >= 10),
          sizes.join(),
        );
        assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
      }
    });

    test(`${kind}: runs nothing, loads nothing, and has its colours from the style sheet alone`, () => {
      const page = pageOf(kind);
      const tags = [...page.matchAll(/<[a-zA-Z][^>]*>/g)].map(([tag]) => tag);
      for (const tag of tags) {
        assert.doesNotMatch(
          tag,
          /^<(script|link|img|iframe|object|embed|base|form|use|image|foreignObject)\b/i,
        );
        assert.doesNotMatch(tag, /\s(on\w+|src|srcset|style|xlink:href)=/i, tag);
        assert.doesNotMatch(tag, /href="(?!#)/, tag);
        assert.doesNotMatch(tag, /(?:fill|stroke)="(?!none|transparent|var\(--)/, tag);
      }
      const [, style = ''] = /<style>(.*?)<\/style>/s.exec(page) ?? [];
      const digest = createHash('sha256').update(style).digest('base64');
      assert.ok(page.includes(`content="default-src &#39;none&#39;; style-src &#39;sha256-${digest}&#39;;`));
      assert.doesNotMatch(style, /url\(|@import|</);
    });
  }
});

describe('a page', () => {
  test('shows what is between backquotes as code, escaped', async () => {
    const { verdict, context } = reports.passed();
    const message = 'set `protocol.nullRounds: 2` or `<b>`; a ` alone stays';
    const page = await renderHtml({ ...verdict, warnings: [{ code: 'no-null-arm', message }] }, context);
    assert.ok(
      page.includes(
        'set <code>protocol.nullRounds: 2</code> or <code>&lt;b&gt;</code>; a ` alone stays <code>no-null-arm',
      ),
    );
  });

  test('is the same bytes each time, and in another process', async () => {
    for (const kind of ['passed', 'manyArms', 'ablation'] as const)
      assert.equal(await render(kind), pageOf(kind), kind);
    const script = `import { renderHtml } from ${JSON.stringify(new URL('../../../src/report/html/page.js', import.meta.url))};
import { reports } from ${JSON.stringify(new URL('../../fixtures/reports.js', import.meta.url))};
import { createHash } from 'node:crypto';
const { verdict, context } = reports.passed();
console.log(createHash('sha256').update(await renderHtml(verdict, context)).digest('hex'));`;
    const environment = { ...process.env, TZ: 'Asia/Tokyo', LANG: 'de_DE.UTF-8', LC_ALL: 'de_DE.UTF-8' };
    const other = spawnSync(process.execPath, ['--input-type=module', '-e', script], { env: environment });
    assert.equal(
      other.stdout.toString().trim(),
      createHash('sha256').update(pageOf('passed')).digest('hex'),
      other.stderr.toString(),
    );
  });

  test('holds no name of others as markup', () => {
    const page = pageOf('hostile');
    assert.ok(page.split('&lt;script&gt;').length > 10, 'the names are there');
    assert.ok(!page.includes(hostile));
    assert.doesNotMatch(page, /<script|<\/style><|" onload=|' onerror=/i);
    assert.equal(page.split('</style>').length, 2);
    const drawn = [...page.matchAll(/<svg[^>]*>.*?<\/svg>/gs)].map(([svg]) => svg);
    assert.ok(
      drawn.some((svg) => /<text[^>]*>[^<]*&lt;\/style/.test(svg)),
      'a chart has the name, too',
    );
  });

  test('shows rates, changes and charts of what is proved', () => {
    const page = pageOf('passed');
    assert.match(textOf(page), /tok\/s/);
    for (const title of [
      'Samples of',
      'Change by round',
      'Stages of',
      'Launches in order',
      'Clock of the CPU',
    ])
      assert.ok(page.includes(`aria-label="${title}`), title);
    assert.match(page, /<h1 class="verdict pass">PASS \(exit 0\): 2 of 2/);
  });

  test('shows no rate of what is refused, and the reason', () => {
    const { verdict, context } = reports.refused();
    const [refused] = verdict.cells.filter(({ coldness }) => coldness.status === 'violated');
    assert.equal(refused?.id, '401/512');
    const page = pageOf('refused');
    const [, section = ''] = /(<h3 id="cell-\d+">401-token.*?<\/section>)/s.exec(page) ?? [];
    assert.match(section, /No rates: not everything is measured and proved/);
    assert.match(section, /\[cache-hit\]/);
    assert.doesNotMatch(section, /tok\/s|<svg/);
    // The rates that are not told, as the same times would give them with the proof in place.
    const median = (401 / 100) * 1000;
    assert.ok(!textOf(page).includes(median.toFixed(2).slice(0, 4)));
    assert.match(page, /aria-label="Samples of 32-token decode/);
    const all = { ...verdict, cells: [refused] };
    return renderHtml(all, context).then((only) => {
      assert.doesNotMatch(textOf(only), /tok\/s/);
      assert.doesNotMatch(only, /aria-label="(Samples|Change|Stages)/);
    });
  });

  test('shows no rate of one arm that is refused beside others that are proved', async () => {
    const { verdict, context } = reports.manyArms();
    const sectionOf = (page: string): string =>
      /(<h3 id="cell-\d+">401-token[^\n]*step-3 against.*?<\/section>)/s.exec(page)?.[1] ?? '';
    assert.match(sectionOf(pageOf('manyArms')), /tok\/s.*<svg/s);
    const comparison = verdict.cells[0]?.comparisons.find(({ arm }) => arm === 'step-3');
    assert.ok(comparison);
    Object.assign(comparison, { verdict: 'parity-failed', detail: null, effect: null });
    const section = sectionOf(await renderHtml(verdict, context));
    assert.match(section, /parity-failed/);
    assert.doesNotMatch(section, /tok\/s|<svg/);
  });

  test('shows no rate of a contaminated session, but what contaminated it', () => {
    const text = textOf(pageOf('contaminated'));
    assert.match(text, /CONTAMINATED \(exit 14\)/);
    assert.doesNotMatch(text, /tok\/s/);
    assert.match(pageOf('contaminated'), /aria-label="CPU time of others by launch"/);
  });

  test('says that a simulation is one, in its own box', () => {
    assert.match(pageOf('simulated'), /<p class="simulated" role="note">SIMULATED: nothing was measured/);
    assert.doesNotMatch(textOf(pageOf('passed')), /SIMULATED/);
  });

  test('says what few rounds cannot, and draws no interval of them', () => {
    const page = pageOf('small');
    assert.match(textOf(page), /Small protocol, one launch of each arm/);
    assert.match(textOf(page), /no interval from 1 round/);
  });

  test('compares each arm with the reference, each in its own shape', () => {
    const page = pageOf('manyArms');
    for (const arm of ['step-1', 'step-2', 'step-3'])
      assert.ok(page.includes(`<small>${arm} against base</small>`));
    assert.ok(
      page.indexOf('step-3 against base') < page.indexOf('step-1 against base'),
      'the losing one first',
    );
  });

  test('shows the effects of an ablation and the table of its switches', () => {
    const page = pageOf('ablation');
    assert.match(page, /aria-label="Effects of switches, 64-token prefill/);
    assert.match(textOf(page), /it matters/);
  });

  test('names the index, the signer and the command that checks', () => {
    const text = textOf(pageOf('passed'));
    const { context } = reports.passed();
    assert.ok(text.includes(context.sealed?.indexSha256 ?? 'none'));
    assert.ok(text.includes('SHA256:signer'));
    assert.match(text, /qualify verify \.qualify\/runs\/test-session --key SIGNER\.pub/);
  });

  test('marks in which switch the arms differ, and nothing else', () => {
    const [, builds = ''] = /<caption>Arms side by side(.*?)<\/table>/s.exec(pageOf('passed')) ?? [];
    const marked = builds.split('<tr>').filter((line) => line.includes('differs'));
    assert.equal(marked.length, 1);
    assert.match(marked[0] ?? '', /DFLASH_MOE_GROUPED_MMID_PREFILL/);
  });

  test('is small: a short session below 400 kB, one of four looks below 1.5 MB', () => {
    assert.ok(pageOf('passed').length < 400_000, `${pageOf('passed').length}`);
    assert.ok(pageOf('undecided').length < 1_500_000, `${pageOf('undecided').length}`);
  });
});

test('Vega is loaded where charts are drawn, and by nothing that other commands need', () => {
  const folder = join(harnessFolder, 'src');
  const naming = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .filter((name) =>
      /^import (?!type)[^;]*'vega|import\('vega/m.test(readFileSync(join(folder, name), 'utf8')),
    );
  assert.deepEqual(naming, ['report/html/chart.ts']);
  assert.doesNotMatch(
    readFileSync(join(folder, 'report/html/chart.ts'), 'utf8'),
    /^import (?!type)[^;]*'vega/m,
  );
});

describe('the looks of the chart', () => {
  test('end in the effect of the verdict', () => {
    const { verdict, context } = reports.undecided();
    for (const { effect } of verdict.cells.flatMap(({ comparisons }) => comparisons)) {
      assert.ok(effect);
      const looks = lookRecords(effect, context.plan);
      assert.deepEqual(
        looks.map(({ rounds }) => rounds),
        [6, 12, 18, 24],
      );
      const last = looks.at(-1);
      for (const key of ['ratio', 'lower', 'upper'] as const)
        assert.ok(Math.abs((last?.[key] ?? 0) - (effect[key] ?? 1)) < 1e-9, key);
    }
  });
});

describe('the timeline', () => {
  test('has launches in order, what was watched, and the looks', () => {
    const { launches } = timelineOf(reports.passed().context.entries);
    assert.equal(launches.length, 12);
    assert.ok(launches.every((own, at) => own.fromMinutes >= (launches[at - 1]?.toMinutes ?? 0)));
    assert.equal(launches[0]?.fromMinutes, 0);
    assert.ok(Math.abs((launches[0]?.othersPercent ?? 0) - 1) < 1e-9);
    assert.equal(launches[0]?.clockMhz?.median, 3000);
  });

  test('marks the launch that was lost, and the resumption', () => {
    const { launches, events } = timelineOf(reports.resumed().context.entries);
    assert.deepEqual(launches.map(({ left }) => left).slice(0, 3), [null, 'lost', null]);
    assert.deepEqual(
      events.map(({ text }) => text),
      ['resumed'],
    );
    assert.match(textOf(pageOf('resumed')), /\(lost\)/);
  });

  test('says where a session was cut short', () => {
    assert.match(textOf(pageOf('interrupted')), /cut short at/);
  });
});

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
