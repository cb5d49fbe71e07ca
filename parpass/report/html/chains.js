"use strict";
// The way from a line of the source to machine code, and back: a table with a row for
// each call of a compiled function, and a page for each such function.
//   #kernels  #kernel/NAME, of the function or its symbol

const indexOfChain = new Map();

function chainAt(name) {
  if (!indexOfChain.size) {
    data.chains.forEach((one, at) => [one.function, one.symbol].forEach((key) => { if (key) indexOfChain.set(key, at); }));
  }
  return indexOfChain.get(name);
}

function kernelAddress(name) {
  return `#kernel/${encodeURIComponent(name)}`;
}

function placeText(part) {
  return part.place ? `${part.place}: ${part.line}` : "made by a pass";
}

function shownPart(part) {
  return element("div", {}, part.name, " ", element("span", { class: "dim" }, placeText(part)));
}

function loopSummary(chain) {
  const [first = "", ...others] = chain.outline;
  return others.length ? `${first} … and ${others.length} more` : first;
}

function kernels() {
  const calls = data.chains
    .flatMap((chain) => chain.calls.map((call) => ({ chain, call })))
    .sort((one, other) => one.call.number - other.call.number)
    .map(({ chain, call }) => {
      const texts = call.parts.map((part) => `${part.name} ${placeText(part)}`);
      return { chain, call, text: [...texts, chain.function, chain.symbol].join("\n").toLowerCase() };
    });
  const heads = [["source", "wide"], ["call", "number"], ["fused function", "wide"], ["loops", "wide"], ["machine code", "wide"]];
  function found(query) {
    const chosen = calls.filter((one) => one.text.includes(query));
    const rows = chosen.slice(0, SHOWN_ROWS).map(({ chain, call }) => row(
      [call.parts.map(shownPart), call.number, chain.function, loopSummary(chain), chain.code], heads, kernelAddress(chain.function)));
    return [chosen.length ? table(heads, rows) : element("p", { class: "dim" }, "No kernel comes from that."), ...more(chosen, SHOWN_ROWS, "calls")];
  }
  return [
    element("p", { class: "dim" }, "How the source became machine code: a row for each call of a kernel, in the order of the network. Nodes of which nothing is left have none."),
    ...searchable("kernels", "kernel", "node, line, operator, function, or symbol", found),
  ];
}

async function oneKernel(name) {
  const at = chainAt(name);
  if (at === undefined) return [element("p", {}, `There is no kernel named ${name}.`)];
  const chain = data.chains[at];
  const text = await itemOf("loop_chunks", at);
  const heads = [["call", "number"], ["operator", "name"], ["source", "wide"]];
  const sources = chain.calls.flatMap((call) => call.parts.map((part) => {
    const back = { href: "#kernels", onclick: () => { state.kernel = `${part.place}: `; } };
    const place = part.place ? [element("a", back, part.place), ` ${part.line}`] : "made by a pass";
    return row([call.number, part.name, place], heads);
  }));
  const changed = [...new Set([chain.function, chain.symbol])].filter((one) => indexOf.has(one));
  const links = changed.map((one) => [", ", element("a", { href: address(one, "last", state.view) }, `passes on ${one}`)]);
  return [
    element("h2", {}, `Source, and ${chain.calls.length > 1 ? `${chain.calls.length} calls` : "a call"}`),
    table(heads, sources.slice(0, SHOWN_ROWS)),
    ...more(sources, SHOWN_ROWS, "operators"),
    element("h2", {}, "Fused function"),
    element("p", {}, chain.function, links.flat()),
    ...(chain.outline.length ? [element("h2", {}, "Loops"), element("pre", { tabindex: 0 }, chain.outline.map((line) => element("span", {}, line)))] : []),
    text ? element("details", {}, element("summary", {}, "as text"), textOf(text)) : null,
    element("h2", {}, "Machine code"),
    element("p", {}, chain.code),
  ].filter((one) => one !== null);
}
