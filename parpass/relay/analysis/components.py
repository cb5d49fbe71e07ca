"""Strongly connected components of a graph, such as that of calls between functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

NameT = TypeVar("NameT")


def strong_components(edges: Mapping[NameT, Sequence[NameT]]) -> list[list[NameT]]:
    """Return the components, each after those that it has edges to.

    The algorithm is Tarjan's, on an explicit stack; it is linear.

    Args:
        edges: For each node the nodes that it has edges to, which are keys too.
    """
    index: dict[NameT, int] = {}
    lowest: dict[NameT, int] = {}  # of the nodes whose component is not complete
    path: list[NameT] = []
    found: list[list[NameT]] = []
    for root in edges:
        if root in index:
            continue
        visiting: list[tuple[NameT, Iterator[NameT]]] = []
        _enter(root, edges, index, lowest, path, visiting)
        while visiting:
            node, below = visiting[-1]
            for child in below:
                if child not in index:
                    _enter(child, edges, index, lowest, path, visiting)
                    break
                if child in lowest:
                    lowest[node] = min(lowest[node], index[child])
            else:
                visiting.pop()
                if visiting:
                    around, _ = visiting[-1]
                    lowest[around] = min(lowest[around], lowest[node])
                if lowest[node] == index[node]:
                    found.append(_completed(node, path, lowest))
    return found


def _enter(
    node: NameT,
    edges: Mapping[NameT, Sequence[NameT]],
    index: dict[NameT, int],
    lowest: dict[NameT, int],
    path: list[NameT],
    visiting: list[tuple[NameT, Iterator[NameT]]],
) -> None:
    index[node] = lowest[node] = len(index)
    path.append(node)
    visiting.append((node, iter(edges[node])))


def _completed(root: NameT, path: list[NameT], lowest: dict[NameT, int]) -> list[NameT]:
    """Take the component that begins with `root` off the path."""
    members: list[NameT] = []
    while not members or members[-1] != root:
        members.append(path.pop())
        del lowest[members[-1]]
    return members[::-1]
