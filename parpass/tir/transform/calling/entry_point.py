"""What a function needs, to be called by what is no loop program."""

from __future__ import annotations

from parpass.errors import IRError
from parpass.runtime.devices import device
from parpass.tir.analysis.definitions import undefined_vars
from parpass.tir.function import PrimFunc
from parpass.tir.packed_abi import CallingConv


def has_default_convention(func: PrimFunc) -> bool:
    """Return whether nobody has said yet how a function is called."""
    found = func.attributes.get("calling_conv", CallingConv.DEFAULT)
    return found == CallingConv.DEFAULT


def symbol_and_device(func: PrimFunc, pass_name: str) -> tuple[str, int]:
    """Return the name by which others call a function, and DLPack's kind of device.

    Raises:
        IRError: An attribute that says so is missing, or it is for another device than
            the processor.
    """
    attrs = func.attributes
    for key in ("global_symbol", "target"):
        if key not in attrs:
            wanted = (
                "Expect PrimFunc to have the global_symbol attribute"
                if key == "global_symbol"
                else "Require the target attribute"
            )
            raise IRError(
                f"{pass_name}: {wanted}, got {sorted(attrs) or 'none'}; give it by "
                f"func.with_attr('{key}', ...)"
            )
    return str(attrs["global_symbol"]), device(str(attrs["target"])).device_type


def check_all_bound(func: PrimFunc) -> None:
    """Check that a function uses no variables but those that it binds.

    Raises:
        IRError: It does.
    """
    names = ", ".join(f"'{var.name}'" for var in undefined_vars(func))
    if names:
        raise IRError(
            f"Not all Vars are passed in api_args: {names} is not bound to any "
            "variables; expected it to be a parameter, or to be declared by a buffer"
        )
