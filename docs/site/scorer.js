// The order of what a search finds: an option or a name that was asked for, then guides,
// then what is generated, and last what only tells how parpass came to be.
const LAST = /^(decisions\/|generated\/(changelog|contributing|examples))/;
// What a page scores whose title is the query, and an object whose name is.
const IS_TITLED = 15;
const IS_NAMED = 11;

// Sphinx declares one with `var`, which this one replaces.
var Scorer = {
  score: ([docname, , , , score, , kind]) => {
    if (kind === "title" && score >= IS_TITLED) return score + 200;
    if (kind === "index") return score >= 70 ? score + 100 : score / 10;
    if (kind === "object" && score >= IS_NAMED) return score + 100;
    if (LAST.test(docname)) return score - 60;
    if (docname.startsWith("generated/")) return score - 20;
    return score;
  },
  objNameMatch: IS_NAMED,
  objPartialMatch: 3,
  objPrio: { 0: 3, 1: 1, 2: -3 },
  objPrioDefault: 0,
  title: IS_TITLED,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
