"""Programs of GT4Py, or of DaCe, through their own compilers on every core.

Both translate in Python, which holds the lock, and then call a C++ compiler. Here each
program of a module is a function, and each step of the compiler a function pass. Only
workers import the compiler, so it is imported on all cores at once.

    export GT4PY_BUILD_CACHE_LIFETIME=persistent
    python examples/dsl_programs.py gt4py gt4py_stencils
    python examples/dsl_programs.py dace dace_kernels
"""

# GT4Py and DaCe have an environment of their own, which the checker does not see.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.metadata
import importlib.util
import os
import pickle
import pkgutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import parpass
from parpass.runner import Progress
from parpass.spi import check_version
from parpass.transform import (
    FunctionPass,
    ModuleAdapter,
    PassContext,
    PassInfo,
    register_adapter,
)

TESTED = {"gt4py": ("1.1.12", "1.2.3"), "dace": ("2.0.0a10", "2.0.0b1")}


@dataclass(frozen=True)
class Program:
    """A program: where it is defined, and what the last step made of it."""

    module: str
    name: str
    form: Any = None

    def __str__(self) -> str:
        """Return where it is defined."""
        return f"{self.module}.{self.name}"

    def defined(self) -> Any:
        """Return what the decorator made when the module was imported.

        Raises:
            TypeError: It is something else, which a worker cannot find.
        """
        value = getattr(importlib.import_module(self.module), self.name, None)
        if type(value).__name__ not in ("Program", "DaceProgram"):
            raise TypeError(
                f"expected a program at '{self}', because workers load programs by "
                f"name, got '{type(value).__name__}'"
            )
        return value


@dataclass(frozen=True)
class Programs:
    """A module: programs by name."""

    functions: Mapping[str, Program]


class ProgramsAdapter(ModuleAdapter):
    """What parpass asks of programs; they are pickled."""

    module_type = Programs
    function_type = Program
    mutability = None  # a step makes a new program

    def size(self, function: Program, limit: int) -> int:
        """Return 1: how long a program takes shows when it is translated."""
        return 1


register_adapter(Programs, ProgramsAdapter())


class Step(FunctionPass):
    """A step of a compiler, from one form of a program to the next.

    Args:
        step: Makes the next form; a function of a module, or a frozen dataclass.
    """

    def __init__(self, step: Callable[[Program], Any]) -> None:
        self.pass_info = PassInfo(0, getattr(step, "__name__", "lower"))
        self.step = step

    def transform_function(
        self, func: Program, mod: Programs, ctx: PassContext
    ) -> Program:
        """Return the program in its next form."""
        return replace(func, form=self.step(func))


def find(package: str) -> Programs:
    """Return the programs of a module, or of a package's modules, which are read only.

    A program is a function of a module with a decorator of the name `program`.

    Raises:
        ModuleNotFoundError: There is no such module.
    """
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise ModuleNotFoundError(f"No module named '{package}'")
    found: dict[str, Program] = {}
    for module, path in _sources(spec):
        for node in ast.parse(path.read_bytes(), str(path)).body:
            if isinstance(node, ast.FunctionDef) and _is_program(node):
                program = Program(module, node.name)
                found[str(program)] = program
    return Programs(found)


def _sources(spec: Any) -> Iterator[tuple[str, Path]]:
    if spec.origin is not None:
        yield spec.name, Path(spec.origin)
    for info in pkgutil.iter_modules(spec.submodule_search_locations or []):
        # Which, unlike `importlib.util.find_spec`, does not import the package.
        name = f"{spec.name}.{info.name}"
        yield from _sources(info.module_finder.find_spec(name, None))


def _is_program(node: ast.FunctionDef) -> bool:
    for one in node.decorator_list:
        named = one.func if isinstance(one, ast.Call) else one
        if "program" in (getattr(named, "attr", None), getattr(named, "id", None)):
            return True
    return False


# GT4Py: the steps are those of its workflow for C++.


@dataclass(frozen=True)
class Lower:
    """GT4Py's frontend.

    Attributes:
        offsets: Where the offset provider is, as MODULE.NAME; empty: there is none.
    """

    offsets: str = ""

    def __call__(self, program: Program) -> Any:
        """Return the program's IR, with the types of its arguments.

        Raises:
            TypeError: Its backend has a way of its own to compile, without steps.
        """
        from gt4py.next.otf.arguments import CompileTimeArgs
        from gt4py.next.otf.compilation_tasks import make_compilation_task

        defined = program.defined()
        types = defined.__gt_type__().definition
        arguments = CompileTimeArgs(
            args=(*types.pos_only_args, *types.pos_or_kw_args.values()),
            kwargs=types.kw_only_args,
            offset_provider=self.provider(),
            column_axis=None,
            argument_descriptor_contexts={},
        )
        task = make_compilation_task(
            _backend(program), defined.definition_stage, arguments
        )
        if task.no_offload_reason:
            raise TypeError(f"no backend for '{program}': {task.no_offload_reason}")
        return task.construct_compilable(False)

    def provider(self) -> dict[str, Any]:
        """Return the offset provider."""
        module, _, name = self.offsets.rpartition(".")
        return getattr(importlib.import_module(module), name) if module else {}


