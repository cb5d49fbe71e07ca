"""The pass classes: Pass, ModulePass, FunctionPass, Sequential.

Calling a pass on a module runs it in this process, now, under the current context. A
parallel run means the same (see `plan`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal, TypeVar, cast

from parpass.errors import ArgumentError
from parpass.errors.tracebacks import fold_traceback
from parpass.limits import PassLimits
from parpass.transform.analysis import Analysis, check_preserved
from parpass.transform.context import PassContext, in_force
from parpass.transform.pass_info import PassInfo, checked_names, is_restoring

_run_call: Callable[[Pass, Any], Any]


def set_call_driver(driver: Callable[[Pass, Any], Any]) -> None:
    """Set the driver that runs passes when they are called; it imports this module."""
    global _run_call
    _run_call = driver


ModT = TypeVar("ModT")


class Pass:
    """The base class of passes.

    A subclass sets `pass_info` and keeps its options as attributes. Keep no state
    between runs: attributes that a function pass sets in a worker do not come back.
    """

    pass_info: PassInfo

    # What made it, if that is not its class, and is registered in its place: then the
    # options in pipeline text are the arguments of that. See `register_pass`.
    factory: Callable[..., Any] | None = None

    # How a pipeline runs it; overridden by the kinds of passes below.
    is_functionwise: ClassVar[bool] = False

    # Whether its time on a function is about proportional to the function's size. If
    # not, as for compiling, the workers' times are not compared with an estimate.
    cost_follows_size: ClassVar[bool] = True

    # The analyses that are the same after it, of whatever it changes (see `analysis`).
    preserves: Collection[Analysis] = ()

    # Whether what it makes of a function depends on its arguments, options and code
    # alone, so that a function cache may keep it. A version, such as "1", stands for
    # the code. Each class says it for itself: one that extends it does something else.
    cacheable: bool | str = False

    # Which functions it sees, if it works function by function and modules hold several
    # kinds: those of which the adapter says the same. For Relay's the word is empty.
    function_kind: str = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "preserves" in vars(cls):
            check_preserved(
                cls.preserves, cls.__qualname__, functionwise=cls.is_functionwise
            )
        check_cacheable(vars(cls).get("cacheable", False), cls.__qualname__)
        check_where(vars(cls).get("where"), cls.__qualname__)

    @property
    def info(self) -> PassInfo:
        """The name, level and requirements of this pass.

        Raises:
            ArgumentError: The pass has no `pass_info`, or it is not a `PassInfo`.
        """
        info: object = getattr(self, "pass_info", None)
        if isinstance(info, PassInfo):
            return info
        name = type(self).__qualname__
        raise ArgumentError(
            f"expected a PassInfo for attribute 'pass_info' of pass class '{name}', "
            f"got {info!r}; write pass_info = PassInfo(opt_level=0, name={name!r})"
        )

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as `other`."""
        return self is other

    def __call__(self, mod: ModT, /) -> ModT:
        """Run the pass on a module in this process and return the new module.

        Called on an expression, as passes once were, it gives an expression back.
        """
        try:
            return _run_call(self, mod)
        except BaseException as error:
            fold_traceback(error)
            raise

    def __str__(self) -> str:
        kind = next(
            (word for base, word in _KIND_WORDS if isinstance(self, base)), "Pass"
        )
        info = self.info
        return (
            f"Run {kind} pass: {info.name} at the optimization level {info.opt_level}"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.info!r}>"

    def _repr_html_(self) -> str:
        from parpass.notebook_html import item  # in notebooks alone

        options = [f"{name}={value!r}" for name, value in _changed_options(self)]
        detail = [f"level {self.info.opt_level}", *options]
        return item(self.info.name, ", ".join(detail))


def check_cacheable(value: object, name: str) -> None:
    if not isinstance(value, bool | str) or value == "":
        raise ArgumentError(
            f"expected True, False or a version such as '1' for cacheable of pass "
            f"'{name}', got {value!r}"
        )


def check_where(value: object, name: str) -> None:
    """Check what a pass declares as `where`.

    Raises:
        ArgumentError: It is neither None nor a place.
    """
    if value not in (None, "workers", "here"):
        raise ArgumentError(
            f"expected 'workers', 'here' or None for where of pass '{name}', got "
            f"{value!r}"
        )


def declared_where(step: Pass) -> Literal["workers", "here"] | None:
    """Return where a pass says that it runs, if it says so.

    Raises:
        ArgumentError: It says something else.
    """
    value = declared(step, "where").get("where")
    check_where(value, step.info.name)
    return value


def declared_cacheable(step: Pass) -> bool | str:
    """Return what a pass declares as `cacheable`: itself, or its own class."""
    own = vars(step)
    if "cacheable" in own:
        return cast("bool | str", own["cacheable"])
    return cast("bool | str", vars(type(step)).get("cacheable", False))


def holders_of(step: object) -> list[Any]:
    """Return a pass and the objects that it wraps, the outermost first.

    A pass of a decorated class wraps an instance of it, and one that changes only some
    functions another pass.
    """
    found: list[Any] = []
    inner: Any = step
    while inner is not None:
        found.append(inner)
        inner = getattr(inner, "_inst", None) if isinstance(inner, Pass) else None
    return found


def step_names(steps: Iterable[Pass]) -> list[str]:
    return [step.info.name for step in steps]


