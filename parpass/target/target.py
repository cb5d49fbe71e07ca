"""`Target`: the machine that code is made for, under TVM's names."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple, Self

from parpass.errors import TargetError
from parpass.errors.core import did_you_mean, quoted
from parpass.runner import propagate
from parpass.runtime.cpu_features import FEATURES, architecture, host_features
from parpass.target.target_parser import (
    CPUS,
    KINDS,
    read_target,
    with_all_that_they_need,
    without,
)

_SYSTEMS = {"Darwin": "apple-darwin", "Windows": "pc-windows-msvc"}


class TargetKind(NamedTuple):
    """The kind of machine of a target; TVM has more kinds than `llvm`."""

    name: str


class Target:
    """A machine to generate code for.

    ::

        Target("llvm")                        # this machine, with all that it has
        Target("llvm -mcpu=x86-64-v3")        # any of a level, by name
        Target("llvm -mattr=+avx2,+fma")      # any with these features
        Target({"kind": "llvm", "mcpu": "haswell"})

    `with Target("llvm -mcpu=haswell"):` makes it the current target, here and in the
    workers of a run.

    Args:
        target: Its text, TVM's mapping or its JSON text, or a target.
        host: The machine that calls its code; for a processor, itself.

    Attributes:
        kind: Its kind: `llvm`.
        attrs: The given attributes by name, sorted: `mcpu`, `mattr` and so on.
        host: The machine that calls its code, if given.

    Raises:
        TargetError: The target is unknown, or is for another kind of machine.
    """

    __slots__ = ("attrs", "host", "kind")

    def __init__(
        self,
        target: str | Mapping[str, Any] | Target,
        host: str | Mapping[str, Any] | Target | None = None,
    ) -> None:
        said = read_target(target.export() if isinstance(target, Target) else target)
        self.kind = TargetKind(said.kind)
        self.attrs: dict[str, Any] = dict(sorted(said.options.items()))
        host = said.host if host is None else host
        self.host = None if host is None else Target(host)
        self.features()  # names that are not known are refused now

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the target, from special to general: `cpu` comes last."""
        given = self.attrs.get("keys", ())
        return (*given, *({"cpu"} - {*given}))

    @property
    def mcpu(self) -> str:
        """The processor's name; empty if not given."""
        return self.attrs.get("mcpu", "")

    @property
    def mattr(self) -> list[str]:
        """The features, each with a sign in front; empty if not given."""
        return list(self.attrs.get("mattr", ()))

    @property
    def model(self) -> str:
        """The machine's name; `unknown` if not given."""
        return self.attrs.get("model", "unknown")

    @property
    def device_name(self) -> str:
        """The value of `-device`, a word for tables of schedules."""
        return self.attrs.get("device", "")

    @property
    def libs(self) -> list[str]:
        """The given libraries; none of them is used."""
        return list(self.attrs.get("libs", ()))

    @property
    def is_host(self) -> bool:
        """Whether the target is this machine, because no machine is given."""
        return not {"mcpu", "mattr", "mtriple"} & self.attrs.keys()

    @property
    def triple(self) -> str:
        """The machine's architecture, vendor and system, as LLVM writes them."""
        return self.attrs.get("mtriple") or _host_triple()

    @property
    def architecture(self) -> str:
        """The first of these, such as `x86_64`."""
        return self.triple.split("-")[0]

    @property
    def system(self) -> str:
        """The system's name: `linux`, `darwin`, `windows`, or as the triple has it."""
        known = ("linux", "darwin", "windows")
        named = (one for one in known if one in self.triple)
        return next(named, self.triple.split("-")[-1])

    def features(self) -> tuple[str, ...]:
        """Return the features beyond the architecture's baseline, sorted.

        Raises:
            TargetError: A processor or a feature is unknown.
        """
        known = FEATURES.get(self.architecture, {})
        found = host_features() if self.is_host else self._features_of_cpu()
        for one in self.mattr:
            sign, name = one[:1], one[1:]
            if sign not in "+-" or name not in known:
                raise TargetError(
                    f"expected features of {self.architecture} for mattr, each after a "
                    f"sign, such as '+avx2', got '{one}'{did_you_mean(name, known)}"
                )
            found = found | {name} if sign == "+" else without(found, name)
        return tuple(sorted(with_all_that_they_need(found)))

    def _features_of_cpu(self) -> frozenset[str]:
        known = CPUS.get(self.architecture, {"generic": ()})
        name = self.mcpu or "generic"
        if name == "native":
            return host_features()
        if name not in known:
            raise TargetError(
                f"no processor of {self.architecture} named '{name}'"
                f"{did_you_mean(name, known)}; there are {quoted(known)}, 'native', "
                "and features by name in mattr"
            )
        return frozenset(known[name])

    def resolved(self) -> Target:
        """Return this target with the triple and every feature spelled out.

        Compiling for it gives the same result on every machine.
        """
        mattr = [f"+{name}" for name in self.features()]
        said = {**self.attrs, "mattr": mattr, "mtriple": self.triple}
        said.pop("mcpu", None)
        return Target({"kind": self.kind.name, **said})

    def export(self) -> dict[str, Any]:
        """Return the mapping that makes an equal target, as TVM writes it to JSON."""
        found: dict[str, Any] = {"kind": self.kind.name, "tag": ""}
        found |= {
            name: value if isinstance(value, str) else list(value)
            for name, value in self.attrs.items()
        }
        found["keys"] = list(self.keys)
        if self.host is not None:
            found["host"] = self.host.export()
        return found

    def as_attribute(self) -> str:
        """Return the target as functions and modules store it: as text."""
        return str(self)

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Return the innermost target that was entered here.

        Raises:
            TargetError: There is none, and `allow_none` is False.
        """
        active = _active.get()
        if not active and not allow_none:
            raise TargetError(
                "expected a current target, there is none; `with Target('llvm'):` "
                "makes one so"
            )
        return active[-1] if active else None

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as `other`."""
        return self is other

    def __enter__(self) -> Self:
        _active.set((*_active.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        active = _active.get()
        if not active or active[-1] is not self:
            raise TargetError(
                "targets must be left in the reverse order of entering; leaving "
                f"'{self}', which is not the current one"
            )
        _active.set(active[:-1])

    def __reduce__(self) -> tuple[Any, ...]:
        return Target, (self.export(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.export() == other.export()

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        said = {"keys": self.keys, **self.attrs}
        return " ".join(
            [self.kind.name, *(f"-{k}={_text(v)}" for k, v in said.items())]
        )

    def __repr__(self) -> str:
        return f"Target('{self}')"


_active: ContextVar[tuple[Target, ...]] = propagate(
    ContextVar("parpass_target", default=())
)


def create(target: str | Mapping[str, Any] | Target) -> Target:
    """Return a target; TVM's original constructor."""
    return Target(target)


def list_kinds() -> list[str]:
    """Return the available kinds of targets."""
    return [*KINDS]


def _host_triple() -> str:
    system = _SYSTEMS.get(platform.system(), "unknown-linux-gnu")
    return f"{architecture()}-{system}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ",".join(value)
