"""`run_codemod`: files are read, a codemod runs on them, what changed is written."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parpass import run_pipeline_sync
from parpass.errors import FunctionFailure
from parpass.integrations.codemod.codemod_names import find_codemod
from parpass.integrations.codemod.codemod_pass import CodemodPass, FormatterPass
from parpass.integrations.codemod.failure_position import failure_of
from parpass.integrations.codemod.file_result import CodemodResult, FileResult
from parpass.integrations.codemod.file_tree import find_files
from parpass.integrations.codemod.file_writing import replace_file
from parpass.integrations.codemod.source_file import (
    CodemodFailure,
    SourceFile,
    Sources,
)
from parpass.spi import skip_reasons
from parpass.transform import FunctionPass, PassContext

if TYPE_CHECKING:
    from parpass import FunctionCache, Runner, RunReport
    from parpass.spi import Executor

_GENERATED = b"@generated"


def run_codemod(
    codemod: type[Any] | Callable[..., str] | str,
    paths: Sequence[str | os.PathLike[str]],
    *,
    arguments: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    include: Sequence[str] = ("*.py",),
    exclude: Sequence[str] = (),
    include_generated: bool = False,
    formatter: Sequence[str] = (),
    python_version: str | None = None,
    root: str | os.PathLike[str] = ".",
    runner: Runner | None = None,
    workers: int | None = None,
    executor: Executor | str | None = None,
    isolated: bool = False,
    function_timeout: float | None = None,
    cpu_limit: float | None = None,
    memory_limit: int | None = None,
    cache: FunctionCache | str | os.PathLike[str] | None = None,
    report: Callable[[RunReport], object] | None = None,
    progress: Callable[[Any], object] | bool | None = None,
) -> CodemodResult:
    """Run a codemod on files, on every core, and write those that it changed.

    Files are written only after the codemod has run on all of them, so an interrupt
    before that changes none. Each file is replaced in one step. If something fails on a
    file, that file stays unchanged and the others continue.

    Args:
        codemod: A subclass of LibCST's `Codemod` or `CSTTransformer`, a function that
            takes a file's text and returns the new text, or the name of one of these;
            see `find_codemod`.
        paths: Files and folders; see `find_files`.
        arguments: Keyword arguments for the codemod.
        dry_run: Whether to write nothing.
        include: Globs of the files to take from folders.
        exclude: Globs of files and folders to leave out.
        include_generated: Whether to include files that are marked as generated.
        formatter: A command that reads a file and writes it formatted, for changed
            files.
        python_version: The version that LibCST parses files as, such as "3.8".
        root: The folder from which modules are imported; it gives codemods the dotted
            name of a file.
        runner: The runner to use instead of `workers` and `executor`; its cache
            replaces `cache`.
        workers: The maximum number of processes; 0 runs everything in this one, where a
            crash or a hang of the codemod affects it.
        executor: See `run_pipeline`; this and the next arguments are the same.
        isolated: Whether even a single file goes to a worker.
        function_timeout: The seconds that the codemod may take on one file.
        cpu_limit: The seconds of processor time that it may take on one file.
        memory_limit: The bytes of memory that it may take on one file.
        cache: Results of earlier runs.
        report: Called with the report of the run.
        progress: Called with the progress of the run; True writes lines to standard
            error.

    Returns:
        The result for each file.

    Raises:
        ArgumentError: There are no such files, or the argument is not a codemod.
        CodemodNameError: No codemod has this name.
        KeyboardInterrupt: With a note on how many files were written.
    """
    found = find_codemod(codemod) if isinstance(codemod, str) else codemod
    step = CodemodPass(found, arguments, python_version=python_version)
    files = find_files(paths, include, exclude)
    results, sources = _read(files, os.path.abspath(root), include_generated)
    go = (
        functools.partial(
            run_pipeline_sync, workers=workers, executor=executor, cache=cache
        )
        if runner is None
        else runner.run_sync
    )
    limits = {
        "function_timeout": function_timeout,
        "cpu_limit": cpu_limit,
        "memory_limit": memory_limit,
    }
    run = _Run(
        functools.partial(go, report=report, progress=progress, **limits),
        isolated=isolated,
        is_limited=any(one is not None for one in limits.values()),
        is_cached=cache is not None,
    )
    made = run(step, sources)
    if formatter:
        to_format = {
            path: one
            for path, one in made.items()
            if one.failure is None and one.data != sources[path].data
        }
        made |= run(FormatterPass(formatter), to_format)
    for path, one in made.items():
        before = sources[path].data
        after = before if one.failure is not None else one.data
        results[path] = FileResult(
            path, before, after, one.warnings, one.skipped, one.failure
        )
    results = {path: results[path] for path in files}
    if not dry_run:
        _write(results)
    return CodemodResult(results)


class _Run:
    """Runs passes on files.

    Args:
        go: Runs a pipeline on a module.
        isolated: Whether that is to be in workers, however little it is.
        is_limited: Whether a pass has a limit of time or memory.
        is_cached: Whether results of earlier runs are used.
    """

    def __init__(
        self,
        go: Callable[..., Any],
        *,
        isolated: bool,
        is_limited: bool,
        is_cached: bool,
    ) -> None:
        self._go = go
        self._isolated = isolated
        self._is_guarded = isolated or is_limited
        self._is_cached = is_cached

    def __call__(
        self, step: FunctionPass, files: Mapping[str, SourceFile]
    ) -> dict[str, SourceFile]:
        """Return what a pass makes of files; one that is ended on one is a failure."""
        if not files:
            return {}
        # One file is done before workers have started.
        if self._is_cached or (len(files) == 1 and not self._is_guarded):
            try:
                return self._under("fail", step, files)
            except FunctionFailure:  # what was done before it is not kept, either
                pass
        return self._under("skip", step, files)

    def _under(
        self, policy: str, step: FunctionPass, files: Mapping[str, SourceFile]
    ) -> dict[str, SourceFile]:
        """Return what a pass makes of files, under a policy for what ends it.

        Under "skip" all goes to workers, and no result is taken from a cache.

        Raises:
            FunctionFailure: The pass was ended on a file, under "fail".
        """
        config = {"parpass.isolated": True} if self._isolated else None
        context = PassContext(config=config)
        made = self._go(Sources(files), step, context=context, on_failure=policy)
        emitted = () if context.diag_ctx is None else context.diag_ctx.diagnostics
        ended = skip_reasons(emitted, step.info.name)
        return {
            path: _with_failure(one, ended.get(path))
            for path, one in made.functions.items()
        }


def _with_failure(file: SourceFile, reason: str | None) -> SourceFile:
    if reason is None:
        return file
    return SourceFile(file.filename, file.data, failure=CodemodFailure(reason))


def _read(
    files: Sequence[str], root: str, include_generated: bool
) -> tuple[dict[str, FileResult], dict[str, SourceFile]]:
    """Return the results of files that no codemod is to see, and the other files."""
    results: dict[str, FileResult] = {}
    sources: dict[str, SourceFile] = {}
    for path in files:
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            results[path] = FileResult(path, b"", b"", failure=failure_of(error, b""))
            continue
        if not include_generated and _GENERATED in data:
            results[path] = FileResult(path, data, data, skipped="it is generated")
            continue
        name = os.path.abspath(path)
        sources[path] = SourceFile(name, data, *_module_and_package(name, root))
    return results, sources


def _module_and_package(filename: str, root: str) -> tuple[str | None, str | None]:
    """Return the dotted name by which a file is imported, and that of its package."""
    inside, suffix = os.path.splitext(os.path.relpath(filename, root))
    parts = inside.split(os.sep)
    if suffix not in (".py", ".pyi") or parts[0] == os.pardir or os.path.isabs(inside):
        return None, None
    is_package = parts[-1] == "__init__"
    if parts[-1] in ("__init__", "__main__"):
        package = ".".join(parts[:-1])
        return package if is_package else ".".join(parts), package
    return ".".join(parts), ".".join(parts[:-1])


def _write(results: dict[str, FileResult]) -> None:
    """Write the files that changed, and note which are written, and which cannot be."""
    changed = [one for one in results.values() if one.is_changed]
    written = 0
    try:
        for one in changed:
            try:
                replace_file(one.path, one.before, one.after)
            except OSError as error:
                results[one.path] = dataclasses.replace(
                    one, failure=failure_of(error, b"")
                )
            else:
                written += 1
                results[one.path] = dataclasses.replace(one, is_written=True)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"{written} of {len(changed)} changed files were written")
        raise
