"""One program of `parpass mlir-opt` in workers: what fails there leaves no trace."""

from __future__ import annotations

import contextlib
import functools
import io
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from parpass import Runner
from parpass.integrations.xdsl import xdsl_adapter
from parpass.integrations.xdsl.context_spec import ContextSpec
from parpass.integrations.xdsl.parallel_pipeline import put_in_place
from parpass.integrations.xdsl.xdsl_codec import is_tested
from parpass.integrations.xdsl.xdsl_module import XDSLModule, text_of
from parpass.integrations.xdsl.xdsl_passes import READ, pass_of
from parpass.transform import Pass, PassContext, Sequential

_RESOURCES = b"dense_resource", b"{-#"  # which are of the process that has parsed them


class ParallelRun:
    """A program and the results of the workers for it.

    Args:
        runner: The workers.
        context: The dialects that are known.
        content: The program's text.

    Attributes:
        done: How many passes were run when it was read.
        is_verified: Whether it was verified since.
        has_helped: Whether workers have done anything for it.
        has_failed: Whether anything failed in them: they are not asked again.
        printed: The program as workers have printed it, if they have.
    """

    def __init__(self, runner: Runner, context: Context, content: bytes) -> None:
        self._runner, self._context, self._content = runner, context, content
        self._is_simple = not any(one in content for one in _RESOURCES)
        self.done, self.is_verified = 0, False
        self.has_helped = self.has_failed = False
        self.printed: XDSLModule | None = None

    def parse(
        self, source_name: str, passes: Sequence[ModulePass], *, prints: bool
    ) -> ModuleOp | None:
        """Return what the first passes make of the text, which workers read.

        Args:
            source_name: What the text is called.
            passes: The passes.
            prints: Whether the result is only printed; the module is empty then.

        Returns:
            None where the text cannot be cut, or something fails.
        """
        if not self._is_simple or b"\r" in self._content:
            return None
        with _attempt():
            environment = ContextSpec.of(self._context)
            text = self._content.decode()
            cut = xdsl_adapter.cut(text, source_name, environment)
            if cut is None:
                return None
            for box in cut.functions.values():
                box.prints = prints
            pipeline = [pass_of(one) for one in passes] or [READ]
            made = self._made(cut, pipeline)
            if prints:
                self.printed = made
            module = ModuleOp([]) if prints else made.to_op()
            self.done, self.is_verified = len(passes), True
            return module
        return None

    def apply(
        self, module: ModuleOp, passes: Sequence[ModulePass], *, prints: bool
    ) -> bool:
        """Run passes on a module; return whether that was done, or nothing was.

        Args:
            module: The module, which is changed in place.
            passes: The passes, which work on functions alone.
            prints: Whether the result is only printed; the module stays as it was.
        """
        with _attempt():
            before = XDSLModule.of(module, ContextSpec.of(self._context))
            prints = prints and self._is_simple
            for box in before.functions.values():
                box.prints = prints
            after = self._made(before, [pass_of(one) for one in passes])
            if prints:
                self.printed = after
            elif after is not before:
                put_in_place(module, before, after)
            return True
        return False

    def attempt(self) -> AbstractContextManager[None]:
        """Swallow what fails in a block, and what it shows: xDSL does it again.

        What a block shows that succeeds is shown when it ends. If workers have done
        nothing for it so far, what fails is xDSL's own, and is raised.
        """
        return _attempt(lambda: self.has_helped)

    def text(self, text_of_module: Callable[[ModuleOp], str]) -> str:
        """Return the text of what was printed, in a module that a function prints."""
        assert self.printed is not None
        return text_of(self.printed, text_of_module)

    def _made(self, module: XDSLModule, pipeline: Sequence[Pass]) -> XDSLModule:
        # All of it is for workers, whatever passes turn out to cost.
        context = PassContext(config={"parpass.asking_workers_seconds": 0.0})
        self.has_failed = True
        made = self._runner.run_sync(module, Sequential([*pipeline]), context=context)
        self.has_helped, self.has_failed = True, False
        return made


RunFactory = Callable[[Context, bytes], ParallelRun]


def runs_on(runner: Runner) -> RunFactory | None:
    """Return what begins runs on workers, given dialects and a text.

    None, with a warning, for a release of xDSL that was not tested: what such a release
    prints of operations it may not read again.
    """
    return functools.partial(ParallelRun, runner) if is_tested() else None


@contextlib.contextmanager
def _attempt(is_repeated: Callable[[], bool] = lambda: True) -> Generator[None]:
    out, err = io.StringIO(), io.StringIO()
    told: list[warnings.WarningMessage] = []
    is_swallowed = False
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(record=True) as told,
        ):
            try:
                yield
            except Exception:  # of a pass, a parser, or a lost worker
                is_swallowed = is_repeated()
                if not is_swallowed:
                    raise
    finally:
        if not is_swallowed:
            sys.stdout.write(out.getvalue())
            sys.stderr.write(err.getvalue())
            for one in told:
                about = one.category, one.filename, one.lineno
                warnings.warn_explicit(one.message, *about)
