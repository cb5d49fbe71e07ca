"""What a C program includes to call a network that was built with an AOT main."""

from __future__ import annotations

import re
from collections.abc import Iterator

from parpass.errors import ArgumentError
from parpass.runtime.library_file import LibraryImage, places_of, weights_begin
from parpass.runtime.signature import Parameter

_TYPES = {
    "bfloat16": "uint16_t",
    "bool": "uint8_t",
    "float16": "uint16_t",
    "float32": "float",
    "float64": "double",
}
_KEYWORDS = {  # of C11 and C++, those that names of inputs might be
    *("auto", "bool", "break", "case", "char", "class", "const", "continue", "default"),
    *("delete", "do", "double", "else", "enum", "extern", "float", "for", "goto", "if"),
    *("inline", "int", "long", "new", "operator", "private", "public", "register"),
    *("return", "short", "signed", "sizeof", "static", "struct", "switch", "template"),
    *("this", "typedef", "union", "unsigned", "using", "virtual", "void", "volatile"),
    *("while",),
}

_FORM = """\
/* How to call the network '{name}' of a library that parpass has made.

   The function returns 0, or the number of the kernel that found a fault. `weights`
   points to what is in the library's file from {upper}_WEIGHTS_AT on, `workspace` to
   memory of its own, at a multiple of 64. It may be called by several threads, each
   with another workspace. */
#ifndef {upper}_H
#define {upper}_H

#include <stdint.h>

#define {upper}_WEIGHTS_AT {begin} /* bytes, a multiple of 4096 */
#define {upper}_WEIGHTS_SIZE {size} /* bytes */
#define {upper}_WORKSPACE_SIZE {workspace} /* bytes */
{counts}

#ifdef __cplusplus
extern "C" {{
#endif

int32_t {symbol}(
{parameters});

#ifdef __cplusplus
}}
#endif

#endif
"""


def c_header(image: LibraryImage) -> str:
    """Return the header for a library.

    Raises:
        ArgumentError: It was not built for C.
    """
    name = image.manifest.module_name
    signature = image.manifest.functions.get(f"{name}_run")
    if signature is None:
        raise ArgumentError(
            "the library has no function that C calls; build it by relay.build(mod, "
            "executor='aot')"
        )
    *tensors, weights, workspace = zip(
        signature.parameters, _names(signature.parameters), strict=True
    )
    upper = name.upper()
    counts = [
        f"#define {upper}_{called.upper()}_COUNT {_count(one)} /* {_shape(one)} */"
        for one, called in tensors
    ]
    return _FORM.format(
        name=name,
        upper=upper,
        symbol=signature.symbol,
        begin=weights_begin(image),
        size=places_of(image.weights)[1],
        workspace=_count(workspace[0]),
        counts="\n".join(counts),
        parameters=",\n".join(
            f"    {_type(one)} *{called}"
            for one, called in (*tensors, weights, workspace)
        ),
    )


def _names(parameters: tuple[Parameter, ...]) -> Iterator[str]:
    """Yield names that C takes, each another one."""
    taken: set[str] = set()
    for one in parameters:
        name = re.sub(r"\W", "_", one.name, flags=re.ASCII)
        if name[:1].isdigit() or name in _KEYWORDS:
            name = f"_{name}"
        while name in taken:
            name = f"{name}_"
        taken.add(name)
        yield name


def _type(one: Parameter) -> str:
    kind = _TYPES.get(one.dtype, f"{one.dtype}_t")
    return kind if one.is_written else f"const {kind}"


def _count(one: Parameter) -> int:
    found = 1
    for dim in one.shape or ():
        assert isinstance(dim, int)  # the graph's shapes are known
        found *= dim
    return found


def _shape(one: Parameter) -> str:
    return " x ".join(map(str, one.shape or ())) or "a scalar"
