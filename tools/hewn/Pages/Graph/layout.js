// SPDX-License-Identifier: Apache-2.0
//
// Layout of a graph. A flow is a list of items in execution order, and the edges between them. It
// is cut into chunks where few edges cross, dagre lays out each chunk, and the chunks are stacked:
// the time is linear in the number of items, and a change lays out only the chunk that it is in.
const graphLayout = (() => {
  const FEWEST = 12, MOST = 40, RANK_GAP = 40, CHUNK_GAP = 16, TRACK = 6, LABEL = 8, LANE = 12, MOST_DRIFT = 120;

  class Flow {
    constructor(items, edges) {
      this.items = items;
      this.edges = edges; // {from, to, value}
      this.x = this.y = this.width = this.height = 0;
      for (const item of items) item.flow = this;
      this.chunks = cut(items, edges);
      this.placed = []; // the chunks that have a position
    }
  }

  // Returns the chunks of a flow. Sets `item.chunk`.
  function cut(items, edges) {
    const at = new Map(items.map((item, i) => [item, i])), last = new Int32Array(items.length).map((_, i) => i);
    for (const { from, to } of edges) last[at.get(from)] = Math.max(last[at.get(from)], at.get(to));
    // crossing[i]: number of items up to i that an item after i reads
    const crossing = new Int32Array(items.length + 1);
    last.forEach((end, i) => { if (end > i) { ++crossing[i]; --crossing[end]; } });
    for (let i = 1; i < items.length; ++i) crossing[i] += crossing[i - 1];
    const chunks = [];
    for (let start = 0; start < items.length;) {
      let end = items.length;
      if (end - start > MOST) {
        const wanted = start + (FEWEST + MOST) / 2;
        end = start + FEWEST;
        for (let i = end; i <= start + MOST; ++i) {
          const better = crossing[i - 1] - crossing[end - 1];
          if (better < 0 || (better === 0 && Math.abs(i - wanted) < Math.abs(end - wanted))) end = i;
        }
      }
      const chunk = { items: items.slice(start, end), inner: [], enters: new Map(), leaves: new Map(), isDirty: true };
      for (const item of chunk.items) item.chunk = chunk;
      chunks.push(chunk);
      start = end;
    }
    chunks.forEach((chunk, i) => { chunk.number = i; });
    for (const edge of edges) {
      if (edge.from.chunk === edge.to.chunk) {
        edge.from.chunk.inner.push(edge);
        continue;
      }
      const add = (map, item) => { map.has(edge.from) ? map.get(edge.from).push(item) : map.set(edge.from, [item]); };
      add(edge.from.chunk.leaves, edge);
      add(edge.to.chunk.enters, edge);
    }
    return chunks;
  }

  // Lays out the items of a chunk; coordinates are relative to the chunk. Sets `item.x` and `item.y`
  // to the top left corner, and `chunk.paths` to the lines of its edges. `ports` are the positions
  // at which edges cross the border of the chunk.
  function layOutChunk(chunk) {
    const graph = new dagre.graphlib.Graph({ multigraph: true });
    graph.setGraph({ rankdir: 'TB', nodesep: 22, ranksep: RANK_GAP, edgesep: 12, ranker: chunk.items.length > MOST ? 'longest-path' : 'network-simplex' });
    const numbers = new Map(chunk.items.map((item, i) => [item, 'i' + i]));
    const place = (name, width, height) => graph.setNode(name, { width, height });
    const connect = (from, to, name, weight) => graph.setEdge(from, to, { weight, minlen: 1 }, name);
    for (const [item, name] of numbers) place(name, Math.max(item.width, item.labelWidth ?? 0), item.height);
    const hasInput = new Set(), hasOutput = new Set();
    chunk.inner.forEach((edge, i) => {
      connect(numbers.get(edge.from), numbers.get(edge.to), 'e' + i, 2);
      hasInput.add(edge.to);
      hasOutput.add(edge.from);
    });
    // Ports are nodes of the first and the last rank. Heavy edges to a node above or below hold them
    // there.
    const ports = { enters: [...chunk.enters.keys()], leaves: [...chunk.leaves.keys()] };
    if (ports.enters.length) {
      place('top', 0, 0);
      ports.enters.forEach((from, i) => {
        place('p' + i, 1, 1);
        connect('top', 'p' + i, 't' + i, 20);
        for (const to of new Set(chunk.enters.get(from).map(edge => edge.to))) { connect('p' + i, numbers.get(to), 'p' + i, 1); hasInput.add(to); }
      });
      chunk.items.forEach((item, i) => { if (!hasInput.has(item)) connect('top', 'i' + i, 's' + i, 0); });
    }
    if (ports.leaves.length) {
      place('bottom', 0, 0);
      ports.leaves.forEach((from, i) => {
        place('q' + i, 1, 1);
        connect('q' + i, 'bottom', 'b' + i, 20);
        connect(numbers.get(from), 'q' + i, 'q' + i, 1);
        hasOutput.add(from);
      });
      chunk.items.forEach((item, i) => { if (!hasOutput.has(item)) connect('i' + i, 'bottom', 'z' + i, 0); });
    }
    dagre.layout(graph);
    let top = Infinity, bottom = -Infinity, left = Infinity, right = -Infinity;
    for (const [item, name] of numbers) {
      const node = graph.node(name);
      item.x = node.x - item.width / 2;
      item.y = node.y - item.height / 2;
      top = Math.min(top, item.y);
      bottom = Math.max(bottom, item.y + item.height);
      left = Math.min(left, item.x);
      right = Math.max(right, item.x + item.width);
    }
    ports.enters.forEach((_, i) => { top = Math.min(top, graph.node('p' + i).y); });
    ports.leaves.forEach((_, i) => { bottom = Math.max(bottom, graph.node('q' + i).y); });
    chunk.paths = [];
    chunk.ports = { enters: new Map(), leaves: new Map() };
    const add = (edge, points) => {
      for (const point of points) { left = Math.min(left, point.x); right = Math.max(right, point.x); }
      chunk.paths.push({ edge, points });
    };
    // dagre's lines end at the slot of a box, which is wider than the box if its labels are.
    const onto = (item, { x, y }) => ({ x: Math.min(Math.max(x, item.x), item.x + item.width), y: Math.min(Math.max(y, item.y), item.y + item.height) });
    const drawn = (from, to, points) => [...(from ? [onto(from, points[0])] : []), ...points, ...(to ? [onto(to, points.at(-1))] : [])];
    chunk.inner.forEach((edge, i) => add(edge, drawn(edge.from, edge.to, graph.edge(numbers.get(edge.from), numbers.get(edge.to), 'e' + i).points)));
    ports.enters.forEach((from, i) => {
      const x = graph.node('p' + i).x;
      chunk.ports.enters.set(from, x);
      const seen = new Set();
      for (const edge of chunk.enters.get(from))
        if (!seen.has(edge.to)) {
          seen.add(edge.to);
          add(edge, [{ x, y: top }, ...drawn(null, edge.to, graph.edge('p' + i, numbers.get(edge.to), 'p' + i).points)]);
        }
    });
    ports.leaves.forEach((from, i) => {
      const x = graph.node('q' + i).x;
      chunk.ports.leaves.set(from, x);
      add(chunk.leaves.get(from)[0], [...drawn(from, null, graph.edge(numbers.get(from), 'q' + i, 'q' + i).points), { x, y: bottom }]);
    });
    for (const item of chunk.items) { item.x -= left; item.y -= top; }
    for (const { points } of chunk.paths) for (const point of points) { point.x -= left; point.y = Math.min(Math.max(point.y - top, 0), bottom - top); }
    for (const map of Object.values(chunk.ports)) for (const [from, x] of map) map.set(from, x - left);
    chunk.width = right - left;
    chunk.height = bottom - top;
    chunk.isDirty = false;
  }

  // Stacks the chunks up to the first that is not laid out yet, and draws the lines between them. An
  // edge that passes a chunk gets a lane on the right of the chunk.
  function stack(flow) {
    const live = new Map(), lanes = []; // live: item -> {x, last chunk, edge, lane}
    let y = 0, left = 0, right = 0;
    const end = flow.chunks.findIndex(chunk => chunk.isDirty);
    flow.placed = end < 0 ? flow.chunks : flow.chunks.slice(0, end);
    for (const chunk of flow.placed) {
      let shift = null;
      for (const [from, x] of chunk.ports.enters) if (shift === null && live.has(from)) shift = live.get(from).x - x;
      // The first edge runs straight down, but the graph does not drift to one side.
      const middle = flow.chunks[0].width / 2 - chunk.width / 2;
      chunk.x = shift === null ? middle : Math.min(Math.max(shift, middle - MOST_DRIFT), middle + MOST_DRIFT);
      const goals = [];
      let most = chunk.x + chunk.width;
      for (const [from, one] of live) {
        const to = [], port = chunk.ports.enters.get(from);
        if (port !== undefined) to.push(chunk.x + port);
        if (one.last > chunk.number) {
          if (one.lane === undefined) {
            one.lane = lanes.indexOf(undefined);
            if (one.lane < 0) one.lane = lanes.length;
            lanes[one.lane] = one;
          }
          one.next = chunk.x + chunk.width + LANE * (one.lane + 1.5);
          to.push(one.next);
          most = Math.max(most, one.next);
        }
        goals.push({ one, to, isStraight: to.every(x => Math.abs(x - one.x) < 1) });
      }
      // Lines that change their x do so on a track of their own.
      const tracks = goals.filter(goal => !goal.isStraight).length, gap = chunk.number ? Math.max(CHUNK_GAP, LABEL + TRACK * (tracks + 1)) : 0;
      chunk.gaps = [];
      chunk.gap = gap;
      chunk.y = y + gap;
      let track = y + LABEL;
      for (const { one, to, isStraight } of goals) {
        for (const x of to) chunk.gaps.push({ edge: one.edge, points: isStraight ? [{ x, y }, { x, y: chunk.y }] : [{ x: one.x, y }, { x: one.x, y: track }, { x, y: track }, { x, y: chunk.y }] });
        if (!isStraight) track += TRACK;
      }
      for (const [from, one] of live) {
        if (one.last > chunk.number) {
          chunk.gaps.push({ edge: one.edge, points: [{ x: one.next, y: chunk.y }, { x: one.next, y: chunk.y + chunk.height }] });
          one.x = one.next;
        } else {
          if (one.lane !== undefined) lanes[one.lane] = undefined;
          live.delete(from);
        }
      }
      for (const [from, x] of chunk.ports.leaves) {
        const edges = chunk.leaves.get(from);
        live.set(from, { x: chunk.x + x, last: Math.max(...edges.map(edge => edge.to.chunk.number)), edge: edges[0] });
      }
      left = Math.min(left, chunk.x);
      right = Math.max(right, most);
      y = chunk.y + chunk.height;
    }
    for (const chunk of flow.placed) {
      chunk.x -= left;
      for (const { points } of chunk.gaps) for (const point of points) point.x -= left;
    }
    flow.width = right - left;
    flow.height = y;
  }

  // Computes the size of an item from its visible flows, which lie side by side below its title.
  function measure(item, { title, padding, label }) {
    const flows = item.visibleFlows();
    item.width = item.ownWidth;
    item.height = item.ownHeight;
    if (!flows.length) return;
    let x = padding;
    for (const flow of flows) {
      flow.x = x;
      flow.y = title + (flow.title ? label : 0);
      x += Math.max(flow.width, flow.titleWidth ?? 0) + padding;
      item.height = Math.max(item.height, flow.y + flow.height + padding);
    }
    if (x < item.width) for (const flow of flows) flow.x += (item.width - x) / 2;
    item.width = Math.max(item.width, x);
  }

  // Lays out the parts of a flow that are not laid out yet. A generator: the caller can pause after
  // each chunk, so that the page stays responsive.
  function* layOut(flow, sizes) {
    for (const chunk of flow.chunks) {
      if (!chunk.isDirty) continue;
      for (const item of chunk.items) {
        for (const inner of item.visibleFlows()) yield* layOut(inner, sizes);
        measure(item, sizes);
      }
      layOutChunk(chunk);
      yield;
    }
    stack(flow);
  }

  // Marks the chunk of an item, and the chunks around it, for the next layout.
  function touch(item) {
    for (; item; item = item.flow.owner) item.chunk.isDirty = true;
  }

  return { Flow, layOut, stack, touch };
})();
