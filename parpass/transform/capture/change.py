"""Changes of functions by passes: the texts before and after, if they are wanted.

Workers compare a function before and after each pass, so watching makes no barrier. The
comparison is by identity, and then by text. A change that the text does not show, of
the values of large constants say, is one too; of places in the source it is none.

A pass has changed a function if it differs when the pass after it has restored the
invariants of the IR. So the two are one change, of the function before the one and
after the other. Where a stage ends between the two, neither is printed before both have
run.

Functions are printed after the passes, many at a time: by turns with passes, to print
one takes a third longer, and what it takes would be in the time of the pass.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import msgspec

from parpass.transform.capture.structural_diff import structural_diff
from parpass.transform.gc_pause import gc_paused
from parpass.transform.name_globs import matches_any_function, matches_any_pass
from parpass.transform.pass_info import is_restoring

# Of the text of one function; what is longer is cut, and says so.
MAX_TEXT_CHARS = 1_000_000
_LEAST_BYTES = 4096  # of a text that is deflated, for which zlib takes 256 kB
_AS_IT_IS = b"="  # before a shorter one; what is deflated begins with another byte

# What a watcher wants: globs of passes, globs of functions.
Wanted = tuple[tuple[str, ...], tuple[str, ...]]


class Origin(msgspec.Struct, frozen=True):
    """The needs of a command that runs a pass again on the text of a function.

    Attributes:
        pipeline: The pass as pipeline text; None if it cannot be written.
        restoring: The pass that restores the IR's invariants, likewise; None if there
            is none, or if it is the pass itself.
        ir_name: The IR's name; empty if its programs cannot be parsed.
        suffix: The suffix of files with such programs.
        line_comment: What begins a comment in them.
        is_annotated: Whether texts of functions have what its programs are written
            without, such as types that passes inferred.
    """

    pipeline: str | None
    restoring: str | None
    ir_name: str
    suffix: str
    line_comment: str
    is_annotated: bool = False


class FunctionChange(msgspec.Struct, frozen=True):
    """The change of one function by one pass.

    Attributes:
        function: The name of the function.
        deflated: Its text before and after, as bytes, deflated if it is long; None
            where there is none, as the pass added or removed the function.
        is_hidden: Whether the text is the same, and something differs that it does not
            show.
        origin: How to run the pass again; set when instruments get it.
    """

    function: str
    deflated: tuple[bytes | None, bytes | None]
    is_hidden: bool = False
    origin: Origin | None = None

    @property
    def is_real(self) -> bool:
        """Whether anything differs: a later pass may undo what an earlier one did."""
        return self.is_hidden or self.deflated[0] != self.deflated[1]

    @property
    def before(self) -> str | None:
        """The text before; None if the pass added the function."""
        return inflated(self.deflated[0])

    @property
    def after(self) -> str | None:
        """The text after; None if the pass removed the function."""
        return inflated(self.deflated[1])

    @property
    def verb(self) -> str:
        """The verb for the change: `changed`, `added` or `removed`."""
        if self.deflated[0] is None:
            return "added"
        return "removed" if self.deflated[1] is None else "changed"

    def diff(self, context: int = 3) -> str:
        """Return the change in unified form, without the lines that name files.

        What stayed has the names that it has before the pass, however the text after it
        numbers values.

        Args:
            context: How many unchanged lines are shown around each change.

        Returns:
            Lines that begin with `@@`, `-`, `+` or a space. If no line changed, one
            that says what differs.
        """
        return structural_diff(self.before or "", self.after or "", context)

    def _repr_html_(self) -> str:
        from parpass.notebook_html import coloured_diff  # in notebooks alone

        return coloured_diff(f"{self.verb} {self.function}", self.diff())

    def _repr_mimebundle_(self, **kinds: Any) -> dict[str, str]:
        del kinds
        from parpass.notebook_html import mime_bundle  # in notebooks alone

        text = f"{self.verb} {self.function}\n{self.diff()}"
        return mime_bundle(text, self._repr_html_())


class UnprintedChange(NamedTuple):
    """The change of one function by one pass, before it is printed.

    `before` is None if the pass added the function, `after` if it removed it. `mod` is
    the module to print them with.
    """

    function: str
    before: Any
    after: Any
    mod: Any


AnyChange = FunctionChange | UnprintedChange


def _deflated(text: str) -> bytes:
    data = text.encode(errors="backslashreplace")
    return _AS_IT_IS + data if len(data) < _LEAST_BYTES else zlib.compress(data, 1)


def inflated(data: bytes | None) -> str | None:
    if data is None:
        return None
    is_short = data.startswith(_AS_IT_IS)
    return (data[1:] if is_short else zlib.decompress(data)).decode()


class _Adapter(Protocol):
    """The part of a module adapter, which imports contexts, that is needed here."""

    def functions(self, mod: Any) -> Mapping[str, Any]: ...

    def function_text(self, name: str, function: Any, mod: Any) -> str: ...

    def difference(self, before: Any, after: Any) -> str | None: ...

    def restoring_pass(self, kind: str) -> Any: ...


class ChangeWatch:
    """Finds the changes that instruments want to get; owned by a context.

    The next pass is given what a pass made last, mostly, so that is kept with its text
    until `forget` is called.
    """

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self.wanted = tuple(wanted)
        self._last: dict[str, tuple[Any, bytes | None]] = {}

    def in_function(
        self,
        pass_: Any,
        name: str,
        before: Any,
        after: Any,
        mod: Any,
        adapter: _Adapter,
    ) -> tuple[UnprintedChange, ...]:
        """Return the change of a function, if there may be one and it is wanted.

        What a pass changed is known when the pass after it has restored the invariants
        of the IR, so changes by that one are wanted with any other.
        """
        if after is before:
            return ()
        if not wants(self.wanted, pass_.info.name, name):
            restoring = adapter.restoring_pass(pass_.function_kind)
            wanted = is_restoring(pass_, restoring)
            if not (wanted and wants_function(self.wanted, name)):
                return ()
        return (UnprintedChange(name, before, after, mod),)

    def in_module(
        self, pass_: Any, before: Mapping[str, Any], mod: Any, adapter: _Adapter
    ) -> list[UnprintedChange]:
        """Return the wanted changes of a pass over a module, in module order.

        `before` has the functions that the pass was given, `mod` is what it returned.
        Functions that it removed come last.
        """
        after = adapter.functions(mod)
        names = [*after, *(name for name in before if name not in after)]
        return [
            change
            for name in names
            for change in self.in_function(
                pass_, name, before.get(name), after.get(name), mod, adapter
            )
        ]

    def printed(
        self, changes: Sequence[AnyChange], adapter: _Adapter
    ) -> FunctionChange:
        """Return changes of one function, each by the pass after the other, as one."""
        first, last = changes[0], changes[-1]
        if isinstance(first, FunctionChange):
            return first
        assert isinstance(last, UnprintedChange)
        name, before, after = first.function, first.before, last.after
        with gc_paused:  # of what a printer makes, nothing is left
            texts = (
                self._text(name, before, first.mod, adapter),
                self._text(name, after, last.mod, adapter),
            )
            is_hidden = texts[0] == texts[1] and _differ(before, after, adapter)
        return FunctionChange(name, texts, is_hidden)

    def _text(
        self, name: str, version: Any, mod: Any, adapter: _Adapter
    ) -> bytes | None:
        last, text = self._last.get(name, (None, None))
        if last is not version:
            text = _printed(name, version, mod, adapter)
            self._last[name] = version, text
        return text

    def forget(self) -> None:
        """Forget what passes made: they have run, on the functions given to them."""
        self._last.clear()


@lru_cache(maxsize=4096)
def _functions_of(
    wanted: tuple[Wanted, ...], pass_name: str
) -> tuple[tuple[str, ...], ...]:
    return tuple(fs for passes, fs in wanted if matches_any_pass(passes, pass_name))


def wants_function(wanted: tuple[Wanted, ...], function: str) -> bool:
    return any(matches_any_function(functions, function) for _, functions in wanted)


def wants(wanted: tuple[Wanted, ...], pass_name: str, function: str) -> bool:
    for functions in _functions_of(wanted, pass_name):
        if matches_any_function(functions, function):
            return True
    return False


def _differ(before: Any, after: Any, adapter: _Adapter) -> bool:
    try:
        return adapter.difference(before, after) is not None
    except Exception:  # noqa: BLE001 -- as in `_printed`
        return True


def _printed(name: str, function: Any, mod: Any, adapter: _Adapter) -> bytes | None:
    """Return the text of a function; why there is none, if it cannot be printed.

    Not each version is printed wherever a pass runs, so none of them may end the run.
    """
    if function is None:
        return None
    try:
        text = adapter.function_text(name, function, mod)
        if len(text) > MAX_TEXT_CHARS:
            text = f"{text[:MAX_TEXT_CHARS]}\n... (cut, of {len(text):,} characters)"
        return _deflated(text)
    except Exception as error:  # noqa: BLE001 -- it is told in place of the text
        return _deflated(f"cannot be printed: {type(error).__name__}: {error}")
