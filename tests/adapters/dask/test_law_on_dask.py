"""The law's tests, whose runner is on a Dask cluster here."""

from __future__ import annotations

import pytest

from tests.runner.test_law import (
    drift_folder,  # noqa: F401 -- a fixture of theirs
    test_relay_modules_come_out_of_workers_as_out_of_the_serial_run,  # noqa: F401
    test_the_law_holds_from_everywhere_on_warm_workers_that_have_drifted,  # noqa: F401
    test_the_law_holds_over_more_passes_than_go_together,  # noqa: F401
    test_the_law_holds_where_a_stage_is_begun_in_process_and_ended_by_workers,  # noqa: F401
    test_workers_give_what_the_serial_run_gives,  # noqa: F401
)

pytestmark = pytest.mark.stress
