from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from parpass.runner.travel.bundles import Packer
from parpass.runner.travel.folder import Folder, Ref
from parpass.runner.travel.large_values import CoordinatorValues, NoLargeValues
from parpass.runner.travel.slots import FunctionsFile, Slot, Slots, append_bundle
from tests.support.toy_ir import Fn, RunAdapter

ADAPTER = RunAdapter()


@pytest.fixture
def folder() -> Iterator[Folder]:
    folder = Folder()
    yield folder
    folder.remove()


@pytest.mark.parametrize("function_bytes", [10, 1_000])
def test_a_worker_reads_any_function_of_the_file(folder: Folder, function_bytes: int):
    values = CoordinatorValues(folder)
    packer = Packer(ADAPTER, values)
    functions = [Fn((at, *range(function_bytes // 3))) for at in range(3_000)]
    packed = [packer.pack(function) for function in functions]
    packer.close()
    writer = folder.open_writer("functions")
    bundles = dict.fromkeys(one.bundle for one in packed)
    slots = {bundle: append_bundle(writer, bundle) for bundle in bundles}
    file = FunctionsFile(lambda: folder.open_reader("functions"), ADAPTER, values, None)
    for at in (2_999, 0, 1_500, 1, 2_998, *range(0, 3_000, 100), 1_500):
        slot = slots[packed[at].bundle]._replace(at=packed[at].at)
        assert file.function(slot) == functions[at]
    assert file.function(packed[7]) == functions[7]
    file.close()
    values.close()


def test_slots_that_one_process_fills_are_seen_by_another(folder: Folder):
    ours = Slots.create(folder, "slots", 3)
    theirs = Slots.open(folder, "slots")
    assert not theirs.is_filled(2)
    ours[2] = Slot(1 << 40, 70, 3, 7, 12)
    ours[0] = Slot(5, 9, None, 9)
    assert theirs.awaited(2) == Slot(1 << 40, 70, 3, 7, 12)
    assert theirs[0] == Slot(5, 9, None, 9)
    assert theirs.size(2) == 7
    assert theirs.function_at(1 << 40, 3) == 2
    assert not theirs.is_filled(1)


def test_who_waits_for_a_function_has_it_when_it_is_written_down(folder: Folder):
    ours = Slots.create(folder, "slots", 2)
    theirs = Slots.open(folder, "slots")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(theirs.awaited, 1)
        assert not waiting.done()
        ours[1] = Slot(0, 8, None, 8)
        assert waiting.result(60) == Slot(0, 8, None, 8)


def test_slots_can_be_read_when_their_file_is_discarded(folder: Folder):
    ours = Slots.create(folder, "slots", 1)
    theirs = Slots.open(folder, "slots")
    ours[0] = Slot(0, 8, None, 8)
    folder.discard("slots", are_mapped=True)
    assert not folder.has("slots")
    assert theirs[0] == Slot(0, 8, None, 8)


class Sources(NoLargeValues):
    """Tells which values it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.refs: list[Ref] = []

    def source(self, ref: Ref) -> Any:
        self.refs.append(ref)


def test_the_large_values_of_a_bundle_are_known_with_it(folder: Folder):
    values = Sources()
    packer = Packer(ADAPTER, values)
    packed = packer.pack(Fn((1,)))
    packer.close()
    packed.bundle.values = refs = [Ref("values", 0, 8), Ref("values", 16, 1 << 40)]
    writer = folder.open_writer("functions")
    slot = append_bundle(writer, packed.bundle)._replace(at=packed.at)
    file = FunctionsFile(lambda: folder.open_reader("functions"), ADAPTER, values, None)
    assert file.function(slot) == Fn((1,))
    assert values.refs == refs
    file.close()
