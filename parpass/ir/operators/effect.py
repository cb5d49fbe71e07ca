"""What an operator does besides giving a result, and where programs may call it.

This is the one statement of it; `Op.effect` has the kind, `relay.analysis.Effects`
tells it of whole expressions, and every shipped pass asks there.

A call with an effect may stand wherever a value may, if all its uses are in one block:
the body of a function, a branch of an `if`, or a clause of a match. It happens once
whenever its block is evaluated. What several blocks use is bound by a `let` around
them.

Of references, that one is created, and what one has, is READS: a new one is another one
each time, and what it has depends on who wrote. Giving it another value is WRITES.

`let` orders effects: those of its value come before those of its body. Where no `let`
orders two effects, any order is right. That an evaluation fails, or does not end, is no
effect.
"""

from __future__ import annotations

import enum


class Effect(enum.IntEnum):
    """What a call does besides giving a result; a greater one forbids more.

    TVM's `TOpIsStateful` is true of all but PURE.
    """

    PURE = 0
    """Nothing, and the same arguments give the same result.

    Such a call may be computed ahead, merged with an equal one, copied, moved, dropped.
    """
    READS = 1
    """Its result depends on more than its arguments: a clock, what others write, noise.

    It may be dropped where nobody uses its result, and nothing else.
    """
    WRITES = 2
    """Others see that it ran, such as those that draw from the same generator.

    It stays where it is, and happens as often as it does.
    """
