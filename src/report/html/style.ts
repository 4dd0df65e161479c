/** The style sheet of the page: nothing is loaded, and everything has a colour in both settings. */
import { declarations } from './palette.js';

const rules = `
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:break-word}
header,main,footer,nav{max-width:1120px;margin:0 auto;padding:0 20px}
header{padding-top:32px}
h1{font-size:1.75rem;line-height:1.2;margin:4px 0 8px;letter-spacing:-.01em}
h2{font-size:1.25rem;line-height:1.3;margin:48px 0 12px;padding-top:12px;border-top:1px solid var(--rule)}
h3{font-size:1.05rem;line-height:1.4;margin:0 0 4px;display:flex;flex-wrap:wrap;gap:2px 12px;align-items:baseline}
h3 small{font-weight:400;font-size:.9rem;color:var(--muted)}
section>h3{margin-top:28px}
.cell>h3{margin-top:0}
p{margin:8px 0;max-width:46rem}
ul{max-width:46rem;padding-left:1.2em}
a{color:var(--link)}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.85em}
.eyebrow,figcaption,.axis,.quiet,caption,summary{color:var(--muted);font-size:.85rem}
.eyebrow{margin:0}
.title{color:var(--muted);margin-top:0}
.badge{white-space:nowrap;font-weight:600;font-size:.9rem}
.pass{color:var(--pass)}.fail{color:var(--fail)}.open{color:var(--open)}.refused{color:var(--refused)}
.verdict{border-left:6px solid currentColor;padding:4px 0 4px 14px}
.simulated{border:3px dashed var(--fail);color:var(--fail);background:var(--panel);padding:14px 16px;font-size:1.15rem;font-weight:700;margin:16px 0;max-width:none}
.notes{border-left:4px solid var(--open);padding:2px 0 2px 14px;margin:12px 0}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:4px 20px;padding:0;margin:12px 0 0;font-size:.9rem;max-width:none}
.cell{background:var(--panel);border:1px solid var(--rule);border-radius:8px;padding:18px 20px;margin:16px 0}
.lead{margin:2px 0 12px}
.lead strong{font-size:1.75rem;line-height:1.2;letter-spacing:-.01em}
.lead span{color:var(--muted);margin-left:8px}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));gap:16px 24px;margin:8px 0 12px}
figure{margin:0;min-width:0}
.charts figure{max-width:440px}
svg.chart{display:block;width:100%;height:auto}
.narrow{display:none}
.axis{margin:6px 0 0}
figcaption{margin:6px 0;max-width:46rem;line-height:1.4}
dl{max-width:62rem;margin:12px 0;display:grid;gap:4px}
dl div{display:grid;grid-template-columns:7.5rem minmax(0,1fr);gap:12px}
dt{color:var(--muted);font-size:.9rem}
dd{margin:0;overflow-wrap:anywhere;font-size:.95rem}
.scroll{position:relative;overflow-x:auto;margin:12px 0}
.scroll:focus-visible,summary:focus-visible,a:focus-visible{outline:2px solid var(--link);outline-offset:2px}
table{border-collapse:collapse;font-size:.9rem;line-height:1.4;min-width:100%}
td .quiet,td .badge{font-size:inherit}
caption{text-align:left;padding:0 0 6px}
th,td{padding:6px 14px 6px 0;text-align:left;vertical-align:top;border-top:1px solid var(--rule)}
thead th{border-top:0;color:var(--muted);font-weight:500;white-space:nowrap}
tbody th{font-weight:500}
tbody th:not(.number){min-width:7.5rem}
.number{text-align:right}
td.number{white-space:nowrap}
details{margin:6px 0}
summary{cursor:pointer;padding:4px 0}
.differs{font-weight:600;color:var(--open)}
.unseen,details caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.item{margin-left:1.2em}
.label{display:none}
pre{overflow-x:auto;background:var(--panel);border:1px solid var(--rule);border-radius:6px;padding:12px 14px;max-width:100%}
footer{padding-top:24px;padding-bottom:40px;margin-top:40px;border-top:1px solid var(--rule);color:var(--muted);font-size:.85rem}
@media screen and (max-width:700px){
body{font-size:15px}
header,main,footer,nav{padding-left:14px;padding-right:14px}
header{padding-top:20px}
h1{font-size:1.4rem}
.cell{padding:14px 12px;margin-left:-6px;margin-right:-6px}
.wide{display:none}.narrow{display:block}
.stack table,.stack tbody,.stack tr,.stack th,.stack td{display:block}
.stack thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.stack tr{border-top:1px solid var(--rule);padding:8px 0}
.stack th,.stack td,.stack .number{border:0;padding:2px 0;text-align:left;white-space:normal}
.stack td,.stack td.number{position:relative;padding-left:6.5rem}
.stack caption{display:block}
.stack .label{display:block;position:absolute;left:0;width:6rem;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;color:var(--muted)}
dl div{grid-template-columns:minmax(0,1fr);gap:0}
dl{gap:8px}
}
@media print{
body{font-size:9.5pt}
header,main,footer{max-width:none;padding-left:0;padding-right:0}
table{font-size:8pt;line-height:1.3}
th,td{padding:4px 8px 4px 0}
tbody th:not(.number){min-width:0}
.badge,td.number{white-space:normal}
h2{margin-top:24px}
nav,summary{display:none}
.cell{border:0;background:none;padding:0;border-radius:0}
figure,tr,h2,h3,.lead{break-inside:avoid}
h2,h3,.lead,caption{break-after:avoid}
.charts{grid-template-columns:repeat(3,minmax(0,1fr))}
.scroll{overflow:visible}
a{color:inherit;text-decoration:none}
}`;

/** The whole style sheet. Print is light whatever the screen is. */
export const styleSheet = `:root{color-scheme:light dark;${declarations('light')}}
@media screen and (prefers-color-scheme:dark){:root{${declarations('dark')}}}${rules}
`;
