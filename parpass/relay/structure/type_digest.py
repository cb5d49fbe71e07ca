"""A digest of a type's structure: two types are equal exactly if their digests are.

It is found once for each object, so that a type is compared in a moment however often
its parts are shared.
"""

from __future__ import annotations

import hashlib

from parpass.relay.ty import FuncType, TensorType, TupleType, Type, TypeVar, extent


def digest(typ: Type) -> bytes:
    """Return the digest of a type.

    It is the same in every process where no part is left open; an `IncompleteType` is
    equal only to itself.
    """
    if not isinstance(typ, TupleType | FuncType):
        return _of_leaf(typ)
    found: bytes | None = vars(typ).get("digest")
    if found is None:
        kind, parts = type(typ).__name__, [digest(part) for part in _parts(typ)]
        form = repr((kind, _kinds_of_params(typ), parts)).encode()
        found = hashlib.blake2b(form, digest_size=16).digest()
        vars(typ)["digest"] = found
    return found


def _of_leaf(typ: Type) -> bytes:
    if isinstance(typ, TensorType):
        return repr((typ.shape, typ.dtype)).encode()
    if isinstance(typ, TypeVar):
        return repr(("TypeVar", typ.name_hint, int(typ.kind))).encode()
    return f"{type(typ).__name__} {id(typ)}".encode()  # it lives as long as the whole


def _kinds_of_params(typ: Type) -> list[int]:
    return [int(it.kind) for it in typ.type_params] if isinstance(typ, FuncType) else []


def _parts(typ: Type) -> tuple[Type, ...]:
    """Return the parts, with names for type parameters that do not depend on theirs.

    The name says how deep the function type is that binds it, which is deeper than any
    that binds another one further in.
    """
    if not isinstance(typ, FuncType) or not typ.type_params:
        return typ.parts
    depth = extent(typ).depth
    names = [TypeVar(f"\0{depth}.{at}") for at in range(len(typ.type_params))]
    return typ.instantiated(names).parts
