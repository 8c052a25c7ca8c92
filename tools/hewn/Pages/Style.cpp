// SPDX-License-Identifier: Apache-2.0
//
// CSS and script of the pages. Colors are named by their meaning; each pair of text and background
// has a contrast of at least 4.5 (WCAG 2.2, AA).
#include "tools/hewn/Pages/Style.h"

namespace hewn::tool {

static constexpr char kStyle[] = R"css(
:root{color-scheme:light dark;--ground:#fff;--panel:#f6f7f9;--line:#d9dde3;--text:#1b1f24;--quiet:#59636e;--link:#0b5cad;
--compute:#2f6fc4;--memory:#0e8a72;--unknown:#8a939e;--good:#1a7f4b;--fair:#b26a00;--poor:#c2352b;--idle:#e3e7ec;--on:#fff;
--heat0:#dfe8f3;--heat1:#b3cbe6;--heat2:#f4cf80;--heat3:#e8924a;--heat4:#c2352b;--mark:#8250df;
--a0:#4c83c9;--a1:#2f9e86;--a2:#c98a2b;--a3:#8a6cc2;--a4:#c25f7c;--a5:#6f9a3c}
@media(prefers-color-scheme:dark){:root{--ground:#14171b;--panel:#1d2127;--line:#363c45;--text:#e6e9ed;--quiet:#a3adb8;--link:#7cb4f0;
--compute:#6ea6ec;--memory:#3fbf9f;--unknown:#808a96;--good:#4cc38a;--fair:#e0a341;--poor:#f0766c;--idle:#2a3038;--on:#14171b;
--heat0:#25303d;--heat1:#2f4d70;--heat2:#7a5f1d;--heat3:#b9682c;--heat4:#ef6a58;--mark:#c39bff;
--a0:#6ea6ec;--a1:#3fbf9f;--a2:#e0ad55;--a3:#ab92e0;--a4:#e0839d;--a5:#94c25c}}
*{box-sizing:border-box}
[hidden]{display:none!important}
html{-webkit-text-size-adjust:100%;scroll-padding-top:3.5rem}
body{margin:0;background:var(--ground);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;overflow-wrap:break-word}
header,main,footer{max-width:80rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:1.5rem}
h1{font-size:1.55rem;line-height:1.25;margin:0 0 .25rem}
h2{font-size:1.15rem;margin:0 0 .25rem}
h3{font-size:1rem;margin:1.25rem 0 .25rem}
p{margin:.25rem 0 .75rem;max-width:60rem}
a{color:var(--link)}
.quiet,.note{color:var(--quiet)}
nav{position:sticky;top:0;z-index:2;background:var(--ground);border-bottom:1px solid var(--line);margin-top:1rem}
nav ul{max-width:80rem;margin:0 auto;padding:.4rem 1.25rem;list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.1rem}
section{padding:1.5rem 0;border-bottom:1px solid var(--line)}
section:last-of-type{border-bottom:0}
footer{padding-top:.5rem;padding-bottom:2rem;color:var(--quiet);font-size:.87rem}
code,pre,.mono{font:.92em ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
pre{white-space:pre-wrap;background:var(--panel);padding:.75rem;border-radius:6px;margin:.5rem 0}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-999rem}.skip:focus{left:1rem;top:.5rem;background:var(--ground);padding:.5rem;z-index:3}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(10rem,1fr));gap:.75rem;margin:.5rem 0 0;padding:0}
.tiles div{background:var(--panel);border-radius:8px;padding:.6rem .8rem;min-width:0}
.tiles dt{color:var(--quiet);font-size:.87rem}
.tiles dd{margin:0}
.tiles .value{font-size:1.2rem;white-space:nowrap;font-variant-numeric:tabular-nums;line-height:1.3}
.tiles .note{font-size:.87rem}
.todo{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:.75rem;padding:0;margin:.5rem 0 0;list-style:none;counter-reset:todo}
.todo li{background:var(--panel);border-radius:8px;padding:.8rem 1rem;border-top:3px solid var(--compute);counter-increment:todo;display:flex;flex-direction:column}
.todo h3{margin:0 0 .25rem}.todo h3::before{content:counter(todo) ". "}
.todo p{margin:0 0 .5rem}.todo .try{margin-top:auto}
.todo code{background:var(--ground);border:1px solid var(--line);border-radius:4px;padding:.1rem .35rem}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid var(--line)}
thead th{position:sticky;top:2.4rem;background:var(--ground);color:var(--quiet);font-weight:600;font-size:.87rem;z-index:1}
th.number,td.number{text-align:right;white-space:nowrap}
td.wide{width:60%;overflow-wrap:anywhere;min-width:14rem}.nodes,.mono,h1,h3{overflow-wrap:anywhere}th{white-space:nowrap}td .nodes{min-width:9rem}
th button{all:unset;cursor:pointer;box-sizing:border-box}th button:focus-visible{outline:2px solid var(--link);outline-offset:2px}
th button::after{content:"";display:inline-block;width:.9em;text-align:center}
th[aria-sort=ascending] button::after{content:"\2191"}th[aria-sort=descending] button::after{content:"\2193"}
.bar{display:flex;align-items:center;gap:.5rem;justify-content:flex-end;white-space:nowrap}
.bar i{flex:none;display:block;width:4.5rem;height:.55rem;border-radius:2px;background:var(--idle);overflow:hidden}
.bar i b{display:block;height:100%}
.bar span{min-width:3.6rem;text-align:right}
.dense{font-size:.9rem}.dense th,.dense td{padding:.3rem .35rem}.dense .bar i{width:2.2rem}.dense .bar{gap:.3rem}.dense .bar span{min-width:2.4rem}.dense td.wide{min-width:9rem}
.dense th{white-space:normal}.dense th button::after{display:inline}
.compute{background:var(--compute)}.memory{background:var(--memory)}.unknown{background:var(--unknown)}
.good{background:var(--good)}.fair{background:var(--fair)}.poor{background:var(--poor)}
.nodes{color:var(--quiet);font-size:.9em}
.filter{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;margin:.5rem 0}
input{font:inherit;color:inherit;background:var(--ground);border:1px solid var(--quiet);border-radius:5px;padding:.25rem .5rem;min-width:0;max-width:100%}
.more{font:inherit;color:var(--link);background:none;border:1px solid var(--line);border-radius:5px;padding:.3rem .8rem;margin-top:.6rem;cursor:pointer}
.empty{background:var(--panel);border-radius:8px;padding:.8rem 1rem;color:var(--quiet)}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:.35rem 0;padding:0;list-style:none;font-size:.9rem;color:var(--quiet)}
.legend i{display:inline-block;width:.8rem;height:.8rem;border-radius:2px;margin-right:.4rem;vertical-align:-.08rem}
.picture{display:grid;grid-template-columns:auto minmax(0,1fr);grid-template-rows:1fr auto;gap:.25rem .5rem;margin:.5rem 0}
.picture .y{display:flex;flex-direction:column;justify-content:space-between;text-align:right;font-size:.82rem;color:var(--quiet);white-space:nowrap}
.picture .x{grid-column:2;display:flex;justify-content:space-between;font-size:.82rem;color:var(--quiet);gap:.5rem}
.picture .area{position:relative;min-width:0;background:var(--panel);border-radius:4px}
.x span{min-width:0;overflow-wrap:anywhere}.x span:last-child{text-align:right}
.picture svg{display:block;width:100%;height:100%;position:absolute;inset:0}
.picture svg [data-item]{cursor:pointer}
.picture svg [data-item]:focus{outline:none;stroke:var(--text);stroke-width:2px}
.picture svg [data-item]:hover{stroke:var(--text);stroke-width:1.5px}
.picture rect,.picture line,.picture polyline{vector-effect:non-scaling-stroke}
.arena rect{stroke:var(--ground);stroke-width:.6px}
.c0{fill:var(--a0)}.c1{fill:var(--a1)}.c2{fill:var(--a2)}.c3{fill:var(--a3)}.c4{fill:var(--a4)}.c5{fill:var(--a5)}
.fill-compute{fill:var(--compute)}.fill-memory{fill:var(--memory)}.fill-unknown{fill:var(--unknown)}.fill-task{fill:var(--a3)}
.live{fill:none;stroke:var(--text);stroke-width:1.5px;stroke-dasharray:4 3;pointer-events:none}
.roof{fill:none;stroke:var(--text);stroke-width:2px;pointer-events:none}
.grid{stroke:var(--line);stroke-width:1px;pointer-events:none}
.dot{position:absolute;border-radius:50%;transform:translate(-50%,50%);opacity:.8;border:1px solid var(--ground);padding:0;cursor:pointer}
.dot:hover,.dot:focus{opacity:1;outline:2px solid var(--text);outline-offset:1px;z-index:1}
.mark{position:absolute;font-size:.8rem;color:var(--quiet);background:var(--panel);padding:0 .25rem;pointer-events:none;white-space:nowrap}
.tall{height:26rem}.middle{height:20rem}
.lanes{display:grid;grid-template-columns:auto minmax(0,1fr);gap:.35rem .5rem;align-items:center;margin:.5rem 0;font-size:.85rem}
.lanes .area{position:relative;height:2.1rem;background:var(--idle);border-radius:4px;overflow:hidden;min-width:0}
.lanes svg{display:block;width:100%;height:100%;position:absolute;inset:0}
.lanes svg [data-item]:focus{outline:none;stroke:var(--text);stroke-width:3px}
.lanes rect{vector-effect:non-scaling-stroke;stroke:var(--ground);stroke-width:.4px}
.lanes .x{grid-column:2;display:flex;justify-content:space-between;color:var(--quiet)}
#tip{position:fixed;z-index:5;max-width:min(26rem,calc(100vw - 1.5rem));background:var(--text);color:var(--ground);padding:.45rem .65rem;border-radius:6px;
font-size:.87rem;line-height:1.4;pointer-events:none;white-space:pre-line}
.stages{display:flex;height:1.4rem;border-radius:4px;overflow:hidden;margin:.5rem 0}
.stages span{min-width:1px}
.heat0{background:var(--heat0)}.heat1{background:var(--heat1)}.heat2{background:var(--heat2)}.heat3{background:var(--heat3)}.heat4{background:var(--heat4)}
.unseen{position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%)}
.graph-bar{display:flex;flex-wrap:wrap;gap:.4rem .5rem;align-items:center;margin:.5rem 0;font-size:.93rem}
.pair{display:inline-flex;gap:.4rem;align-items:center;min-width:0}.graph-bar .more{margin:0;padding:.25rem .6rem}.graph-bar .space{flex:1}.graph-bar input{width:15rem}
select{font:inherit;color:inherit;background:var(--ground);border:1px solid var(--quiet);border-radius:5px;padding:.25rem .4rem;max-width:100%}
.graph-stage{display:grid;grid-template-columns:minmax(0,1fr);border:1px solid var(--line);border-radius:6px;overflow:hidden;height:38rem}
.has-panel .graph-stage{grid-template-columns:minmax(0,1fr) minmax(0,22rem)}
.graph-canvas{position:relative;min-width:0;min-height:0}
.graph-canvas canvas{position:absolute;inset:0;width:100%;height:100%;touch-action:none;cursor:grab}
.graph-canvas canvas:focus-visible{outline-offset:-2px}
.graph-stage aside{border-left:1px solid var(--line);background:var(--panel);overflow:auto;padding:.7rem .9rem;font-size:.9rem;overflow-wrap:anywhere;position:relative}
aside h3{margin:0 2rem .1rem 0}aside h4{margin:.8rem 0 .15rem;font-size:.85rem;color:var(--quiet)}aside p{margin:.1rem 0 .3rem}
aside ul{margin:0;padding-left:1.1rem}aside dl{display:grid;grid-template-columns:auto minmax(0,1fr);gap:.1rem .7rem;margin:0}aside dt{color:var(--quiet)}aside dd{margin:0;text-align:right}
aside code{display:block}aside mark{background:none;color:inherit;font-weight:700;text-decoration:underline 2px var(--mark)}
aside .link{all:unset;color:var(--link);cursor:pointer;text-decoration:underline}aside .link:focus-visible{outline:2px solid var(--link)}
aside .close{position:absolute;top:.5rem;right:.6rem;font:inherit;font-size:1.2rem;line-height:1;color:var(--quiet);background:none;border:0;padding:.25rem .4rem;cursor:pointer}
aside .more{margin:.3rem 0 0}
#model-graph.full{position:fixed;inset:0;z-index:4;background:var(--ground);padding:.5rem .8rem;display:flex;flex-direction:column}
.full .graph-stage{flex:1;height:auto;min-height:0}.full .note{display:none}.has-full{overflow:hidden}
@media(max-width:44rem){
.graph-stage{height:auto;grid-template-rows:26rem auto}.has-panel .graph-stage{grid-template-columns:minmax(0,1fr)}.graph-stage aside{border-left:0;border-top:1px solid var(--line);max-height:24rem}
.graph-bar .space{display:none}.graph-bar input{flex:1 0 9rem;width:9rem}.graph-bar{gap:.4rem}.full .graph-stage{grid-template-rows:minmax(0,1fr) auto}.full aside{max-height:40vh}
body{font-size:16px}header,main,footer{padding-left:.9rem;padding-right:.9rem}nav ul{padding-left:.9rem;padding-right:.9rem;flex-wrap:nowrap;overflow-x:auto}nav a{white-space:nowrap}
.tiles{grid-template-columns:repeat(2,minmax(0,1fr))}.tall{height:22rem}.slope{display:none}
table,tbody{display:block}thead{position:absolute;left:-999rem}
tr{display:block;background:var(--panel);border-radius:8px;padding:.5rem .75rem;margin:.6rem 0}
td,td.wide{display:flex;width:auto;justify-content:space-between;gap:1rem;border:0;padding:.12rem 0;text-align:right;white-space:normal}
td.number{white-space:normal}
td::before{content:attr(data-label);color:var(--quiet);text-align:left;flex:none}
td:first-child{display:block;text-align:left;font-weight:600}td:first-child::before{content:none}
td.wide{display:block;text-align:left;min-width:0}td .nodes{min-width:0}td.wide::before{display:block}
td:empty{display:none}
.nodes{font-weight:400}
}
@media print{nav,.filter,.more,.skip{display:none}}
)css";

