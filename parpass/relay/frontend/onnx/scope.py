"""What the names of a graph stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import onnx

from parpass.errors import FrontendError, MalformedModelError
from parpass.relay.expr import Constant, Expr, const
from parpass.relay.frontend.onnx.model import graphs_of
from parpass.relay.frontend.onnx.tensor_proto import array_of


class Scope:
    """The values of one graph, or of one function's body, by their names.

    Args:
        source: The name of the model.
        nodes: The nodes that will define further values, in their order.
        results: The names that the graph gives out.
        opsets: The versions of the operators by domain.
        tensors: The initializers.
        outer: The scope around this one, whose names can be read in it, too.
    """

    def __init__(
        self,
        source: str,
        nodes: Iterable[onnx.NodeProto],
        results: Iterable[str],
        opsets: Mapping[str, int],
        *,
        tensors: Iterable[onnx.TensorProto] = (),
        outer: Scope | None = None,
    ) -> None:
        self.opsets = opsets
        self._source = source
        self._nodes = list(nodes)
        self._results = tuple(results)
        self._outer = outer
        self._values: dict[str, Expr | None] = {}
        self._tensors = {one.name: one for one in tensors}
        self.read = {*_names_read(self._nodes), *self._results}

    def is_known_before(self, name: str) -> bool:
        """Return whether a name has an initializer, and so is no parameter."""
        return name in self._tensors

    def define(self, name: str, value: Expr | None, place: str) -> None:
        """Give a name its value; None for an input that is left out.

        Raises:
            MalformedModelError: The name has one already.
        """
        if name in self._values or name in self._tensors:
            raise MalformedModelError(
                f"{place}: '{name}' is defined twice", source=self._source
            )
        self._values[name] = value

    def value(self, name: str, place: str) -> Expr | None:
        """Return what a name stands for.

        Raises:
            MalformedModelError: Nothing defines it, or only a later node does.
        """
        if name in self._values:
            return self._values[name]
        if name in self._tensors:
            found = const(array_of(self._tensors[name], place, self._source))
            self._values[name] = found
            return found
        later = any(name in node.output for node in self._nodes)
        if self._outer is not None and not later:
            return self._outer.value(name, place)
        what = "that only a later node defines" if later else "that nothing defines"
        raise MalformedModelError(
            f"{place}: it reads '{name}', {what}", source=self._source
        )

    def weights(self) -> dict[str, Constant]:
        """Return the initializers that were read, by name, in the model's order."""
        found = {name: self._values.get(name) for name in self._tensors}
        return {k: one for k, one in found.items() if isinstance(one, Constant)}

    def result(self, name: str, place: str) -> Expr:
        """Return what a name that is given out stands for.

        Raises:
            FrontendError: It is an input that is left out.
        """
        found = self.value(name, place)
        if found is None:
            raise FrontendError(
                f"{place}: its result '{name}' is an input that is left out",
                source=self._source,
            )
        return found

    def results(self, place: str) -> list[Expr]:
        """Return all that the graph gives out."""
        return [self.result(name, place) for name in self._results]


def _names_read(nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
    """Yield the names that nodes read, and the graphs inside of them."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield from node.input
        for graph in graphs_of(node):
            yield from (output.name for output in graph.output)
            waiting += graph.node
