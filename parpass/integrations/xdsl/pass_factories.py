"""Passes of xDSL by their names, for pipelines in text; each loads when it is used."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from typing import Any, TypeVar

from xdsl.passes import ModulePass as XDSLPass

from parpass.integrations.xdsl.context_spec import universe
from parpass.integrations.xdsl.xdsl_passes import pass_of
from parpass.transform import Pass, register_pass, registered_passes

KindT = TypeVar("KindT", bound=type[XDSLPass])


class PassFactory:
    """Makes a pass of xDSL.

    Args:
        kind: The pass's class, or its name in xDSL's universe.
    """

    def __init__(self, kind: type[XDSLPass] | str) -> None:
        self._kind, name = kind, kind if isinstance(kind, str) else kind.name
        if not isinstance(kind, str):
            self.__module__ = kind.__module__  # where reproducers find the pass
        self.__doc__ = f"The pass '{name}' of xDSL, with its options."

    @property
    def kind(self) -> type[XDSLPass]:
        """The pass's class."""
        if isinstance(self._kind, str):
            self._kind = universe().all_passes[self._kind]()
        return self._kind

    @property
    def __signature__(self) -> inspect.Signature:
        """Its options: the fields of the class."""
        kinds = typing.get_type_hints(self.kind)
        fields = [one for one in dataclasses.fields(self.kind) if one.init]
        return inspect.Signature(
            [
                inspect.Parameter(
                    one.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=_default(one),
                    annotation=kinds[one.name],
                )
                for one in fields
            ]
        )

    def __call__(self, **options: Any) -> Pass:
        """Return the pass with these options."""
        made = pass_of(self.kind(**options))
        made.factory = self
        return made


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return inspect.Parameter.empty


def register_xdsl_pass(kind: KindT) -> KindT:
    """Register a pass of xDSL by its name, for pipeline text; a decorator.

    Passes of xDSL's universe, including plug-ins, need not be registered.

    Raises:
        ArgumentError: The name is taken.
    """
    register_pass(f"xdsl.{kind.name}")(PassFactory(kind))
    return kind


def printable(xdsl_pass: XDSLPass) -> Pass:
    """Return a pass of xDSL as one that pipelines in text can name, if it is known."""
    made, kind = pass_of(xdsl_pass), type(xdsl_pass)
    known = registered_passes().get(kind.name)
    if isinstance(known, PassFactory) and known.kind is kind:
        made.factory = known
    return made


for _name in universe().all_passes:
    register_pass(f"xdsl.{_name}")(PassFactory(_name))
