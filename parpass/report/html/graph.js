"use strict";
// The graph of a function, read off its text: lines "%result = operator(%operand, ...)",
// as most IRs write them. Boxes are laid out in layers, by the longest way from above;
// long functions are folded at the values that all that follows depends on.

const GRAPH_LINE = /^\s*(?:let\s+)?(%[\w.$#-]+(?:\s*,\s*%[\w.$#-]+)*)(?::\d+)?\s*(?::[^=]*)?=\s*(.*)$/;
const UNFOLDED = 40; // boxes that are shown without folding
const BOX = { width: 170, height: 38, across: 24, down: 34 };
const unfolded = new Set(); // blocks that the reader has opened, by their first node

// What a function returns has no name: "operator(%operand)".
const RETURNED = /^\s*(?!def\b|fn\b|func\b|module\b)()((?:return\s|"?[@%]?[\w.$-]+"?\().*%.*)$/;
const OPENS = /\{\s*$/;
const CLOSES = /^\s*\}/;

function operatorOf(value) {
  const name = (/^[@%]?[\w.$-]+/.exec(value.replace(/^"|"(?=\()/g, "")) || ["value"])[0];
  return name.startsWith("%") ? "value" : name;
}

// A function inside is one node, named after the operators of its body, and stands where
// it is called.
function nodesOf(text) {
  const nodes = [];
  const maker = new Map(); // which node makes a value
  const inner = new Map(); // the operators of a function inside, by its name
  let body = null; // of the function inside that the line is in
  let depth = 0;
  for (const line of text.split("\n")) {
    const found = GRAPH_LINE.exec(line) ?? RETURNED.exec(line);
    if (body) {
      depth += OPENS.test(line) - CLOSES.test(line);
      if (depth <= 0) body = null;
      else if (!OPENS.test(line)) body.push(operatorOf(found ? found[2] : line.trim()));
      continue;
    }
    if (!found) continue;
    const [, names, value] = found;
    const results = names ? names.split(",").map((one) => one.trim()) : [];
    if (/^fn\b/.test(value)) {
      inner.set(results[0], []);
      if (OPENS.test(line)) { body = inner.get(results[0]); depth = 1; }
      continue;
    }
    const called = inner.get((/^%[\w.$-]+(?=\()/.exec(value) || [""])[0]);
    const operands = (value.match(/[%@](?:[\w.$-]+|"[^"]*")/g) || []).filter((one) => !inner.has(one));
    nodes.push({
      label: called ? called.filter((one) => one !== "value").join(" + ") || "fn" : operatorOf(value),
      result: results[0] ?? "returned",
      inputs: [...new Set(operands.map((one) => maker.get(one)).filter((one) => one !== undefined))],
      given: operands.filter((one) => !maker.has(one) && one.startsWith("%")),
      line: line.trim(),
    });
    for (const one of results) maker.set(one, nodes.length - 1);
  }
  return nodes;
}

// Consecutive nodes between two values on which all that follows depends.
function blocksOf(nodes) {
  const lastUse = nodes.map((_, at) => at);
  nodes.forEach((node, at) => node.inputs.forEach((one) => { lastUse[one] = Math.max(lastUse[one], at); }));
  const blocks = [];
  let from = 0;
  let open = -1; // the farthest use of a value that was made before
  nodes.forEach((_, at) => {
    const closes = open <= at;
    open = Math.max(open, lastUse[at]);
    if (closes && at - from >= 7) { blocks.push([from, at]); from = at + 1; }
  });
  if (from < nodes.length) blocks.push([from, nodes.length - 1]);
  return blocks;
}

function folded(nodes) {
  if (nodes.length <= UNFOLDED) return nodes;
  const shown = [];
  const place = new Map(); // where a node is shown
  for (const [from, to] of blocksOf(nodes)) {
    if (to === from || unfolded.has(nodes[from].result)) {
      for (let at = from; at <= to; at += 1) { place.set(at, shown.length); shown.push({ ...nodes[at] }); }
      continue;
    }
    const counts = new Map();
    for (let at = from; at <= to; at += 1) {
      place.set(at, shown.length);
      counts.set(nodes[at].label, (counts.get(nodes[at].label) || 0) + 1);
    }
    const inputs = nodes.slice(from, to + 1).flatMap((node) => node.inputs).filter((one) => one < from);
    const kinds = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 4).map(([name, count]) => `${count} × ${name}`);
    shown.push({
      label: `${to - from + 1} operators`, result: nodes[from].result, inputs, given: [],
      line: kinds.join(", "), block: nodes[from].result,
    });
  }
  for (const node of shown) node.inputs = [...new Set(node.inputs.map((one) => place.get(one)))];
  return shown.map((node, at) => ({ ...node, inputs: node.inputs.filter((one) => one !== at) }));
}

function layersOf(nodes) {
  const depth = [];
  const layers = [];
  nodes.forEach((node, at) => {
    depth[at] = Math.max(0, ...node.inputs.map((one) => depth[one] + 1));
    (layers[depth[at]] ??= []).push(at);
  });
  const across = new Map();
  for (const layer of layers) {
    const wanted = (at) => {
      const places = nodes[at].inputs.map((one) => across.get(one));
      return places.length ? places.reduce((a, b) => a + b) / places.length : 0;
    };
    layer.sort((a, b) => wanted(a) - wanted(b) || a - b);
    layer.forEach((at, index) => across.set(at, index - (layer.length - 1) / 2));
  }
  return { depth, across, widest: Math.max(...layers.map((layer) => layer.length)) };
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function graphOf(text) {
  const all = nodesOf(text);
  if (!all.length) return element("p", { class: "dim" }, "Its text is no graph: no line is like %result = operator(%operand).");
  const nodes = folded(all);
  const { depth, across, widest } = layersOf(nodes);
  const width = widest * (BOX.width + BOX.across) + BOX.across;
  const height = (Math.max(...depth) + 1) * (BOX.height + BOX.down) + BOX.down;
  const x = (at) => width / 2 + across.get(at) * (BOX.width + BOX.across);
  const y = (at) => BOX.down / 2 + depth[at] * (BOX.height + BOX.down);
  const inside = BOX.width - 16;
  const [large, small] = [12, 10].map((size) => measured(`${size}px system-ui, sans-serif`));
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  nodes.forEach((node, at) => node.inputs.forEach((one) => {
    const [fromX, fromY, toX, toY] = [x(one), y(one) + BOX.height, x(at), y(at)];
    const half = (fromY + toY) / 2;
    picture.append(svg("path", { d: `M${fromX},${fromY} C${fromX},${half} ${toX},${half} ${toX},${toY}` }));
  }));
  nodes.forEach((node, at) => {
    const box = svg("g", { transform: `translate(${x(at) - BOX.width / 2},${y(at)})`, class: node.block ? "block" : "node" });
    box.append(
      svg("title", {}, node.line),
      svg("rect", { width: BOX.width, height: BOX.height }),
      svg("text", { x: 8, y: 16 }, fitted(node.label, inside, large)),
      svg("text", { x: 8, y: 30, class: "small" }, fitted(node.block ? node.line : [node.result, ...node.given].join(" "), inside, small)),
    );
    if (node.block) box.addEventListener("click", () => { unfolded.add(node.block); show(); });
    picture.append(box);
  });
  const count = `${all.length} operators` + (nodes.length < all.length ? ", folded into blocks; a click opens one" : "");
  return element("div", {}, element("p", { class: "dim" }, count), element("div", { class: "graph", tabindex: 0 }, picture));
}
