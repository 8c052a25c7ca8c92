// SPDX-License-Identifier: Apache-2.0
//
// Builds the items and flows of a graph from the data of the page (GraphSection.cpp).
const graphModel = (() => {
  const SIZES = { title: 46, padding: 14, label: 20 }, MOST_TITLE = 34, MOST_NAME = 38;
  const measureContext = document.createElement('canvas').getContext('2d');
  const FONTS = { title: '600 13px system-ui, sans-serif', text: '11px system-ui, sans-serif' };

  function widthOf(text, font) {
    measureContext.font = font;
    return measureContext.measureText(text).width;
  }
  const short = (text, most) => text.length <= most ? text : text.slice(0, most / 2 | 0) + '…' + text.slice(text.length - (most / 2 | 0) + 1);

  // Three significant digits and a unit, as in the tables of the page.
  function shown(number, unit) {
    if (number === null || number === undefined) return '';
    if (unit === 'ns') {
      number /= 1e6;
      const [value, name] = number < 0.9995e-3 ? [number * 1e6, 'ns'] : number < 0.9995 ? [number * 1e3, 'µs'] : number < 999.5 ? [number, 'ms'] : [number / 1e3, 's'];
      return digits(value) + ' ' + name;
    }
    const prefixes = ['', 'k', 'M', 'G', 'T', 'P'];
    let i = 0;
    for (; Math.abs(number) >= 999.5 && i + 1 < prefixes.length; ++i) number /= 1e3;
    return digits(number) + ' ' + prefixes[i] + unit;
  }
  const digits = number => number >= 99.95 || Number.isInteger(number) ? number.toFixed(0) : number.toFixed(number >= 9.995 ? 1 : 2);

  // A box: a step of the program, an input or output, or an ONNX node.
  class Item {
    constructor(kind, title, sub) {
      Object.assign(this, { kind, title, sub, nodes: [], views: [], inner: [], flow: null, isOpen: false, metrics: [] });
      this.resize();
    }
    resize() {
      this.shownTitle = short(this.title, MOST_TITLE);
      this.shownSub = short(this.sub, MOST_NAME);
      this.ownHeight = this.sub ? 42 : 26;
      this.ownWidth = Math.ceil(Math.max(60, widthOf(this.shownTitle, FONTS.title), widthOf(this.shownSub, FONTS.text)) + 28);
    }
    visibleFlows() { return this.isOpen ? this.inner : []; }
    // The step that an ONNX node belongs to; any other item itself.
    get step() { return this.kind === 'node' ? this.flow.owner : this; }
  }

  const unique = list => list.filter((one, i) => one !== list[i - 1]);

  function opsTitle(ops) {
    const names = unique(ops);
    const most = 4;
    return names.length <= most ? names.join(' + ') : names.slice(0, most - 1).join(' + ') + ' + ' + (names.length - most + 1) + ' more';
  }

  // Builds the graph number `index`: {flow, items}; `items` lists the items of all flows except ONNX nodes.
  function build(data, index) {
    const graph = data.graphs[index], all = [];

    // The values that a body reads from outside.
    function capturedBy(body, into = new Set(), inside = new Set()) {
      for (const value of body.a) inside.add(value);
      for (const step of body.s) {
        for (const value of step.i) if (!inside.has(value)) into.add(value);
        for (const inner of step.b ?? []) capturedBy(inner, into, new Set(inside));
        for (const value of step.u) inside.add(value);
      }
      for (const value of body.r) if (!inside.has(value) && !graph.values[value].c) into.add(value);
      return into;
    }

    function itemOf(step) {
      const nodes = step.n.map(node => data.nodes[node]), kernel = step.k === undefined ? null : graph.kernels[step.k];
      const title = kernel && nodes.length ? opsTitle(nodes.map(node => node[1])) : kernel ? kernel.name : step.b ? (nodes[0]?.[1] ?? step.o) : step.o;
      const sub = kernel ? (nodes.length ? kernel.name : '') : step.b ? (nodes[0]?.[0] ?? '') : nodes.length ? nodes[0][1] + ' ' + nodes[0][0] : '';
      const item = new Item(step.v ? 'view' : step.b ? 'control' : kernel ? 'kernel' : 'call', title, sub);
      Object.assign(item, { data: step, kernel, nodes: [...step.n], metrics: step.m ?? [] });
      return item;
    }

    function buildFlow(body, inputNames, outputNames) {
      const items = [], edges = [], makers = new Map(), readers = [], pending = new Map();
      const value = number => graph.values[number];
      const read = (number, to) => {
        const from = makers.get(number) ?? pending.get(number);
        if (!from || from === to) return;
        if (pending.has(number)) { // an input stands directly before its first reader
          items.push(from);
          makers.set(number, from);
          pending.delete(number);
        }
        readers.push({ from, to, value: number });
      };
      const source = (number, name, sub) => pending.set(number, new Item('input', name, sub));
      body.a.forEach((number, i) => source(number, inputNames?.[i] || 'argument ' + i, value(number).s));
      if (!inputNames) for (const number of capturedBy(body)) source(number, 'outer value', value(number).s);
      for (const step of body.s) {
        if (!step.u.length && !step.b) continue; // a guard
        const inputs = new Set(step.i);
        for (const inner of step.b ?? []) for (const number of capturedBy(inner)) inputs.add(number);
        const maker = step.v ? makers.get(step.i[0]) : undefined;
        if (maker && maker.kind !== 'input') { // a view of the value of another step is an edge
          makers.set(step.u[0], maker);
          maker.views.push(...step.n);
          continue;
        }
        const item = itemOf(step);
        for (const number of inputs) read(number, item);
        items.push(item);
        for (const number of step.u) makers.set(number, item);
        item.inner = (step.b ?? []).map(inner => {
          const flow = buildFlow(inner);
          flow.owner = item;
          flow.title = inner.t;
          flow.titleWidth = widthOf(inner.t, FONTS.text);
          return flow;
        });
        item.isOpen = item.inner.length > 0;
        all.push(item);
      }
      const outputs = new Map();
      body.r.forEach((number, i) => {
        const maker = makers.get(number) ?? pending.get(number), item = new Item('output', outputNames?.[i] || 'result ' + i, value(number).s);
        if (maker && !pending.has(number)) outputs.set(maker, [...(outputs.get(maker) ?? []), item]); // directly after its maker
        if (!maker || pending.has(number)) { read(number, item); items.push(item); }
        else readers.push({ from: maker, to: item, value: number });
      });
      const sorted = items.flatMap(item => [item, ...(outputs.get(item) ?? [])]);
      const numbers = new Map(sorted.map((item, i) => [item, i])), known = new Set();
      for (const edge of readers) {
        const key = numbers.get(edge.from) * sorted.length + numbers.get(edge.to);
        if (known.has(key)) continue;
        known.add(key);
        edges.push(edge);
      }
      for (const item of sorted) if (item.kind === 'input' || item.kind === 'output') all.push(item);
      // Boxes stand far enough apart for the labels of their edges.
      for (const { from, value: number } of edges) from.labelWidth = Math.max(from.labelWidth ?? 0, widthOf(value(number).s, FONTS.text) + 8);
      const flow = new graphLayout.Flow(sorted, edges);
      for (const item of sorted) { item.readers = []; item.makers = []; }
      for (const edge of edges) { edge.from.readers.push(edge.to); edge.to.makers.push(edge.from); }
      return flow;
    }
    const flow = buildFlow(graph.program, graph.inputs, graph.outputs);
    flow.owner = null;
    return { flow, items: all };
  }

  // Shows or hides the ONNX nodes of a step.
  function toggle(data, item) {
    if (!canOpen(item)) return false;
    item.isOpen = !item.isOpen;
    if (!item.inner.length) {
      const makers = new Map(), nodes = item.nodes.map(number => {
        const [name, op, , outputs] = data.nodes[number], node = new Item('node', op, name);
        node.node = number;
        node.nodes = [number];
        for (const value of outputs) makers.set(value, node);
        return node;
      });
      const edges = [];
      for (const node of nodes)
        for (const maker of new Set(data.nodes[node.node][2].map(value => makers.get(value))))
          if (maker && nodes.indexOf(maker) < nodes.indexOf(node)) edges.push({ from: maker, to: node, value: null });
      const flow = new graphLayout.Flow(nodes, edges);
      for (const node of nodes) { node.readers = []; node.makers = []; }
      for (const edge of edges) { edge.from.readers.push(edge.to); edge.to.makers.push(edge.from); }
      flow.owner = item;
      item.inner = [flow];
    }
    graphLayout.touch(item);
    return true;
  }
  const canOpen = item => item.kind === 'control' || (['kernel', 'call', 'view'].includes(item.kind) && item.nodes.length > 0);

  return { build, toggle, canOpen, shown, widthOf, FONTS, SIZES };
})();