def declared(step: object, *names: str) -> dict[str, Any]:
    """Return by name the attributes that a pass, or what it wraps, sets to a value."""
    found: dict[str, Any] = {}
    for holder in reversed(holders_of(step)):
        for name in names:
            value = getattr(holder, name, None)
            if value is not None:
                found[name] = value
    return found


class ModulePass(Pass):
    """A pass that sees the whole module; it may add and remove functions.

    Module passes run one at a time, in the caller's process, and are barriers.
    """

    def transform_module(self, mod: Any, ctx: PassContext) -> Any:
        """Return the new module; it may be `mod` itself. May be `async`."""
        raise NotImplementedError(
            f"module pass '{self.info.name}' has no transform_module(self, mod, ctx)"
        )


class _Functionwise(Pass, PassLimits):
    is_functionwise = True

    # What to do if it fails on a function (see `budget`), set as a limit is.
    on_failure: str | None = None

    # Where it runs if there are workers, whatever it costs: in "workers", or "here", in
    # the process of the caller. None: where it is done soonest. What that means for
    # passes beside it, and with limits, is said in `runner.placement`.
    where: Literal["workers", "here"] | None = None

    def transform_function(self, func: Any, mod: Any, ctx: PassContext) -> Any:
        """Return the new function; the very same object if nothing changed.

        Args:
            func: The function.
            mod: The module as it stood when the pass began, to be read only.
            ctx: The settings in force.
        """
        raise NotImplementedError(
            f"pass '{self.info.name}' has no transform_function(self, func, mod, ctx)"
        )


class FunctionPass(_Functionwise):
    """A pass that sees one function at a time, so that many can run at once.

    It sees functions of one kind, `function_kind`, and skips those that the IR marks as
    not to be optimised. The IR's restoring pass runs after it: in Relay, InferType.
    """


def restoring_after(pass_: Pass, restoring: Pass | None) -> Pass | None:
    """Return the restoring pass of an IR if it runs after a pass, else None."""
    if isinstance(pass_, FunctionPass) and not is_restoring(pass_, restoring):
        return restoring
    return None


class FunctionwisePass(ModulePass, _Functionwise):
    """A module pass that performs one independent step on each function.

    It runs in parallel like a function pass, but on all functions of its kind, and
    without the restoring pass after it. Relay's InferType is one.
    """

    is_functionwise = True

    def transform_module(self, mod: Any, ctx: PassContext) -> Any:
        """Return the new module: call this pass on `mod` under these settings."""
        with in_force(ctx):
            return self(mod)


class Sequential(Pass):
    """A sequence of passes that is itself a pass.

    It asks the current context which of its direct children are enabled, and runs an
    enabled child's requirements before it.

    Args:
        passes: The passes.
        opt_level: Its own level, which applies if it is nested in another Sequential.
        name: Its name.
        required: Names of passes to run before it, if it is nested.

    Raises:
        ArgumentError: `passes` is not a list, or contains something that is not a pass.
    """

    def __init__(
        self,
        passes: Sequence[Pass | None] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
    ) -> None:
        if passes and not isinstance(cast("object", passes), list | tuple):
            raise ArgumentError(
                f"expected a list of passes for '{name}', got {passes!r}"
            )
        for item in passes or ():
            if item is not None and not isinstance(cast("object", item), Pass):
                raise ArgumentError(
                    f"expected passes in '{name}', got {item!r}; decorate a function "
                    "with @module_pass or @function_pass to make it one"
                )
        self.passes: tuple[Pass | None, ...] = tuple(passes or ())
        self.pass_info = PassInfo(
            opt_level, name, required_names(required, name) if required else ()
        )

    def _repr_html_(self) -> str:
        from parpass.notebook_html import item  # in notebooks alone

        inside = [one._repr_html_() for one in self.passes if one is not None]
        return item(self.info.name, f"level {self.info.opt_level}", inside)

    def __str__(self) -> str:
        listed = "".join(f"{p.info.name} " for p in self.passes if p is not None)
        return f"{super().__str__()}. The passes will be executed are: [{listed}]"


def flat_passes(root: Pass) -> Iterator[Pass]:
    """Yield a pass and those that it consists of, outer ones first."""
    yield root
    for one in root.passes if isinstance(root, Sequential) else ():
        if one is not None:
            yield from flat_passes(one)


def _changed_options(pass_: Pass) -> list[tuple[str, Any]]:
    """Return the options of a pass that are not at their defaults, with their values.

    Options are constructor arguments that are kept as attributes of their names.
    """
    if hasattr(pass_, "pass_func"):  # made by a decorator from a plain function
        return []
    import inspect  # it takes long to load

    found: list[tuple[str, Any]] = []
    for name, parameter in inspect.signature(type(pass_)).parameters.items():
        value = getattr(pass_, name, parameter.default)
        if value is not parameter.default and repr(value) != repr(parameter.default):
            found.append((name, value))
    return found


_KIND_WORDS: tuple[tuple[type[Pass], str], ...] = (
    (Sequential, "Sequential"),
    (ModulePass, "Module"),
    (FunctionPass, "Function"),
)


def required_names(required: Iterable[str], pass_name: str) -> tuple[str, ...]:
    """Return the `required` argument of a pass, which must be a list or a tuple."""
    if not isinstance(required, list | tuple):
        raise ArgumentError(
            f"expected a list or a tuple of names for required of pass '{pass_name}', "
            f"got {required!r}"
        )
    return checked_names(cast("list[str]", required), "required")
