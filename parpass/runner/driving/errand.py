"""A stage with little in it, sent to one worker whole, in one message.

What a stage has besides, a folder, notes of what is worked on, an event loop for the
coordinator, takes ten times as long as a pass on a small function. If anything goes
wrong the stage is run again with all of that, which then tells what it was.
"""

from __future__ import annotations

from parpass.runner.pool.pooled_stage import PooledStage
from parpass.runner.travel.bundles import Packer
from parpass.runner.travel.large_values import NoLargeValues, TooLargeError
from parpass.runner.travel.messages import Errand, pack_message
from parpass.runner.travel.slots import Slot, Slots
from parpass.transform.budget import are_limited

_MOST_FUNCTIONS = 64
_MOST_BYTES = 65_536
_MOST_SECONDS = 0.002  # of work, for one worker, while the others have nothing to do


def may_be_errand(stage: PooledStage) -> bool:
    """Return whether a stage seems to have little in it, before it is packed."""
    return 0 < len(stage.names) <= _MOST_FUNCTIONS and not are_limited(stage.budgets)


def packed_errand(stage: PooledStage) -> bytes | None:
    """Return the message that has a worker run a stage; None if that is not for it.

    Raises:
        Exception: Something in it cannot be pickled.
    """
    functions = stage.functions_at_hand()
    count, pace = len(functions), stage.pace()
    if count != len(stage.names):
        return None
    if count > 1 and pace is None:
        return None
    packer = Packer(stage.adapter, NoLargeValues(stage.optimizations.large_value_bytes))
    try:
        packed = [packer.pack(function) for function in functions]
    except TooLargeError:
        return None
    packer.close()
    sizes = [one.size for one in packed]
    size = sum(sizes)
    if size > _MOST_BYTES or (count > 1 and size * (pace or 0.0) > _MOST_SECONDS):
        return None
    stage.slots = Slots.private(count)
    for at, length in enumerate(sizes):
        stage.slots[at] = Slot(0, length, 0, length)
    job = stage.whole_job(dict(enumerate(packed)))
    message = pack_message(Errand(stage.packed_spec(), job, stage.start_seconds))
    stage.journey.job_sent(len(message))
    return message
