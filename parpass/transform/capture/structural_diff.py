"""Diffs of two texts of a program by its structure: what stayed keeps its name.

A printer numbers values anew for each text, so of two texts of nearly one program most
lines differ. Lines are matched by what they compute, then the names in the newer text
are replaced by those in the older one, and at last lines are compared. Names are
replaced one to one, so a difference that is more than one of names is always shown; a
bad match makes a diff longer, and never wrong.

How lines are matched depends on the names in them, and on which are equal but for
their names. It does not matter what they say otherwise.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain
from typing import NamedTuple

from parpass.fork_safety import cached_property

# A name of a value with a sigil, or a number that stands for a constant; a string, in
# which there are none; a word that ends in a number, which is a name if a line defines
# it.
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_NAMES = rf"%(?:[\w.$-]+|{_STRING})|\[(?<=relay\.Constant\]\[)\d+\]"
_WORD = r"(?<![\w.$@])[A-Za-z_]\w*\d\b(?!\s*\()"
_TOKEN = re.compile(f"({_NAMES}|{_STRING})")
_TOKEN_OR_WORD = re.compile(f"({_NAMES}|{_STRING}|{_WORD})")
_DEFINED = re.compile(
    r"^\s*(?:let\s+)?([A-Za-z_]\w*\d)\s*(?::[^=\n]*)?=\s", re.MULTILINE
)
_NAME = "\0"  # stands for one in the shape of a line
_OWN = "@\1$"  # stands for that of the function; no other begins behind a `$`
# Diffs that are kept for functions like that one, and the characters of its two texts.
_MAX_KNOWN, _MAX_KEY = 4096, 8192
_NUMBERED = re.compile(r"(.*?)(_?\d*)([\]\"]?)", re.DOTALL)
# Pairs of equal lines between two matches; beyond it frequent ones are not compared.
_MAX_PAIRS = 50_000

Pairs = list[tuple[int, int]]
_Keys = tuple[Sequence[Hashable], Sequence[Hashable]]  # of the older and newer lines


class _Lines(NamedTuple):
    """The lines of a text, taken apart.

    Attributes:
        indentations: How far each is indented, if braces imply that.
        shapes: The rest of each, without names.
        names: The names in each, in order.
    """

    indentations: list[str]
    shapes: list[str]
    names: list[Sequence[str]]

    def at(self, place: int, names: Sequence[str]) -> str:
        """Return a line with these names."""
        parts = [self.shapes[place]]
        if names:
            parts *= 2 * len(names) + 1
            parts[::2] = parts[0].split(_NAME)
            parts[1::2] = names
        return self.indentations[place] + "".join(parts)

    def keys(self) -> list[Hashable]:
        pairs = zip(self.shapes, self.names, strict=True)
        return [(shape, *names) for shape, names in pairs]


class _Row(NamedTuple):
    """A line of a diff.

    Attributes:
        mark: What it begins with; a range is a line of its own.
        place: Which line of the older text it is if it is removed, else of the newer
            one; -1 in a range.
        names: The names in it.
    """

    mark: str
    place: int = -1
    names: Sequence[str] = ()


def structural_diff(before: str, after: str, context: int = 3) -> str:
    """Return the changes from one text to another in unified form.

    In a text with braces it does not matter how far the lines between them are
    indented.

    Args:
        before: The older text, whose names are kept.
        after: The newer text.
        context: How many unchanged lines are shown around each change.

    Returns:
        Lines that begin with `@@`, `-`, `+` or a space. If no line changed, one that
        says what differs.
    """
    return _ComparedText(before).diff_to(_ComparedText(after), context)


class FunctionDiffs:
    """Makes diffs of functions, and those that differ in the same way once.

    Generated programs have many such functions. If they differ only in their own names,
    the whole diff is made once; if in what lines say, which lines it has.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}  # by short texts
        self._rows: dict[Hashable, Sequence[_Row]] = {}  # by patterns, likewise
        self._newer = _ComparedText("")  # of the last diff: the older one of the next

    def diff(self, name: str, before: str, after: str) -> str:
        """Return the changes of a function; see `structural_diff`."""
        own = f"@{name}"
        if len(before) + len(after) > _MAX_KEY or _OWN in before or _OWN in after:
            return self._made(before, after)
        key = before.replace(own, _OWN), after.replace(own, _OWN)
        found = self._known.get(key)
        if found is None:
            found = self._made(*key)
            if len(self._known) < _MAX_KNOWN:
                self._known[key] = found
        return found.replace(_OWN, own)

    def _made(self, before: str, after: str) -> str:
        older = self._newer
        if older.text != before:
            older = _ComparedText(before)
        self._newer = newer = _ComparedText(after)
        if len(before) + len(after) > _MAX_KEY:
            return older.diff_to(newer)
        pattern = older.pattern_with(newer)
        rows = self._rows.get(pattern)
        if rows is None:
            rows = older.rows_to(newer)
            if len(self._rows) < _MAX_KNOWN:
                self._rows[pattern] = rows
        return older.text_of(rows, newer)


