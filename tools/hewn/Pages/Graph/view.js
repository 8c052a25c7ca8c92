// SPDX-License-Identifier: Apache-2.0
//
// Draws the graph of a page on a canvas, and handles mouse, touch, keyboard, search and the panel.
(() => {
  const root = document.getElementById('model-graph');
  if (!root) return;
  const data = JSON.parse(document.getElementById('model-graph-data').textContent);
  const find = selector => root.querySelector(selector);
  const canvas = find('canvas'), context = canvas.getContext('2d'), panel = find('aside'), told = find('#graph-told'), legend = find('.legend');
  const search = find('#graph-search'), count = find('#graph-count'), metric = find('#graph-color'), variant = find('#graph-variant');
  const SIZES = graphModel.SIZES, FONTS = graphModel.FONTS, SHARES = [0.02, 0.07, 0.2, 0.5, 1];
  const TEXT_FROM = 0.36, LABELS_FROM = 0.7, SMALLEST = 0.01, LARGEST = 3;
  let model = null, colors = {}, largest = 0, total = 0, selected = null, matches = [], matched = new Set(), match = -1, isFull = false, isLaidOut = false, frame = 0;
  const view = { x: 0, y: 0, scale: 1 };

  //===--- Colors ---===//

  function luminance(color) {
    const channel = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = [1, 3, 5].map(i => channel(parseInt(color.slice(i, i + 2), 16) / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  const textOn = color => luminance(color) > 0.179 ? '#000000' : '#ffffff';

  function readColors() {
    const style = getComputedStyle(root), of = name => {
      const value = style.getPropertyValue('--' + name).trim();
      return value.length === 4 ? '#' + [...value.slice(1)].map(c => c + c).join('') : value;
    };
    for (const name of ['ground', 'panel', 'line', 'text', 'quiet', 'link', 'idle', 'poor']) colors[name] = of(name);
    colors.heat = SHARES.map((_, i) => of('heat' + i));
    colors.mark = of('mark');
  }

  const valueOf = item => item.metrics[metric.selectedIndex];
  function colorOf(item) {
    if (item.kind === 'node') return colors.ground;
    const value = valueOf(item);
    if (value === null || value === undefined || !largest) return item.kind === 'kernel' ? colors.idle : colors.panel;
    return colors.heat[SHARES.findIndex(share => value <= share * largest * 1.0001)];
  }

  function recolor() {
    const values = model.items.map(valueOf).filter(value => value > 0);
    largest = Math.max(0, ...values);
    total = values.reduce((sum, value) => sum + value, 0);
    const unit = data.metrics[metric.selectedIndex][1];
    legend.replaceChildren(...(largest ? SHARES : []).map((share, i) => {
      const entry = document.createElement('li'), swatch = document.createElement('i');
      swatch.className = 'heat' + i;
      entry.append(swatch, 'up to ' + graphModel.shown(share * largest, unit));
      return entry;
    }));
    draw();
  }

  //===--- Drawing ---===//

  function draw() {
    if (!frame) frame = requestAnimationFrame(() => { frame = 0; paint(); });
  }

  function resize() {
    const box = canvas.parentElement.getBoundingClientRect(), ratio = devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(box.width * ratio));
    canvas.height = Math.max(1, Math.round(box.height * ratio));
    paint();
  }

  const size = () => ({ width: canvas.width / (devicePixelRatio || 1), height: canvas.height / (devicePixelRatio || 1) });

  function paint() {
    if (!model) return;
    const ratio = devicePixelRatio || 1, { width, height } = size();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colors.ground;
    context.fillRect(0, 0, width, height);
    context.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
    const seen = { left: -view.x / view.scale, top: -view.y / view.scale, right: (width - view.x) / view.scale, bottom: (height - view.y) / view.scale };
    context.lineJoin = 'round';
    paintFlow(model.flow, 0, 0, seen);
  }

  const isSeen = (x, y, width, height, seen) => x < seen.right && x + width > seen.left && y < seen.bottom && y + height > seen.top;

  function line(points, x, y, isSmooth) {
    context.moveTo(x + points[0].x, y + points[0].y);
    const smooth = isSmooth && view.scale > 0.3;
    for (let i = 1; i < points.length; ++i) {
      const end = points[i], next = points[i + 1];
      if (smooth && next) context.quadraticCurveTo(x + end.x, y + end.y, x + (end.x + next.x) / 2, y + (end.y + next.y) / 2);
      else context.lineTo(x + end.x, y + end.y);
    }
  }

  function paintFlow(flow, x, y, seen) {
    const visible = flow.placed.filter(chunk => isSeen(x - 1e4, y + chunk.y - chunk.gap - 20, flow.width + 2e4, chunk.gap + chunk.height + 40, seen));
    const near = selected && selected.flow === flow ? selected : null, marked = [];
    context.lineWidth = Math.max(1.1, 0.7 / view.scale);
    context.strokeStyle = colors.quiet;
    context.beginPath();
    for (const chunk of visible) {
      for (const path of chunk.paths) {
        if (near && (path.edge.from === near || path.edge.to === near)) marked.push([path.points, x + chunk.x, y + chunk.y, true]);
        else line(path.points, x + chunk.x, y + chunk.y, true);
      }
      for (const path of chunk.gaps) {
        if (near && (path.edge.from === near || path.edge.to === near)) marked.push([path.points, x, y, false]);
        else line(path.points, x, y, false);
      }
    }
    context.stroke();
    if (marked.length) {
      context.strokeStyle = colors.link;
      context.lineWidth = Math.max(2.2, 1.6 / view.scale);
      context.beginPath();
      for (const one of marked) line(...one);
      context.stroke();
    }
    for (const chunk of visible)
      for (const item of chunk.items) {
        const left = x + chunk.x + item.x, top = y + chunk.y + item.y;
        if (isSeen(left, top, item.width, item.height, seen)) paintItem(item, left, top, seen);
      }
    if (view.scale >= LABELS_FROM) for (const chunk of visible) paintLabels(chunk, x + chunk.x, y + chunk.y, seen);
  }

  function paintLabels(chunk, x, y, seen) {
    const done = new Set(), placed = [];
    context.font = FONTS.text;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    for (const { edge, points } of chunk.paths) {
      if (edge.value === null || edge.from.chunk !== chunk) continue;
      const text = model.values[edge.value].s, key = edge.from.number + ' ' + edge.value;
      if (!text || edge.from.kind === 'input' || edge.to.kind === 'output') continue;
      const left = x + points[0].x, top = y + edge.from.y + edge.from.height + 13;
      if (done.has(key) || !isSeen(left - 100, top - 10, 200, 20, seen)) continue;
      done.add(key);
      const width = graphModel.widthOf(text, FONTS.text), isCovered = placed.some(one => Math.abs(one.top - top) < 14 && Math.abs(one.left - left) < (one.width + width) / 2);
      if (isCovered) continue;
      placed.push({ left, top, width });
      context.fillStyle = colors.ground;
      context.fillRect(left - width / 2 - 3, top - 7, width + 6, 14);
      context.fillStyle = colors.quiet;
      context.fillText(text, left, top);
    }
  }

  function paintItem(item, x, y, seen) {
    const { width, height, kind } = item, isOpen = item.visibleFlows().length > 0, header = isOpen ? item.ownHeight : height;
    const color = colorOf(item), isMatch = matched.has(item.step), round = kind === 'input' || kind === 'output' ? 12 : kind === 'view' ? 10 : 6;
    const box = (h, fill) => {
      context.beginPath();
      context.roundRect(x, y, width, h, view.scale > 0.15 ? round : 0);
      context.fillStyle = fill;
      context.fill();
    };
    if (isOpen) {
      box(height, colors.panel);
      context.save();
      context.clip();
      context.fillStyle = color;
      context.fillRect(x, y, width, header);
      context.restore();
      context.beginPath();
      context.roundRect(x, y, width, height, view.scale > 0.15 ? round : 0);
    } else {
      box(height, color);
    }
    context.lineWidth = item === selected ? Math.max(3, 2.5 / view.scale) : isMatch ? Math.max(2.5, 2 / view.scale) : Math.max(1, 0.6 / view.scale);
    context.strokeStyle = item === selected ? colors.link : isMatch ? colors.mark : kind === 'node' || kind === 'input' || kind === 'output' ? colors.quiet : colors.line;
    if (view.scale > 0.1 || item === selected || isMatch) context.stroke();
    if (view.scale >= TEXT_FROM) {
      const text = textOn(color);
      context.fillStyle = text;
      context.textAlign = 'center';
      context.textBaseline = 'middle';
      context.font = FONTS.title;
      context.fillText(item.shownTitle, x + width / 2, y + (item.sub ? 15 : item.ownHeight / 2));
      if (item.sub) {
        context.font = FONTS.text;
        context.fillText(item.shownSub, x + width / 2, y + 31);
      }
    }
    for (const flow of item.visibleFlows()) {
      if (flow.title && view.scale >= TEXT_FROM) {
        context.fillStyle = colors.text;
        context.font = FONTS.text;
        context.textAlign = 'left';
        context.fillText(flow.title, x + flow.x, y + flow.y - 10);
      }
      if (view.scale > 0.08) paintFlow(flow, x + flow.x, y + flow.y, seen);
    }
  }

  //===--- Positions ---===//

  // Returns the top left corner of an item, in coordinates of the graph.
  function cornerOf(item) {
    let x = 0, y = 0;
    for (let one = item; one; one = one.flow.owner) {
      x += one.flow.x + one.chunk.x + one.x;
      y += one.flow.y + one.chunk.y + one.y;
    }
    return { x, y };
  }

  function itemAt(clientX, clientY) {
    const box = canvas.getBoundingClientRect();
    const look = (flow, x, y) => {
      for (const chunk of flow.placed)
        for (const item of chunk.items) {
          const left = x - chunk.x - item.x, top = y - chunk.y - item.y;
          if (left < 0 || top < 0 || left > item.width || top > item.height) continue;
          for (const inner of item.visibleFlows()) {
            const found = look(inner, left - inner.x, top - inner.y);
            if (found) return found;
          }
          return item;
        }
      return null;
    };
    return isLaidOut ? look(model.flow, (clientX - box.left - view.x) / view.scale, (clientY - box.top - view.y) / view.scale) : null;
  }

  // A movement of the view to an item (`show`), which ends when the user moves the view.
  let moving = 0;
  const stop = () => cancelAnimationFrame(moving);

  function zoom(factor, x = size().width / 2, y = size().height / 2) {
    stop();
    const scale = Math.min(Math.max(view.scale * factor, SMALLEST), LARGEST), by = scale / view.scale;
    view.x = x - (x - view.x) * by;
    view.y = y - (y - view.y) * by;
    view.scale = scale;
    draw();
  }

  function fit() {
    stop();
    const { width, height } = size();
    view.scale = Math.min(1.2, Math.max(SMALLEST, Math.min((width - 40) / model.flow.width, (height - 40) / model.flow.height)));
    view.x = (width - model.flow.width * view.scale) / 2;
    view.y = (height - model.flow.height * view.scale) / 2;
    draw();
  }

  // The first view: the start of the graph, large enough to read.
  function start() {
    fit();
    if (view.scale >= 0.75) return;
    const first = model.flow.chunks[0], { width } = size();
    view.scale = Math.min(0.9, Math.max(0.6, (width - 40) / (first?.width || 1)));
    view.x = width / 2 - view.scale * (first ? first.x + first.width / 2 : 0);
    view.y = 20;
    draw();
  }

  function show(item) {
    stop();
    const corner = cornerOf(item), { width, height } = size();
    const scale = Math.max(view.scale, 0.7), y = Math.min(corner.y + item.height / 2, corner.y + 0.4 * height / scale);
    const to = { scale, x: width / 2 - (corner.x + item.width / 2) * scale, y: height / 2 - y * scale }, from = { ...view };
    const duration = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 180, begin = performance.now();
    const step = now => {
      const part = duration ? Math.min(1, Math.max(0, (now - begin) / duration)) : 1, ease = 1 - (1 - part) ** 3;
      for (const key of ['x', 'y', 'scale']) view[key] = from[key] + (to[key] - from[key]) * ease;
      paint();
      if (part < 1) moving = requestAnimationFrame(step);
    };
    step(begin);
  }

  // True if the item is in the window completely.
  function isShown(item) {
    const corner = cornerOf(item), { width, height } = size(), left = corner.x * view.scale + view.x, top = corner.y * view.scale + view.y;
    return left >= 0 && top >= 0 && left + item.width * view.scale <= width && top + item.height * view.scale <= height && view.scale > 0.5;
  }

  //===--- Panel ---===//

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function section(title, children) {
    return children.length ? [element('h4', title), ...children] : [];
  }

  function link(item, text) {
    const made = element('button', text ?? (item.title + (item.sub ? ' (' + item.sub + ')' : '')), 'link');
    made.addEventListener('click', () => { reveal(item); select(item); show(item); });
    return made;
  }

  function list(entries) {
    const made = element('ul');
    for (const entry of entries) {
      const line = element('li');
      line.append(entry);
      made.append(line);
    }
    return entries.length ? [made] : [];
  }

  function facts(pairs) {
    const made = element('dl');
    for (const [name, text] of pairs) if (text) made.append(element('dt', name), element('dd', text));
    return made.children.length ? [made] : [];
  }

  function nodeText(number) {
    const [name, op] = data.nodes[number];
    return op + ' ' + name;
  }

  function remarksOf(item) {
    const numbers = new Set([...item.nodes, ...item.views].flatMap(node => data.remarks_of[node] ?? []));
    return [...numbers].map(number => data.remarks[number]);
  }

  function metricFacts(item) {
    const i = metric.selectedIndex, [name, unit] = data.metrics[i], value = item.metrics[i];
    return [[name, value === null || value === undefined ? '' : graphModel.shown(value, unit)],
      ['Share of the graph', value && total ? (100 * value / total).toFixed(1) + ' %' : '']];
  }

  function fillPanel(item) {
    const step = item.step, values = numbers => numbers.map(number => model.values[number]).map(value => value.s ? value.s + ', ' + value.d : value.d);
    const close = element('button', '×', 'close');
    close.setAttribute('aria-label', 'Close');
    close.addEventListener('click', () => { select(null); canvas.focus(); });
    const head = element('h3', item.title);
    const parts = [close, head, ...(item.sub ? [element('p', item.sub, 'quiet')] : [])];
    if (item.kind === 'node') {
      const [, , inputs, outputs] = data.nodes[item.node];
      parts.push(...section('Inputs', list(inputs.map(name => data.names[name]))), ...section('Outputs', list(outputs.map(name => data.names[name]))));
      parts.push(...section('Fused into', list([link(step, step.kernel?.name ?? step.title)])));
    }
    if (step.data) {
      if (graphModel.canOpen(step)) {
        const open = element('button', (step.isOpen ? 'Hide' : 'Show') + (step.kind === 'control' ? ' bodies' : ' nodes in the graph'), 'more');
        open.addEventListener('click', () => { toggle(step); });
        parts.push(open);
      }
      parts.push(...section(step.kernel ? 'Kernel' : 'Step', facts([[step.kernel ? 'Name' : 'Op', step.kernel ? (step.kernel.name === step.sub ? '' : step.kernel.name) : step.data.o], ...metricFacts(step), ...(step.kernel?.facts ?? [])])));
      parts.push(...section('ONNX nodes', list(step.nodes.map(number => nodeMark(number)))));
      parts.push(...section('Views of its results (no work)', list(step.views.map(nodeText))));
      parts.push(...section('Remarks', list(remarksOf(step))));
      if (step.kernel) parts.push(...section('Schedule', step.kernel.schedule ? [element('code', step.kernel.schedule)] : []), ...section('Why these ops are fused', step.kernel.why ? [element('p', step.kernel.why)] : []));
      parts.push(...section('Inputs', list(values(step.data.i))), ...section('Weights', list(step.data.w ?? [])), ...section('Outputs', list(values(step.data.u))));
    }
    parts.push(...section('Before', list(item.makers.map(one => link(one)))), ...section('After', list(item.readers.map(one => link(one)))));
    panel.replaceChildren(...parts);
  }

  // The text of a node, marked if the search finds it.
  function nodeMark(number) {
    const text = nodeText(number), wanted = search.value.trim().toLowerCase();
    return wanted && text.toLowerCase().includes(wanted) ? element('mark', text) : element('span', text);
  }

  function select(item) {
    selected = item;
    panel.hidden = !item;
    root.classList.toggle('has-panel', !!item);
    if (item) {
      fillPanel(item);
      const value = valueOf(item.step);
      told.textContent = item.title + (item.sub ? ', ' + item.sub : '') + (value ? ', ' + graphModel.shown(value, data.metrics[metric.selectedIndex][1]) : '');
    } else {
      told.textContent = '';
    }
    resize();
  }

  //===--- Layout ---===//

  function toggle(item, isQuiet) {
    const before = cornerOf(item);
    if (!graphModel.toggle(data, item)) return;
    if (!item.isOpen && selected && selected !== item && selected.step === item) selected = item;
    for (const _ of graphLayout.layOut(model.flow, SIZES));
    const after = cornerOf(item); // the item stays where it was
    view.x += (before.x - after.x) * view.scale;
    view.y += (before.y - after.y) * view.scale;
    if (!isQuiet) select(selected);
    draw();
  }

  // Lays out the graph in short tasks, then calls `then`. What is laid out is visible at once.
  let layingOut = 0;
  function layOut(then) {
    const number = ++layingOut, steps = graphLayout.layOut(model.flow, SIZES), slice = 12;
    let hasStarted = false;
    const work = () => {
      if (number !== layingOut) return;
      let isDone = false;
      for (const begin = performance.now(); !isDone && performance.now() - begin < slice;) isDone = !!steps.next().done;
      const first = model.flow.placed[0], before = hasStarted ? first.x : 0;
      if (!isDone) graphLayout.stack(model.flow);
      if (hasStarted) view.x += (before - first.x) * view.scale; // the first chunk stays where it was
      else if (model.flow.placed.length || isDone) start();
      hasStarted = model.flow.placed.length > 0;
      draw();
      if (!isDone) {
        setTimeout(work);
        return;
      }
      root.removeAttribute('aria-busy');
      isLaidOut = true;
      then?.();
    };
    isLaidOut = false;
    root.setAttribute('aria-busy', 'true');
    work();
  }

  function open(number) {
    select(null);
    model = graphModel.build(data, number);
    model.values = data.graphs[number].values;
    model.items.forEach((item, i) => {
      item.number = i;
      item.words = [item.title, item.sub, item.kernel?.name ?? '', item.data?.o ?? '', ...[...item.nodes, ...item.views].map(nodeText)].join('\n').toLowerCase();
    });
    const kernels = model.items.filter(item => item.kernel).length;
    canvas.setAttribute('aria-label', 'Graph of ' + kernels + ' kernel launches. Arrow keys select a step, e shows its nodes, / searches.');
    findMatches();
    const known = data.metrics.findIndex((_, i) => model.items.some(item => item.metrics[i] > 0));
    if (!(model.items.some(item => valueOf(item) > 0)) && known >= 0) metric.selectedIndex = known;
    recolor();
    layOut();
  }

  //===--- Search ---===//

  function findMatches() {
    const wanted = search.value.trim().toLowerCase();
    matches = wanted ? model.items.filter(item => item.words.includes(wanted)) : [];
    matched = new Set(matches);
    match = -1;
    count.textContent = wanted ? matches.length + (matches.length === 1 ? ' match' : ' matches') : '';
    draw();
  }

  // Opens the steps around an item.
  function reveal(item) {
    for (let owner = item.flow.owner; owner; owner = owner.flow.owner) if (!owner.isOpen) toggle(owner, true);
  }

  function goTo(by) {
    if (!matches.length || !isLaidOut) return;
    match = (match + by + matches.length) % matches.length;
    count.textContent = (match + 1) + ' of ' + matches.length;
    reveal(matches[match]);
    select(matches[match]);
    show(matches[match]);
  }

  //===--- Events ---===//

  function neighbour(item, key) {
    if (key === 'ArrowDown') return item.readers[0];
    if (key === 'ArrowUp') return item.makers[0] ?? item.flow.owner;
    const own = cornerOf(item), side = key === 'ArrowRight' ? 1 : -1;
    let best = null, least = Infinity;
    for (const other of item.flow.items) {
      const corner = cornerOf(other), dx = (corner.x + other.width / 2 - own.x - item.width / 2) * side, dy = Math.abs(corner.y + other.height / 2 - own.y - item.height / 2);
      if (other !== item && dx > 1 && dy < 40 && dx < least) { best = other; least = dx; }
    }
    return best;
  }

  function firstShown() {
    return model.items.find(item => item.kernel && isShown(item)) ?? model.flow.items[0];
  }

  canvas.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !isLaidOut) return;
    const actions = {
      '+': () => zoom(1.25), '=': () => zoom(1.25), '-': () => zoom(0.8), 0: fit, f: fit,
      e: () => { if (selected) toggle(selected.step); },
      Enter: () => {
        const inside = selected?.visibleFlows()[0]?.items[0];
        if (matches.length) goTo(event.shiftKey ? -1 : 1);
        else if (inside) { select(inside); show(inside); }
        else if (selected) toggle(selected.step);
      },
      Escape: () => selected ? select(null) : isFull && setFull(false),
      Home: () => { select(model.flow.items[0]); show(selected); },
      End: () => { select(model.flow.items.at(-1)); show(selected); },
    };
    if (event.key.startsWith('Arrow')) {
      const next = selected ? neighbour(selected, event.key) : firstShown();
      event.preventDefault();
      if (!next) return;
      select(next);
      if (!isShown(next)) show(next);
    } else if (actions[event.key]) {
      event.preventDefault();
      actions[event.key]();
    }
  });
  document.addEventListener('keydown', event => {
    if (event.key === '/' && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === 'Escape' && root.contains(event.target) && event.target !== canvas && event.target !== search) {
      selected ? select(null) : setFull(false);
      canvas.focus();
    }
  });
  search.addEventListener('input', findMatches);
  search.addEventListener('keydown', event => {
    if (event.key === 'Enter') {
      event.preventDefault();
      goTo(event.shiftKey ? -1 : 1);
    } else if (event.key === 'Escape') {
      event.preventDefault();
      search.value = '';
      findMatches();
      canvas.focus();
    }
  });

  // One pointer moves the graph, two zoom it.
  const pointers = new Map();
  let moved = 0;
  canvas.addEventListener('pointerdown', event => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    if (pointers.size === 1) moved = 0;
  });
  canvas.addEventListener('pointermove', event => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      canvas.style.cursor = itemAt(event.clientX, event.clientY) ? 'pointer' : 'grab';
      return;
    }
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    const others = [...pointers.values()].filter(one => one.pointerId !== event.pointerId);
    moved += Math.abs(dx) + Math.abs(dy);
    if (others.length) {
      const [other] = others, distance = one => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY), box = canvas.getBoundingClientRect();
      zoom(distance(event) / Math.max(1, distance(before)), (event.clientX + other.clientX) / 2 - box.left, (event.clientY + other.clientY) / 2 - box.top);
      view.x += dx / 2;
      view.y += dy / 2;
    } else if (moved > 3) {
      stop();
      view.x += dx;
      view.y += dy;
      canvas.style.cursor = 'grabbing';
    }
    pointers.set(event.pointerId, event);
    draw();
  });
  const release = event => {
    const wasClick = pointers.delete(event.pointerId) && event.type === 'pointerup' && moved <= 3 && pointers.size === 0;
    canvas.style.cursor = '';
    if (!wasClick) return;
    const item = itemAt(event.clientX, event.clientY);
    canvas.focus({ preventScroll: true });
    select(item);
  };
  canvas.addEventListener('pointerup', release);
  canvas.addEventListener('pointercancel', release);
  canvas.addEventListener('dblclick', event => {
    const item = itemAt(event.clientX, event.clientY);
    if (item) toggle(item.step);
  });
  // The wheel scrolls the page until the graph has the focus.
  canvas.addEventListener('wheel', event => {
    if (!event.ctrlKey && document.activeElement !== canvas && !isFull) return;
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(-Math.max(-80, Math.min(80, event.deltaY * (event.deltaMode ? 20 : 1))) / (event.ctrlKey ? 100 : 300)), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });

  function setFull(full) {
    isFull = full;
    root.classList.toggle('full', full);
    document.documentElement.classList.toggle('has-full', full);
    find('[data-do=full]').textContent = full ? 'Leave full window' : 'Full window';
    resize();
  }

  function openAll() {
    const closed = model.items.filter(item => graphModel.canOpen(item) && item.kind !== 'control' && !item.isOpen);
    const wanted = closed.length ? closed : model.items.filter(item => item.isOpen && item.kind !== 'control');
    for (const item of wanted) graphModel.toggle(data, item);
    find('[data-do=open]').textContent = closed.length ? 'Hide nodes' : 'Show nodes';
    if (!closed.length && selected) selected = selected.step;
    layOut(() => select(selected));
  }

  const actions = { in: () => zoom(1.25), out: () => zoom(0.8), fit, full: () => setFull(!isFull), open: openAll, previous: () => goTo(-1), next: () => goTo(1) };
  for (const button of root.querySelectorAll('[data-do]')) button.addEventListener('click', () => { if (isLaidOut) actions[button.dataset.do](); });
  metric.addEventListener('change', () => { recolor(); if (selected) select(selected); });
  if (variant) variant.addEventListener('change', () => open(variant.selectedIndex));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColors(); recolor(); });
  new ResizeObserver(resize).observe(canvas.parentElement);

  root.hidden = false;
  readColors();
  resize();
  open(0);

  // For tests: positions on the screen, and the time of a frame.
  root.graph = {
    isReady: () => isLaidOut,
    get model() { return model; },
    get selected() { return selected; },
    view,
    paint,
    rectangleOf: item => {
      const corner = cornerOf(item), box = canvas.getBoundingClientRect();
      return { left: box.left + view.x + corner.x * view.scale, top: box.top + view.y + corner.y * view.scale, width: item.width * view.scale, height: item.height * view.scale };
    },
  };
})();
