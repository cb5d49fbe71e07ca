"use strict";
// The report of a run. What is shown follows from the address after "#":
//   #overview  #timeline  #passes  #functions  #function/NAME/VERSION/VIEW
// and what chains.js shows.
// Versions of functions are in chunks, deflated, and unpacked when one is looked at.

const data = JSON.parse(document.getElementById("data").textContent);
const main = document.querySelector("main");
const nav = document.querySelector("nav");
const PARTS = { overview: "Overview", timeline: "Timeline", passes: "Passes", functions: "Functions", remarks: "Remarks" };
if (data.chains.length) PARTS.kernels = "Kernels";
const SHOWN_ROWS = 200; // of a table at once
const SHOWN_LINES = 5000; // of a text
const indexOf = new Map(data.functions.map((one, at) => [one.name, at]));
const state = { query: "", order: "seconds", remark: "", kernel: "", view: "diff", passes: { column: -1, sign: 1 } };

// ---------------------------------------------------------------- elements

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null));
  return made;
}

function shortTime(seconds) {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  if (seconds >= 1e-3) return `${(seconds * 1e3).toFixed(1)} ms`;
  return `${(seconds * 1e6).toFixed(0)} µs`;
}

function table(heads, rows) {
  const order = { 1: "ascending", "-1": "descending" };
  const head = heads.map(([text, kind, sign]) => element("th", { class: kind, "aria-sort": order[sign] }, text));
  const made = element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows));
  return element("div", { class: "scroll" }, made);
}

function row(cells, heads, href) {
  const made = cells.map((cell, at) => element("td", { class: heads[at][1] }, cell));
  if (!href) return element("tr", {}, made);
  return element(
    "tr",
    {
      "data-href": href,
      tabindex: 0,
      onclick: () => { location.hash = href; },
      onkeydown: (event) => { if (event.key === "Enter") location.hash = href; },
    },
    made,
  );
}

function bar(part, whole) {
  return element("span", { class: "bar", style: `width:${whole ? (100 * part) / whole : 0}%` });
}

// A name that may be broken between the words in it, and nowhere else.
function named(name) {
  return name.split(/(?<=[._/:])|(?<=[a-z])(?=[A-Z])/).flatMap((part, at) => (at ? [element("wbr"), part] : [part]));
}

function total(rows) {
  return rows.reduce((sum, one) => sum + one.seconds, 0);
}

function share(part, whole) {
  return whole ? `${((100 * part) / whole).toFixed(part < 0.1 * whole ? 1 : 0)}%` : "";
}

function address(name, version, view) {
  return ["#function", encodeURIComponent(name), version, view].join("/");
}

// How many there are besides the first ones, which are shown.
function more(all, shown, what) {
  const count = all.length - shown;
  return count > 0 ? [element("p", { class: "dim" }, `… and ${count.toLocaleString("en")} more ${what}`)] : [];
}

// A box for words, which the state keeps by a key, and below it what is `found` for them; Enter opens the first row.
function searchable(what, key, placeholder, found, ...beside) {
  const below = element("div", { id: "found" });
  const fill = () => below.replaceChildren(...found(state[key].toLowerCase()));
  const search = element("input", {
    type: "search", id: "search", placeholder, "aria-label": `search ${what}`, value: state[key],
    oninput: (event) => { state[key] = event.target.value; fill(); },
    onkeydown: (event) => {
      const first = below.querySelector("tr[data-href]");
      if (event.key === "Enter" && first) location.hash = first.dataset.href;
    },
  });
  beside.forEach((one) => one.addEventListener("change", fill));
  fill();
  return [element("div", { class: "controls" }, search, ...beside), below];
}

// ---------------------------------------------------------------- parts

function overview() {
  const made = [];
  if (data.advice.length) {
    made.push(element("h2", {}, "What would help"), element("ul", {}, data.advice.map((text) => element("li", {}, text))));
  }
  made.push(element("h2", {}, "Where the time went"), ...slowest(), timesTable(data.times));
  if (data.workers.length) made.push(element("h2", {}, "What the workers did"), timesTable(data.workers));
  made.push(
    ...data.facts.map((text) => element("p", { class: "dim" }, text)),
    element(
      "p",
      { class: "dim" },
      "Keys: ", element("kbd", {}, "/"), " search, ", element("kbd", {}, "1"), "–", element("kbd", {}, Object.keys(PARTS).length),
      " parts; in a function ", element("kbd", {}, "j"), " ", element("kbd", {}, "k"), " next and previous version, ",
      element("kbd", {}, "n"), " ", element("kbd", {}, "p"), " next and previous function, ",
      element("kbd", {}, "d"), " ", element("kbd", {}, "t"), " ", element("kbd", {}, "g"), " ", element("kbd", {}, "r"), " diff, text, graph, remarks.",
    ),
  );
  return made;
}

