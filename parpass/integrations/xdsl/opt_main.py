"""`xdsl-opt` with its functions on every core: the command `parpass mlir-opt`.

It is xDSL's own class: its arguments, its reading and printing, its messages. Only
large programs go to workers, and of what they do only a success counts. If anything
fails there, the program is run from that stage on as `xdsl-opt` runs it, so that an
error is the one that `xdsl-opt` raises.
"""

from __future__ import annotations

import argparse
import contextlib
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from io import BytesIO
from typing import IO, TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.xdsl_opt_main import xDSLOptMain

from parpass.integrations.xdsl.locality import is_function_local
from parpass.integrations.xdsl.thresholds import LARGE_PROGRAM

if TYPE_CHECKING:  # what large programs need is loaded by who opens workers
    from parpass.integrations.xdsl.parallel_run import ParallelRun, RunFactory

# Opens workers, given how many are wanted and a program, and gives what begins runs on
# them; None where there is one core, or an xDSL that was not tested.
OpenWorkers = Callable[[int | None, str], AbstractContextManager["RunFactory | None"]]


class ParallelOptMain(xDSLOptMain):
    """xDSL's driver of passes, whose function-local passes run in workers.

    Args:
        arguments: The command line, without the command's name.
        open_workers: Opens the workers when a program is large enough.
    """

    def __init__(self, arguments: Sequence[str], open_workers: OpenWorkers) -> None:
        self._open_workers = open_workers
        self._stack = contextlib.ExitStack()
        self._is_open = False
        self._new_run: RunFactory | None = None
        self._run: ParallelRun | None = None
        self._parse_again: Callable[[], ModuleOp | None] | None = None
        self._made: ModuleOp | None = None  # by xDSL alone, after workers failed
        super().__init__(args=arguments)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        """Register the arguments of `xdsl-opt`, and those for workers."""
        arg_parser.prog = "parpass mlir-opt"
        arg_parser.epilog = (
            "Example: parpass mlir-opt program.mlir -p canonicalize,cse -j 4. Exit "
            "codes: those of xdsl-opt, 0 ok, 1 something failed, 2 the command is "
            "wrong, 130 interrupted."
        )
        super().register_all_arguments(arg_parser)
        own = arg_parser.add_argument_group("workers of parpass")
        own.add_argument(
            "-j",
            "--workers",
            type=_count,
            metavar="N",
            help="Maximum number of processes; 0 and 1 start no workers (default: "
            "every core).",
        )
        own.add_argument(
            "--threshold",
            type=_count,
            metavar="BYTES",
            default=LARGE_PROGRAM,
            help="Size from which a program goes to workers (default: %(default)s).",
        )

    def run(self) -> None:
        """Execute the different steps, and end the workers."""
        with self._stack:
            super().run()

    def parse_chunk(
        self, chunk: IO[bytes], file_extension: str, start_offset: int = 0
    ) -> ModuleOp | None:
        """Return the module of a text; of a large one what its first passes made."""
        self._run = self._made = None
        if not self._is_for_workers(file_extension):
            return super().parse_chunk(chunk, file_extension, start_offset)
        content = chunk.read()
        if len(content) >= self.args.threshold:
            self._run = self._begun_run(content)
        if self._run is not None:
            made = self._parsed_by_workers(self._run)
            usual = super().parse_chunk
            self._parse_again = lambda: usual(
                BytesIO(content), file_extension, start_offset
            )
            if made is not None:
                return made
        return super().parse_chunk(BytesIO(content), file_extension, start_offset)

    def apply_passes(self, prog: ModuleOp) -> None:
        """Apply passes in order, those in workers that work on functions alone."""
        run = self._run
        if run is None:
            super().apply_passes(prog)
            return
        is_done = False
        with run.attempt():
            self._apply_by(run, prog)
            is_done = True
        if not is_done:
            self._run_again()

    def _run_again(self) -> None:
        """Read the program again, and apply all passes to it, by xDSL alone."""
        assert self._parse_again is not None
        self._run = None
        made = self._made = self._parse_again()
        assert made is not None  # since workers could read it
        super().apply_passes(made)

    def _apply_by(self, run: ParallelRun, prog: ModuleOp) -> None:
        passes, callback = self.pipeline.passes, self.pipeline.callback
        assert callback is not None
        at, serial_to = run.done, 0
        if not run.is_verified:
            callback(None, prog, passes[0] if passes else None)
        while at < len(passes):
            is_serial = at < serial_to or run.has_failed
            local = 0 if is_serial else self._locals_from(at)
            is_last = at + local == len(passes) and self._prints_plainly
            if local and run.apply(prog, passes[at : at + local], prints=is_last):
                at += local
                if not self._shows_passes:
                    continue  # workers have verified what they made
            else:
                serial_to = max(serial_to, at + local)
                passes[at].apply(self.ctx, prog)
                at += 1
            callback(passes[at - 1], prog, passes[at] if at < len(passes) else None)

    def output_resulting_program(self, prog: ModuleOp) -> str:
        """Return the text of a program, of functions as workers have printed them."""
        usual = super().output_resulting_program
        run = self._run
        if run is not None:
            with run.attempt():
                return usual(prog) if run.printed is None else run.text(usual)
            self._run_again()
        return usual(prog if self._made is None else self._made)

    @property
    def _shows_passes(self) -> bool:
        """Whether something is to be shown after each pass."""
        return self.args.time_passes or self.args.print_between_passes

    @property
    def _prints_plainly(self) -> bool:
        given = self.args
        return given.target == "mlir" and not (
            given.print_op_generic
            or given.print_no_properties
            or given.print_debuginfo
            or given.syntax_highlight
        )

    def _is_for_workers(self, file_extension: str) -> bool:
        """Return whether a program could be for workers by what the arguments say."""
        given = self.args
        return (
            (given.frontend or file_extension) == "mlir"
            and given.workers not in (0, 1)
            and not given.disable_verify  # which is a matter of this process
            and not given.no_implicit_module
        )

    def _begun_run(self, content: bytes) -> ParallelRun | None:
        """Return a run of a program in workers, which open for the first; or None."""
        if not self._is_open:
            text = content.decode(errors="replace")
            opening = self._open_workers(self.args.workers, text)
            self._new_run = self._stack.enter_context(opening)
            self._is_open = True
        return None if self._new_run is None else self._new_run(self.ctx, content)

    def _parsed_by_workers(self, run: ParallelRun) -> ModuleOp | None:
        """Return the module, with the first passes applied to it that are local."""
        local = 0 if self._shows_passes else self._locals_from(0)
        passes = self.pipeline.passes
        is_last = local == len(passes) and self._prints_plainly
        return run.parse(self.get_input_name(), passes[:local], prints=is_last)

    def _locals_from(self, at: int) -> int:
        """Return how many passes from one on work on functions alone, to be run so."""
        passes: Sequence[ModulePass] = self.pipeline.passes[at:]
        if self._shows_passes:
            passes = passes[:1]
        for number, one in enumerate(passes):
            if not is_function_local(one):
                return number
        return len(passes)


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected 0 or more, got {value}")
    return value


def main(arguments: Sequence[str], open_workers: OpenWorkers) -> None:
    """Run `xdsl-opt` with these arguments.

    Raises:
        SystemExit: The arguments are invalid or ask for help, as in `xdsl-opt`.
        Exception: Any exception of xDSL.
    """
    # As `xdsl-opt` does, for passes and options that go.
    warnings.filterwarnings("default", category=DeprecationWarning)
    ParallelOptMain(arguments, open_workers).run()