static constexpr char kScript[] = R"js(
'use strict';
(() => {
  const tip = document.getElementById('tip');
  let read = null;
  const hide = () => { tip.hidden = true; read = null; };
  // Shows the name of a diagram item as a tooltip, for mouse, touch and keyboard.
  const show = item => {
    read = item;
    tip.textContent = item.getAttribute('aria-label');
    tip.hidden = false;
    const at = item.getBoundingClientRect(), own = tip.getBoundingClientRect(), gap = 8;
    const left = Math.min(Math.max(gap, at.left + at.width / 2 - own.width / 2), innerWidth - own.width - gap);
    const above = at.top - own.height - gap;
    tip.style.left = Math.max(gap, left) + 'px';
    tip.style.top = (above >= gap ? above : Math.min(at.bottom + gap, innerHeight - own.height - gap)) + 'px';
  };
  document.addEventListener('pointerover', event => {
    const item = event.target.closest('[data-item]');
    item ? show(item) : hide();
  });
  document.addEventListener('focusin', event => {
    const item = event.target.closest('[data-item]');
    item ? show(item) : hide();
  });
  // When an item gets the focus, the browser scrolls the page after the focus event: keep the
  // tooltip at the item.
  document.addEventListener('scroll', () => {
    if (read) show(read);
  }, { passive: true });
  // Each diagram is one tab stop; arrow keys select its items.
  for (const picture of document.querySelectorAll('[data-picture]')) {
    const items = [...picture.querySelectorAll('[data-item]')];
    items.forEach((item, i) => item.setAttribute('tabindex', i ? -1 : 0));
    picture.addEventListener('keydown', event => {
      const at = items.indexOf(document.activeElement);
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
      if (event.key === 'Escape') hide();
      if (at < 0 || to === undefined || !items[to]) return;
      event.preventDefault();
      items[at].setAttribute('tabindex', -1);
      items[to].setAttribute('tabindex', 0);
      items[to].focus();
    });
  }
  for (const table of document.querySelectorAll('table[data-sortable]')) {
    const body = table.tBodies[0], rows = [...body.rows], shown = Number(table.dataset.shown), more = document.getElementById(table.id + '-more');
    const filter = document.getElementById(table.id + '-filter'), count = document.getElementById(table.id + '-count');
    let all = !shown;
    const refresh = () => {
      const wanted = filter ? filter.value.trim().toLowerCase() : '';
      let seen = 0;
      for (const row of body.rows) {
        const fits = !wanted || row.textContent.toLowerCase().includes(wanted);
        seen += fits;
        row.hidden = !fits || (!all && !wanted && seen > shown);
      }
      if (count) count.textContent = wanted ? seen + ' of ' + rows.length : '';
      if (more) more.hidden = all || !!wanted;
    };
    if (more) more.addEventListener('click', () => { all = true; refresh(); });
    if (filter) filter.addEventListener('input', refresh);
    [...table.tHead.rows[0].cells].forEach((head, column) => head.querySelector('button').addEventListener('click', () => {
      const falling = head.getAttribute('aria-sort') === 'none' ? head.classList.contains('number') : head.getAttribute('aria-sort') === 'ascending';
      for (const other of table.tHead.rows[0].cells) other.setAttribute('aria-sort', 'none');
      head.setAttribute('aria-sort', falling ? 'descending' : 'ascending');
      const key = row => row.cells[column].dataset.number === undefined ? NaN : Number(row.cells[column].dataset.number);
      const text = row => row.cells[column].textContent;
      rows.sort((a, b) => {
        const x = key(a), y = key(b);
        if (Number.isNaN(x) || Number.isNaN(y)) {
          if (!Number.isNaN(x)) return -1;
          if (!Number.isNaN(y)) return 1;
          if (head.classList.contains('number')) return 0;
          return (falling ? -1 : 1) * text(a).localeCompare(text(b), undefined, { numeric: true });
        }
        return falling ? y - x : x - y;
      });
      body.append(...rows);
      refresh();
    }));
    refresh();
  }
})();
)js";

llvm::StringRef pageStyle() { return kStyle; }
llvm::StringRef pageScript() { return kScript; }

} // namespace hewn::tool
