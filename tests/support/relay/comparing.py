"""Serial and parallel runs on a Relay module, all that is seen of them compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from parpass.ir.module import IRModule
from parpass.ir.structural import assert_structural_equal
from parpass.runner import Runner
from parpass.transform import Pass, PassContext
from tests.support.relay.meaning import checked_types
from tests.support.runner.comparing import Watchers, on_pool


def check_relay(
    root: Pass,
    mod: IRModule,
    make: Watchers,
    runner: Runner,
    config: Mapping[str, Any],
) -> None:
    """Run a pass on a Relay module, serially and by a runner, and compare."""
    logs: list[list[Any]] = []

    def outcome(config: Mapping[str, Any], run: Callable[[Pass, Any], Any]) -> Any:
        watchers = make()
        logs.append([one.log for one in watchers])
        context = PassContext(opt_level=3, instruments=watchers, config=config)
        try:
            with context:
                result = run(root, mod)
        except Exception as error:  # noqa: BLE001 -- it is compared
            notes: list[str] = getattr(error, "__notes__", [])
            return (type(error), str(error), notes), context.statistics
        return result, context.statistics

    serial, counted = outcome({}, lambda root, given_mod: root(given_mod))
    parallel, also_counted = outcome(config, on_pool(runner))
    assert also_counted == counted
    assert logs[0] == logs[1]
    if not isinstance(serial, IRModule):
        assert parallel == serial
        return
    assert isinstance(parallel, IRModule), parallel
    assert_structural_equal(parallel, serial, map_free_vars=False)
    assert list(parallel.functions_by_name) == list(serial.functions_by_name)
    assert parallel.astext() == serial.astext()
    assert checked_types(parallel) == checked_types(serial)
