"""The work of `parpass opt`: programs are read, run through a pipeline, and written."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from parpass.cli.files.reading import (
    SPLIT,
    Program,
    read_modules,
    read_programs,
)
from parpass.cli.files.writing import write_modules
from parpass.cli.operations.executors import function_cache, opening_runner
from parpass.cli.operations.expectations import Expectations, collecting_diagnostics
from parpass.cli.operations.pipeline import (
    dump_pipeline,
    make_contexts,
    read_pipeline,
)
from parpass.cli.operations.preload import modules_to_preload
from parpass.cli.operations.watching import Watching
from parpass.cli.options.opt import OptOptions
from parpass.cli.output.failure import InputError, PassFailure
from parpass.cli.output.file_times import FileTimes
from parpass.errors import ParseError, UnreadFunctionError
from parpass.ir.dialect import load_dialects
from parpass.transform import (
    ModuleAdapter,
    Pass,
    PassContext,
    Sequential,
    registered_passes,
)
from parpass.transform.adapter_registry import accepts_passes_of

# Runs a pipeline on a module.
Run = Callable[[Any], Any]


def run(given: OptOptions, adapter: ModuleAdapter | None) -> None:
    """Run `parpass opt`.

    `adapter` is that of the programs; None if their suffixes do not determine it.
    """
    files, watched, workers = FileTimes(), given.watched, given.workers
    passes, settings = given.passes, _settings(given)
    if passes is None and _is_level_given():
        passes = _passes_of_level(given.level, adapter)
    pipeline = Sequential([]) if passes is None else read_pipeline(passes, adapter)
    is_local = workers.executor is None and given.dask is None
    preload: Sequence[str] = ()
    if is_local and passes:
        preload = modules_to_preload(given.inputs, given.ir, workers.jobs)
    if preload:  # the program is so large that all passes go to workers
        settings["asking_workers_seconds"] = 0.0
    watching = Watching(watched, pipeline, given.loaded)
    contexts = make_contexts(
        watched.repeat or 1,
        pipeline,
        given.level,
        given.config,
        watching.instruments,
        settings,
    )
    if given.dump_pass_pipeline and passes is not None:
        dump_pipeline(pipeline)
    _note_skipped(pipeline, contexts.first)
    with contextlib.ExitStack() as stack:
        runner = stack.enter_context(
            opening_runner(
                workers.jobs,
                workers.executor,
                dask=given.dask,
                preload=preload,
                cache=function_cache(given.results),
            )
        )
        stack.enter_context(
            watching.around(
                runner,
                contexts,
                pipeline=passes or "",
                jobs=workers.jobs,
                shows_progress=bool(passes),
            )
        )
        go = functools.partial(watching.run, pipeline=pipeline)
        try:
            modules, code = _made(given, go if passes else _unchanged, files)
        finally:
            if passes is not None:
                watching.report()
    if not code or given.output == "-":
        with files.writing():
            write_modules(
                modules,
                given.output,
                show_meta_data=given.print_metadata,
                show_types=given.print_types,
                split=given.split_input_file or SPLIT,
            )
    if watched.explain_speed:
        from parpass.cli.output.tables import print_file_times

        print_file_times(files, sum(one.seconds for one in watching.reports))
    click.get_current_context().exit(code)


def _settings(given: OptOptions) -> dict[str, Any]:
    """Return the options of the context that have a flag; None for those not given."""
    return {
        **given.limits.settings(),
        "on_failure": given.on_failure,
        "opt_bisect_limit": given.opt_bisect_limit,
        "opt_bisect": given.opt_bisect,
        "reproducer": given.reproducer,
        "check_contract": given.check_contract or None,
        "check_analyses": given.check_analyses or None,
        "isolated": given.isolate or None,
    }


def _made(given: OptOptions, go: Run, files: FileTimes) -> tuple[list[Any], int]:
    """Read the programs, and run the pipeline on each.

    Returns:
        The new modules, and the exit code.
    """
    split = given.split_input_file or SPLIT
    if given.verify_diagnostics or given.split_input_file is not None:
        programs = read_programs(given.inputs, ir=given.ir, split=split)
        if given.verify_diagnostics:
            return _verify(programs, go, files)
        return _each_alone(programs, go, files, traceback=given.traceback)
    with files.reading():
        modules = read_modules(
            given.inputs, ir=given.ir, model=given.model.by_name, split=split
        )
    return list(_all(modules, go, traceback=given.traceback)), 0


def _is_level_given() -> bool:
    source = click.get_current_context().get_parameter_source("level")
    return source is ParameterSource.COMMANDLINE


def _unchanged(mod: Any) -> Any:
    return mod


def _passes_of_level(level: int, adapter: ModuleAdapter | None) -> str:
    """Return the pipeline of `-O`: the one with the IR's name, or the default."""
    load_dialects()
    if adapter is not None:
        name, known = adapter.ir_name, registered_passes()
        if name in known and accepts_passes_of(adapter, known[name]):
            return name
        if not accepts_passes_of(adapter, known["DefaultPipeline"]):
            raise InputError(
                f"IR '{name}' has no registered pipeline for -O; name passes by -p"
            )
    return f"DefaultPipeline{{opt-level={level}}}"


def _all(modules: Sequence[Any], go: Run, *, traceback: bool) -> Iterator[Any]:
    for mod in modules:
        try:
            yield go(mod)
        except UnreadFunctionError:
            raise  # it is the program's, whichever pass came to it
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- of a pass
            raise PassFailure(error, with_traceback=traceback) from None


def _each_alone(
    programs: Sequence[Program], go: Run, files: FileTimes, *, traceback: bool
) -> tuple[list[Any], int]:
    """Return the results of the programs that did not fail, and the exit code."""
    made: list[Any] = []
    codes = {0}
    for program in programs:
        try:
            with files.reading():
                mod = program.parsed()
            made.append(go(mod))
        except ParseError as error:
            _show(InputError(error), codes)
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- of a pass
            _show(PassFailure(error, with_traceback=traceback), codes)
    return [one for one in made if one is not None], 1 if 1 in codes else max(codes)


def _show(failure: click.ClickException, codes: set[int]) -> None:
    failure.show()
    codes.add(failure.exit_code)


def _verify(
    programs: Sequence[Program], go: Run, files: FileTimes
) -> tuple[list[Any], int]:
    """Return the results of programs, and 0 if all met their expectations, else 1."""
    made: list[Any] = []
    wrong: list[str] = []
    for program in programs:
        expected = Expectations(program.text, program.name)
        with collecting_diagnostics() as said:
            try:
                with files.reading():
                    mod = program.parsed()
                made.append(go(mod))
            except (Exception, SystemExit) as error:  # noqa: BLE001 -- of a pass
                expected.take_error(error)
        expected.take(said)
        wrong += expected.unmet()
    for text in wrong:
        click.echo(text, err=True)
    return made, 1 if wrong else 0


def _note_skipped(pipeline: Sequential, context: PassContext) -> None:
    for name, level in _skipped(pipeline, context).items():
        click.echo(f"Note: pass '{name}' does not run below -O{level}.", err=True)


def _skipped(pipeline: Pass | None, context: PassContext) -> Mapping[str, int]:
    """Return the levels of the passes that do not run, by name."""
    levels: dict[str, int] = {}
    for a_pass in pipeline.passes if isinstance(pipeline, Sequential) else ():
        if a_pass is None or context.pass_enabled(a_pass.info):
            levels |= _skipped(a_pass, context)
        else:
            levels[a_pass.info.name] = a_pass.info.opt_level
    return levels
