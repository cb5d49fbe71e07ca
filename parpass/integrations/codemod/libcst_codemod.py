"""Codemods of LibCST: `Codemod` with its commands, and plain `CSTTransformer`s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import libcst
from libcst.codemod import Codemod, CodemodContext, SkipFile
from libcst.metadata import MetadataWrapper

from parpass.errors import ArgumentError
from parpass.integrations.codemod.source_file import SourceFile
from parpass.integrations.codemod.text_codemod import Made
from parpass.spi import check_version

_TESTED = "1.5.*", "1.6.*", "1.7.*", "1.8.*", "1.9.*"


class LibCSTCodemod:
    """Runs a class of LibCST's on each file, an instance of its own for each.

    Args:
        kind: A subclass of `Codemod`, which is given the context and the arguments, or
            of `CSTTransformer`, which is given the arguments.
        arguments: Keyword arguments for it.
        python_version: The version that files are parsed as, such as "3.8"; None for
            the one that runs.

    Raises:
        ArgumentError: It wants metadata of the whole project; or this is no version.
    """

    def __init__(
        self,
        kind: type[Codemod | libcst.CSTTransformer],
        arguments: Mapping[str, Any],
        python_version: str | None,
    ) -> None:
        wanted = _dependencies(kind)
        for provider in wanted:
            if provider.gen_cache is not None:
                raise ArgumentError(
                    f"codemod '{kind.__qualname__}' wants {provider.__name__}, which "
                    "LibCST computes from the whole project: run it by 'python -m "
                    "libcst.tool codemod'"
                )
        check_version(
            "libcst",
            libcst.LIBCST_VERSION,
            _TESTED,
            "files may come out otherwise than by LibCST's own command",
        )
        self.kind = kind
        self.wants_metadata = bool(wanted)
        self.arguments = dict(arguments)
        try:
            self.config = (
                libcst.PartialParserConfig()
                if python_version is None
                else libcst.PartialParserConfig(python_version=python_version)
            )
        except ValueError as error:
            raise ArgumentError(f"python_version={python_version!r}: {error}") from None

    def __call__(self, file: SourceFile) -> Made:
        """Return what the codemod makes of a file.

        What it leaves unchanged keeps its bytes, those that LibCST would lose, too,
        such as a form feed at the beginning.

        Raises:
            Exception: Of the parser, of the codemod; or what it made has characters
                that the file's encoding has not.
        """
        tree = libcst.parse_module(file.data, self.config)
        if not issubclass(self.kind, Codemod):
            transformer = self.kind(**self.arguments)
            if self.wants_metadata:
                new = MetadataWrapper(tree).visit(transformer)
            else:
                new = tree.visit(transformer)
            return _made(file, tree, new, ())
        context = CodemodContext(
            filename=file.filename,
            full_module_name=file.module,
            full_package_name=file.package,
        )
        codemod = self.kind(context, **self.arguments)
        try:
            new = codemod.transform_module(tree)
        except SkipFile as skip:
            warnings = tuple(codemod.context.warnings)
            return Made(file.data, warnings, str(skip) or "the codemod skipped it")
        return _made(file, tree, new, tuple(codemod.context.warnings))


def _dependencies(kind: type[libcst.MetadataDependent]) -> set[Any]:
    """Return the metadata that a class and its bases want.

    LibCST's `get_inherited_dependencies` remembers the answer for a class in a way that
    its subclasses have it, too, whatever they want.
    """
    bases = (one for one in kind.__mro__ if issubclass(one, libcst.MetadataDependent))
    return {provider for one in bases for provider in one.METADATA_DEPENDENCIES}


def _made(
    file: SourceFile, tree: libcst.Module, new: Any, warnings: tuple[str, ...]
) -> Made:
    if not isinstance(new, libcst.Module):
        raise TypeError(f"expected a Module, got {type(new).__name__}")
    data = new.bytes
    if data != file.data and data == tree.bytes:
        data = file.data
    return Made(data, warnings)
