"""Variables stay themselves on their way between processes.

What a variable means is which object it is: a function may use one that it does not
bind, and a pass may hold one of the program that it rewrites. So a variable is pickled
with a token, by which the process that it comes from, or that it has been to, finds it
again; anywhere else it is a new one. Nothing is kept of a variable that is gone.
"""

from __future__ import annotations

import itertools
import os
import secrets
import threading
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

Token = tuple[bytes, int]

_tokens: WeakKeyDictionary[Any, Token] = WeakKeyDictionary()
_known: WeakValueDictionary[Token, Any] = WeakValueDictionary()
_numbers = itertools.count()


class _Origin:
    """The word for this process, and who may add a token.

    A process that was forked from it has another word, and a lock that nobody holds.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.word = secrets.token_bytes(8)
        # Again by who holds it: a weak reference may be cleared meanwhile.
        self.lock = threading.RLock()


_origin = _Origin()
if hasattr(os, "register_at_fork"):  # elsewhere nothing forks
    os.register_at_fork(after_in_child=_origin.renew)


def token_of(node: Any) -> Token:
    """Return what stands for an object in bytes, always the same."""
    token = _tokens.get(node)
    if token is None:
        with _origin.lock:
            token = _tokens.get(node)
            if token is None:
                token = (_origin.word, next(_numbers))
                _known[token] = node
                _tokens[node] = token
    return token


def restored(token: Token, kind: type[Any], fields: tuple[Any, ...]) -> Any:
    """Return the object of a token, made of its fields where it is not known."""
    found = _known.get(token)
    if found is None:
        with _origin.lock:
            found = _known.get(token)
            if found is None:
                found = kind(*fields)
                _known[token] = found
                _tokens[found] = token
    return found