class _ComparedText:
    """A text that is compared with others, for which it is taken apart once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = _lines(text)

    @cached_property
    def _hashes(self) -> tuple[list[int], list[int]]:
        return _line_hashes(self._lines)

    def diff_to(self, newer: _ComparedText, context: int = 3) -> str:
        """Return the changes to a newer text; see `structural_diff`."""
        return self.text_of(self.rows_to(newer, context), newer)

    def pattern_with(self, newer: _ComparedText) -> Hashable:
        """Return what `rows_to` depends on."""
        old, new = self._lines, newer._lines
        numbers: dict[str, int] = {}
        for shape in chain(old.shapes, new.shapes):
            numbers.setdefault(shape, len(numbers))
        shapes = map(numbers.__getitem__, chain(old.shapes, new.shapes))
        return len(old.shapes), *shapes, *old.names, *new.names

    def rows_to(self, newer: _ComparedText, context: int = 3) -> Sequence[_Row]:
        """Return the lines of the diff to a newer text; none if no line changed."""
        if self.text == newer.text:
            return ()
        old, name_of = self._lines, self._names_in(newer)
        names = [tuple(map(name_of.__getitem__, own)) for own in newer._lines.names]
        new = newer._lines._replace(names=names)
        keys = old.keys(), new.keys()
        same = _increasing(_matches([keys], keys).items())
        return [*_hunks(old, new, same, context)]

    def text_of(self, rows: Sequence[_Row], newer: _ComparedText) -> str:
        """Return the text of a diff to a newer text, by its lines."""
        if rows:
            old, new = self._lines, newer._lines
            return "\n".join(
                mark
                if place < 0
                else mark + (old if mark == "-" else new).at(place, names)
                for mark, place, names in rows
            )
        if self.text == newer.text:
            return "  what the text does not show differs, such as large constants"
        return "  names of values differ, or the layout, and nothing else"

    def _alignment(self, newer: _ComparedText) -> Pairs:
        """Return which lines are likely to be the same ones.

        Best are those that are computed from the same, for the same; then those of
        which one of the two holds; then those that look the same, between others that
        match; and at last as many as there are in the place of as many.
        """
        own, its = self._hashes, newer._hashes
        sources, users = zip(own, its, strict=True)
        both = list(zip(*own, strict=True)), list(zip(*its, strict=True))
        shapes = self._lines.shapes, newer._lines.shapes
        found = _matches([both, sources, users], shapes)
        pairs = sorted(found.items())
        for own, others in _gaps(found, *map(len, shapes)):
            if len(own) == len(others):
                pairs += zip(own, others, strict=True)
        return pairs

    def _names_in(self, newer: _ComparedText) -> dict[str, str]:
        """Return what each name of the newer text becomes in the diff.

        It is the one that stands most often in its place in matching lines, so what
        took the place of something else has that one's name. Others keep their own, or
        get the next number if it is taken.
        """
        old, new = self._lines.names, newer._lines.names
        votes: dict[tuple[str, str], int] = {}
        for at, to in self._alignment(newer):
            for pair in zip(new[to], old[at], strict=False):
                votes[pair] = votes.get(pair, 0) + 1
        found: dict[str, str] = {}
        taken: set[str] = set()
        for name, older in sorted(votes, key=votes.__getitem__, reverse=True):
            if name not in found and older not in taken:
                found[name] = older
                taken.add(older)
        given = dict.fromkeys(chain.from_iterable(new))
        left = [name for name in given if name not in found]
        if not left:
            return found
        own = [name for name in left if name not in taken]
        found.update(zip(own, own, strict=True))
        taken.update(own)
        taken.update(*old)
        numbers: Counter[str] = Counter()
        for name in left:
            if name not in found:
                found[name] = _free_name(name, taken, numbers)
                taken.add(found[name])
        return found


def _lines(text: str) -> _Lines:
    defined = {*_DEFINED.findall(text)}
    split = _TOKEN_OR_WORD.split if defined else _TOKEN.split
    parts = split(text.replace(_NAME, " "))  # text and tokens by turns
    names = parts[1::2]
    if '"' in text or defined:
        for at, one in enumerate(names):
            if one[0] in "%[" or one in defined:
                parts[2 * at + 1] = _NAME
        names = [one for one in names if one[0] in "%[" or one in defined]
        shapes = "".join(parts)
    else:
        shapes = _NAME.join(parts[::2])
    found = _Lines([], [], [])
    depth = start = 0
    for line in shapes.splitlines():
        inside = line.strip()
        if depth and inside.startswith("}"):
            depth -= 1
        if depth:
            found.indentations.append(line[: line.find(inside)])
            found.shapes.append(inside)
        else:
            found.indentations.append("")
            found.shapes.append(line)
        stop = start + line.count(_NAME)
        found.names.append(tuple(names[start:stop]))
        start = stop
        if inside.endswith("{"):
            depth += 1
    return found


def _line_hashes(lines: _Lines) -> tuple[list[int], list[int]]:
    """Return hashes of each line: with all that it is computed from, and for."""
    sources: list[int] = []
    own_names: list[dict[str, int]] = []  # of each line, those that are first in it
    of_name: dict[str, int] = {}
    for shape, names in zip(lines.shapes, lines.names, strict=True):
        own: dict[str, int] = {}
        read: list[Hashable] = [shape]
        for name in names:
            known = of_name.get(name)
            read.append(own.setdefault(name, len(own)) if known is None else known)
        value = hash(tuple(read))
        sources.append(value)
        own_names.append(own)
        for name, at in own.items():
            of_name[name] = hash((value, at))
    users: list[int] = []
    of_name = dict.fromkeys(of_name, 0)
    for at in range(len(sources) - 1, -1, -1):
        read = [lines.shapes[at]]
        for name in own_names[at]:
            read.append(of_name[name])
        value = hash(tuple(read))
        users.append(value)
        for place, name in enumerate(lines.names[at]):
            of_name[name] += hash((value, place))  # in any order of the users
    return sources, users[::-1]


def _matches(kinds: Sequence[_Keys], between: _Keys) -> dict[int, int]:
    """Return pairs of lines, by keys of several kinds; those of the first kind decide.

    Lines of a key that is as frequent on both sides are paired in their order. Between
    them, runs of lines are that have equal keys `between`.
    """
    found: dict[int, int] = {}
    taken: set[int] = set()
    for mine, theirs in kinds:
        if len(found) in (len(mine), len(theirs)):
            return found
        common = {*mine}.intersection(theirs)
        left = _places(mine, common, found)
        for key, others in _places(theirs, common, taken).items():
            own = left.get(key)
            if own is not None and len(own) == len(others):
                found.update(zip(own, others, strict=True))
                taken.update(others)
    mine, theirs = between
    for own, others in _gaps(found, len(mine), len(theirs)):
        runs = _runs([mine[at] for at in own], [theirs[at] for at in others])
        for at, to, size in runs:
            found.update(zip(own[at : at + size], others[to : to + size], strict=True))
    return found


def _gaps(
    pairs: dict[int, int], old: int, new: int
) -> list[tuple[list[int], list[int]]]:
    """Return the lines of both sides that have no pair, by the pairs around them.

    `old` and `new` are the numbers of lines.
    """
    if len(pairs) in (old, new):
        return []
    found: list[tuple[list[int], list[int]]] = []
    taken = {*pairs.values()}
    start = begin = 0
    for stop, end in [*_increasing(pairs.items()), (old, new)]:
        if start < stop and begin < end:
            own = [at for at in range(start, stop) if at not in pairs]
            others = [at for at in range(begin, end) if at not in taken]
            if own and others:
                found.append((own, others))
        start, begin = stop + 1, end + 1
    return found


def _places(
    keys: Sequence[Hashable], wanted: set[Hashable], without: dict[int, int] | set[int]
) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = {}
    for at, key in enumerate(keys):
        if key in wanted and at not in without:
            found.setdefault(key, []).append(at)
    return found


def _runs(
    mine: Sequence[Hashable], theirs: Sequence[Hashable]
) -> list[tuple[int, int, int]]:
    if {*mine}.isdisjoint(theirs):
        return []
    counts, others = Counter(mine), Counter(theirs)
    pairs = sum(count * others[key] for key, count in counts.items())
    matcher = SequenceMatcher(None, mine, theirs, autojunk=pairs > _MAX_PAIRS)
    return [(run.a, run.b, run.size) for run in matcher.get_matching_blocks()]


def _increasing(pairs: Iterable[tuple[int, int]]) -> Pairs:
    """Return as many of the pairs as keep the order of both sides."""
    pairs = sorted(pairs)
    stops = [end for _, end in pairs]
    if stops == sorted(stops):
        return pairs
    ends: list[int] = []  # for each length, the least with which a chain can end
    chains: list[int] = []  # which pair that is
    before: list[int] = []
    for number, (_, end) in enumerate(pairs):
        length = bisect_left(ends, end)
        ends[length : length + 1] = [end]
        chains[length : length + 1] = [number]
        before.append(chains[length - 1] if length else -1)
    found: Pairs = []
    number = chains[-1] if chains else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _free_name(name: str, taken: set[str], numbers: Counter[str]) -> str:
    match = _NUMBERED.fullmatch(name)
    stem, number, end = match.groups() if match else (name, "", "")
    between = "_" if not number or number.startswith("_") else ""
    while True:
        found = f"{stem}{between}{numbers[stem]}{end}"
        numbers[stem] += 1
        if found not in taken:
            return found


def _hunks(old: _Lines, new: _Lines, same: Pairs, context: int) -> Iterator[_Row]:
    """Yield the lines of the diff."""
    script: list[tuple[str, int, int]] = []  # a mark, and how many lines are before it
    changed: list[int] = []  # the places in it of what is removed or added
    at = to = 0
    for stop, end in [*same, (len(old.shapes), len(new.shapes))]:
        if at < stop or to < end:
            changed += range(len(script), len(script) + stop - at + end - to)
            script += [("-", number, to) for number in range(at, stop)]
            script += [("+", stop, number) for number in range(to, end)]
        script.append((" ", stop, end))
        at, to = stop + 1, end + 1
    script.pop()  # the end is no line
    first = 0
    for number, place in enumerate(changed):
        is_last = number + 1 == len(changed)
        if is_last or changed[number + 1] - place > 2 * context + 1:
            begin = max(0, changed[first] - context)
            yield from _hunk(script[begin : place + context + 1], old, new)
            first = number + 1


def _hunk(
    script: Sequence[tuple[str, int, int]], old: _Lines, new: _Lines
) -> Iterator[_Row]:
    marks = [mark for mark, *_ in script]
    size, removed, added = len(marks), marks.count("-"), marks.count("+")
    _, at, to = script[0]
    yield _Row(f"@@ -{_range(at, size - added)} +{_range(to, size - removed)} @@")
    for mark, at, to in script:
        is_old = mark == "-"
        place = at if is_old else to
        yield _Row(mark, place, (old if is_old else new).names[place])


def _range(start: int, size: int) -> str:
    """Return a range of lines as POSIX has it: an empty one is after a line."""
    return f"{start + (size > 0)}" + ("" if size == 1 else f",{size}")