function slowest() {
  const most = (rows) => rows.reduce((best, one) => (one.seconds > (best?.seconds ?? 0) ? one : best), null);
  const [pass, one] = [most(data.passes), most(data.functions)];
  const line = (what, link, row, rows, of) => element("p", {}, `Slowest ${what}: `, link, `, ${shortTime(row.seconds)}, ${share(row.seconds, total(rows))} of all ${of}`);
  return [
    pass ? line("pass", element("a", { href: "#passes" }, named(pass.name)), pass, data.passes, "passes") : null,
    one ? line("function", element("a", { href: address(one.name, "last", state.view) }, named(one.name)), one, data.functions, "functions") : null,
  ].filter((made) => made !== null);
}

function timesTable(rows) {
  const heads = [["", "name"], ["time", "number"], ["", "bars"], ["", ""]];
  const most = Math.max(...rows.map(([, seconds]) => seconds), 0);
  return table(heads, rows.map(([what, seconds, remark]) => row([named(what), shortTime(seconds), bar(seconds, most), remark], heads)));
}

// Heads are [text, class of the cells, key to sort by].
const PASS_HEADS = [
  ["pass", "name", (one) => one.name], ["time", "number", (one) => one.seconds], ["", "bars"], ["share", "number", (one) => one.seconds],
  ["calls", "number", (one) => one.calls ?? 0], ["functions", "number", (one) => one.functions ?? 0],
  ["changed", "number", (one) => one.changed ?? 0], ["remarks", "number", (one) => one.remarks],
];