def translation(program: Program) -> Any:
    """Return the C++ of a program's IR."""
    return _backend(program).executor.translation(program.form)


def bindings(program: Program) -> Any:
    """Return the C++, with bindings to Python."""
    return _backend(program).executor.bindings(program.form)


def compilation(program: Program) -> bytes:
    """Return GT4Py's record of a library in its cache, pickled; see `load`."""
    return pickle.dumps(_backend(program).executor.compilation(program.form))


def _backend(program: Program) -> Any:
    from gt4py.next import gtfn_cpu

    return program.defined().backend or gtfn_cpu


# DaCe


def parse(program: Program) -> Any:
    """Return a program's SDFG, with a folder of its own: names need not be unique."""
    sdfg = program.defined().to_sdfg()
    sdfg.build_folder = str(Path(".dacecache", str(program)).absolute())
    return sdfg


def optimize(program: Program) -> Any:
    """Return the SDFG after DaCe's own optimisation for CPUs."""
    from dace import DeviceType
    from dace.transformation.auto.auto_optimize import auto_optimize

    return auto_optimize(program.form, DeviceType.CPU)


def build(program: Program) -> str:
    """Return the folder of a library, which `load_precompiled_sdfg` loads."""
    program.form.compile(return_program_handle=False)
    return program.form.build_folder


# Both


def steps(dsl: str, offsets: str = "") -> list[Step]:
    """Return the passes of a compiler, "gt4py" or "dace"."""
    if dsl == "gt4py":
        made = (Lower(offsets), translation, bindings, compilation)
    else:
        made = (parse, optimize, build)
    return [Step(step) for step in made]


def load(program: Program) -> Any:
    """Return what a built program is called by.

    In GT4Py it takes all arguments by position, and `offset_provider`; in DaCe all by
    name.
    """
    if isinstance(program.form, bytes):
        return pickle.loads(program.form).load()
    from dace.codegen.compiler import load_precompiled_sdfg

    return load_precompiled_sdfg(program.form)


def check_installed(dsl: str) -> None:
    """Look at a compiler's version, without importing it.

    Raises:
        SystemExit: It is not installed, or would not keep what workers build.

    Warns:
        AdapterWarning: It is a version that was not tested.
    """
    try:
        version = importlib.metadata.version(dsl)
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit(
            f"'{dsl}' is not installed: pip install 'parpass[{dsl}]'"
        ) from None
    check_version(dsl, version, TESTED[dsl], "its steps may have other names")
    lifetime = os.environ.get("GT4PY_BUILD_CACHE_LIFETIME", "session").lower()
    if dsl == "gt4py" and lifetime != "persistent":
        raise SystemExit(
            "What a worker builds for its session goes when the worker ends: "
            "set GT4PY_BUILD_CACHE_LIFETIME=persistent"
        )


class Told:
    """Prints how far the run is, as often as programs are ready."""

    def __init__(self) -> None:
        self._done = -1

    def __call__(self, now: Progress) -> None:
        """Print it, and what the workers are at."""
        if now.done != self._done:
            self._done = now.done
            at = [f"{one.pass_name} {one.function}" for one in now.workers]
            print(f"{now.seconds:6.1f} s {now.done}/{now.functions}", *at, sep="  ")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the arguments, compile, tell where the time went."""
    parser = argparse.ArgumentParser(description="Compile programs.")
    parser.add_argument("dsl", choices=["gt4py", "dace"])
    parser.add_argument("package", help="a module with programs, or a package of such")
    parser.add_argument(
        "--offsets", default="", help="GT4Py: MODULE.NAME of a provider"
    )
    parser.add_argument("-j", "--workers", type=int)
    parser.add_argument("--skip", action="store_true", help="continue after a failure")
    given = parser.parse_args(arguments)
    check_installed(given.dsl)
    sys.path[:0] = [os.getcwd()]
    try:
        before = find(given.package)
    except ModuleNotFoundError as error:
        parser.error(str(error))
    if not before.functions:
        parser.error(f"there are no programs in the modules of '{given.package}'")
    with tempfile.TemporaryDirectory() as folder:
        if given.dsl == "gt4py":  # which makes folders that go when a process exits
            os.environ["TMPDIR"] = folder  # and workers do not wait for that
        parpass.run_pipeline_sync(
            before,
            steps(given.dsl, given.offsets),
            workers=given.workers,
            isolated=given.workers != 0,
            on_failure="skip" if given.skip else None,
            progress=Told(),
            report=print,
        )


if __name__ == "__main__":
    main()
