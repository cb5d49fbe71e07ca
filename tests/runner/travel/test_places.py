from __future__ import annotations

from collections.abc import Iterator

import pytest

from parpass.runner.travel.bundles import Packer
from parpass.runner.travel.folder import Folder, Ref
from parpass.runner.travel.large_values import CoordinatorValues
from parpass.runner.travel.messages import pack_message, unpack_message
from parpass.runner.travel.places import FunctionsFile, Place, Places
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
    refs = {bundle: writer.append(bundle.payload) for bundle in bundles}
    file = FunctionsFile(lambda: folder.open_reader("functions"), ADAPTER, values, None)
    for at in (2_999, 0, 1_500, 1, 2_998, *range(0, 3_000, 100), 1_500):
        _, offset, length = refs[packed[at].bundle]
        place = Place(offset, length, packed[at].at, packed[at].size, ())
        assert file.function(place) == functions[at]
    assert file.function(packed[7]) == functions[7]
    file.close()
    values.close()


def test_places_of_functions_travel():
    places = Places(3)
    values = (Ref("values", 0, 8),)
    places[2] = Place(1 << 40, 70, 3, 7, values)
    places[0] = Place(5, 9, None, 9, ())
    there: Places = unpack_message(pack_message(places))
    assert there[2] == Place(1 << 40, 70, 3, 7, values)
    assert there[0] == Place(5, 9, None, 9, ())
    assert there.size(2) == 7
    part = there.of([2, 0])
    assert [part[0], part[1]] == [there[2], there[0]]
    assert there.function_at(1 << 40, 3) == 2