function passes() {
  const most = Math.max(...data.passes.map((one) => one.seconds), 0);
  const found = element("div", {});
  function fill() {
    const { column, sign } = state.passes;
    const key = PASS_HEADS[column]?.[2];
    const chosen = data.passes.map((one) => one);
    if (key) chosen.sort((a, b) => sign * (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
    const heads = PASS_HEADS.map(([text, kind, sorted], at) => [sorted ? sorter(text, at) : text, kind, at === column ? sign : 0]);
    found.replaceChildren(table(heads, chosen.map((one) => row(
      [named(one.name), shortTime(one.seconds), bar(one.seconds, most), share(one.seconds, total(data.passes)), one.calls ?? "", one.functions ?? "", one.changed ?? "", one.remarks], heads))));
  }
  // The first click has the largest first, or names in order; the third the order of the pipeline.
  function sorter(text, at) {
    const first = at ? -1 : 1;
    const next = state.passes.column !== at ? { column: at, sign: first } : state.passes.sign === first ? { column: at, sign: -first } : { column: -1, sign: 1 };
    return element("button", { type: "button", class: "sorter", onclick: () => { state.passes = next; fill(); } }, text);
  }
  fill();
  return [element("p", { class: "dim" }, "In the order in which they ran; click on a heading to sort. A pass is called on a function as often as the pipeline has it."), found];
}

const ORDERS = {
  seconds: ["time", (one) => -one.seconds],
  changes: ["changes", (one) => -one.versions],
  remarks: ["remarks", (one) => -one.remarks],
  module: ["order in the module", null],
};

function functions() {
  const order = element(
    "select",
    { "aria-label": "order", onchange: (event) => { state.order = event.target.value; } },
    Object.entries(ORDERS).map(([name, [text]]) => element("option", { value: name, selected: name === state.order ? "" : null }, `by ${text}`)),
  );
  const heads = [["function", "name"], ["time", "number"], ["", "bars"], ["changes", "number"], ["remarks", "number"]];
  const most = Math.max(...data.functions.map((one) => one.seconds), 0);
  function found(query) {
    let chosen = data.functions.filter((one) => one.name.toLowerCase().includes(query));
    const key = ORDERS[state.order][1];
    if (key) chosen = chosen.map((one, at) => [key(one), at, one]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((one) => one[2]);
    const rows = chosen.slice(0, SHOWN_ROWS).map((one) => row(
      [named(one.name), shortTime(one.seconds), bar(one.seconds, most), Math.max(0, one.versions - 1), one.remarks],
      heads, address(one.name, "last", state.view)));
    return [chosen.length ? table(heads, rows) : element("p", { class: "dim" }, "No function has such a name."), ...more(chosen, SHOWN_ROWS, "functions")];
  }
  return searchable("functions", "query", "name of a function", found, order);
}

function shownRemark(one, withFunction) {
  const place = one.place ? element("span", { class: "dim" }, ` ${one.place}`) : null;
  const name = withFunction && one.function
    ? element("a", { href: address(one.function, "last", "remarks") }, one.function) : null;
  return element(
    "div", { class: `remark ${one.kind}` },
    element("b", {}, one.kind), ` ${one.pass}`, name ? " in " : null, name, ": ", one.message, place,
  );
}

function remarks() {
  if (!data.remarks.length) return [element("p", { class: "dim" }, "No pass remarked on anything.")];
  function found(query) {
    const chosen = data.remarks.filter((one) =>
      [one.kind, one.pass, one.function, one.message].some((text) => (text || "").toLowerCase().includes(query)));
    return [...chosen.slice(0, SHOWN_ROWS).map((one) => shownRemark(one, true)), ...more(chosen, SHOWN_ROWS, "remarks")];
  }
  return searchable("remarks", "remark", "pass, function, or words", found);
}

// ---------------------------------------------------------------- one function

const unpacked = new Map(); // chunks, by what they are of and their number

// The item at an index of what is in chunks; null if its chunk is empty.
async function itemOf(which, at) {
  const number = Math.floor(at / data.chunk_size);
  const chunk = data[which][number];
  if (!chunk) return null;
  const key = `${which}/${number}`;
  if (!unpacked.has(key)) {
    const bytes = Uint8Array.from(atob(chunk), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    unpacked.set(key, JSON.parse(await new Response(stream).text()));
  }
  return unpacked.get(key)[at % data.chunk_size];
}

const VIEWS = { diff: "Diff", text: "Text", graph: "Graph", remarks: "Remarks" };

async function oneFunction(name, wanted, view) {
  const at = indexOf.get(name);
  if (at === undefined) return [element("p", {}, `There is no function named ${name}.`)];
  const versions = (await itemOf("chunks", at)) ?? [];
  const version = wanted === "last" ? versions.length - 1 : Math.min(Number(wanted) || 0, versions.length - 1);
  const own = data.remarks.filter((one) => one.function === name);
  state.view = view;
  const list = versions.map((one, index) => element(
    "li", {}, element(
      "a", { href: address(name, index, view), "aria-current": index === version ? "true" : null },
      index ? `${index}. ${one.pass}` : "0. before all passes")));
  const buttons = Object.entries(VIEWS).map(([kind, text]) => element(
    "button",
    { type: "button", "aria-pressed": String(kind === view), onclick: () => { location.hash = address(name, version, kind); } },
    kind === "remarks" ? `${text} (${own.length})` : text));
  let shown;
  if (view === "remarks") shown = besideSource(own);
  else if (!versions.length) shown = element("p", { class: "dim" }, "Its text was not recorded.");
  else if (view === "graph") shown = graphOf(versions[version].text);
  else if (view === "text" || version <= 0) shown = textOf(versions[version].text);
  else shown = textOf(versions[version].diff, CLASSES);
  const changes = Math.max(0, versions.length - 1);
  const count = changes ? `changed by ${changes} ${changes > 1 ? "passes" : "pass"}` : "not changed";
  return [
    element("h2", {}, name, " ", element("span", { class: "dim" }, `${shortTime(data.functions[at].seconds)}, ${count}`)),
    ...(chainAt(name) === undefined ? [] : [element("p", {}, element("a", { href: kernelAddress(name) }, "where it comes from"))]),
    element("div", { class: "columns" },
      element("div", { class: "beside" }, element("ol", { class: "versions", "aria-label": "versions" }, list), element("div", { class: "times" }, timesOf(data.functions[at]))),
      element("div", {}, element("div", { class: "controls" }, buttons), shown)),
  ];
}

// The time of each pass on a function, the slowest first.
function timesOf(one) {
  if (!one.passes.length) return "";
  const heads = [["pass", "name"], ["time", "number"], ["", "bars"]];
  const sorted = [...one.passes].sort((a, b) => b[1] - a[1]);
  return table(heads, sorted.map(([at, seconds]) => row([named(data.passes[at].name), shortTime(seconds), bar(seconds, sorted[0][1])], heads)));
}

const CLASSES = { "+": "added", "-": "removed", "@": "hunk" }; // of lines of a diff, by how they begin

function textOf(text, classes = {}) {
  const lines = text.split("\n");
  const shown = lines.slice(0, SHOWN_LINES).map((line) => element("span", { class: classes[line[0]] }, line));
  return element("div", {}, element("pre", { tabindex: 0 }, shown), more(lines, SHOWN_LINES, "lines"));
}

// Lines of the source, each with the remarks on it below.
function besideSource(own) {
  if (!own.length) return element("p", { class: "dim" }, "No pass remarked on this function.");
  const made = [];
  const placed = new Map(); // remarks by source, then by line
  for (const one of own) {
    if (!one.line || !data.sources[one.source]) made.push(shownRemark(one, false));
    else {
      if (!placed.has(one.source)) placed.set(one.source, new Map());
      const lines = placed.get(one.source);
      lines.set(one.line, [...(lines.get(one.line) || []), one]);
    }
  }
  for (const [source, lines] of placed) {
    const text = data.sources[source].split("\n");
    const pre = element("pre", { tabindex: 0 });
    let last = 0;
    for (const line of [...lines.keys()].sort((a, b) => a - b)) {
      const from = Math.max(last + 1, line - 2);
      if (from > last + 1) pre.append(element("span", { class: "hunk" }, "…"));
      for (let at = from; at <= line; at += 1) {
        pre.append(element("span", { class: at === line ? "note" : null }, `${String(at).padStart(5)}  ${text[at - 1] ?? ""}`));
      }
      for (const one of lines.get(line)) pre.append(shownRemark(one, false));
      last = line;
    }
    made.push(element("p", { class: "dim" }, source), pre);
  }
  return element("div", {}, made);
}

// ---------------------------------------------------------------- addresses and keys

function current() {
  return location.hash.slice(1).split("/");
}

async function show() {
  const [part, name, version, view] = current();
  const isFunction = part === "function";
  const isKernel = part === "kernel";
  const chosen = isFunction ? "functions" : isKernel ? "kernels" : part in PARTS ? part : "overview";
  for (const link of nav.children) {
    if (link.dataset.part === chosen) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const builders = { overview, timeline, passes, functions, remarks, kernels };
  const made = isFunction
    ? await oneFunction(decodeURIComponent(name), version, view in VIEWS ? view : "diff")
    : isKernel ? await oneKernel(decodeURIComponent(name)) : builders[chosen]();
  main.replaceChildren(...made);
  const link = main.querySelector(".versions [aria-current]");
  if (link) link.scrollIntoView({ block: "nearest" });
  document.body.dataset.shown = location.hash;
}

function moved(key) {
  const [part, name, version, view] = current();
  if (part !== "function") return;
  const known = data.functions[indexOf.get(decodeURIComponent(name))];
  const last = Math.max(0, known.versions - 1);
  const at = version === "last" ? last : Number(version);
  const other = (step) => data.functions[indexOf.get(known.name) + step]?.name ?? known.name;
  const targets = {
    j: () => [known.name, Math.min(at + 1, last), view],
    k: () => [known.name, Math.max(at - 1, 0), view],
    n: () => [other(1), "last", view],
    p: () => [other(-1), "last", view],
    d: () => [known.name, version, "diff"],
    t: () => [known.name, version, "text"],
    g: () => [known.name, version, "graph"],
    r: () => [known.name, version, "remarks"],
  };
  if (key in targets) location.hash = address(...targets[key]());
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
  const part = Object.keys(PARTS)[Number(event.key) - 1];
  if (part) location.hash = part;
  else if (event.key === "/") {
    event.preventDefault();
    if (!document.getElementById("search")) { location.hash = "functions"; setTimeout(() => document.getElementById("search")?.focus(), 50); }
    document.getElementById("search")?.focus();
  } else moved(event.key);
});
window.addEventListener("hashchange", show);

const headline = document.getElementById("headline");
if (data.failure) headline.append(element("div", { class: "failed" }, data.failure));
headline.append(data.headline);
if (data.command) headline.append(element("details", { class: "command" }, element("summary", {}, "The command that made this page"), element("pre", {}, data.command)));
for (const [part, text] of Object.entries(PARTS)) {
  nav.append(element("a", { href: `#${part}`, "data-part": part }, text));
}
show();
