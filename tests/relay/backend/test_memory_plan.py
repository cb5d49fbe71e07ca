"""Memory of networks: no value is overwritten while it is needed."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from parpass.relay.backend.memory_plan import Step, planned

SIZES = st.sampled_from([0, 1, 4, 100, 128, 4096, 100_000])


@st.composite
def plans(draw: st.DrawFn) -> tuple[list[Step], list[int], set[int]]:
    """Draw calls that read values from before, sizes, and which values are kept."""
    inputs = draw(st.integers(1, 3))
    steps, count = list[Step](), inputs
    for _ in range(draw(st.integers(0, 12))):
        reads = draw(st.lists(st.integers(0, count - 1), max_size=3))
        writes = range(count, count + draw(st.integers(1, 2)))
        steps.append(Step(reads, writes))
        count = writes.stop
    sizes = draw(st.lists(SIZES, min_size=count, max_size=count))
    return steps, sizes, draw(st.sets(st.integers(0, count - 1), max_size=3))


@given(plans())
@settings(max_examples=40)
def test_no_two_values_that_live_at_once_share_memory(
    plan: tuple[list[Step], list[int], set[int]],
):
    steps, sizes, kept = plan
    found = planned(steps, sizes, kept)
    holds: dict[int, int] = {}  # the value that is in a memory
    written = {value for step in steps for value in step.writes}
    for value in {*range(len(sizes))} - written:
        assert found[value] not in holds
        holds[found[value]] = value
    for reads, writes in steps:
        for value in writes:
            holds[found[value]] = value
        for value in (*reads, *writes):  # a result may not lie where an operand lies
            assert holds[found[value]] == value
    for value in kept | ({*range(len(sizes))} - written):
        assert holds[found[value]] == value


def test_a_chain_takes_two_memories_whatever_its_length():
    steps = [Step([at], [at + 1]) for at in range(50)]
    found = planned(steps, [100] * 51, {50})
    assert len({*found[1:]}) == 2
    assert found[0] not in found[1:]


def test_the_smallest_that_is_large_enough_is_taken():
    # 1, 2 and 3 are free when 4 is computed.
    steps = [Step([0], [1, 2, 3]), Step([1, 2, 3], [4]), Step([4], [5])]
    found = planned(steps, [8, 400, 100, 1000, 8, 90], {5})
    assert found[5] == found[2]


def test_what_is_much_too_large_is_left_for_others():
    steps = [Step([0], [1]), Step([1], [2]), Step([2], [3])]
    found = planned(steps, [8, 100_000, 8, 8], {3})
    assert len({*found}) == 4
