"""A foreign package's version that was not tested is warned of, in one form."""

from __future__ import annotations

import warnings

import pytest

from parpass.errors import AdapterWarning, SlowerRunWarning
from parpass.spi import check_version

TESTED = "1.4.2", "1.5.*", "1.6.*"


@pytest.mark.parametrize("found", ["1.4.2", "1.5.0", "1.6.10", "1.6.0rc1"])
def test_a_version_that_was_tested_is_not_warned_of(found: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_version("other", found, TESTED, "it may differ")


@pytest.mark.parametrize("found", ["1.4.1", "1.4.20", "1.4.2.post1", "1.50.0", "2.0"])
def test_another_is_told_with_those_that_were_and_what_may_be_wrong(found: str):
    with pytest.warns(AdapterWarning) as told:
        assert not check_version("other", found, TESTED, "it may differ")
    (message,) = (str(one.message) for one in told)
    assert message == (
        f"parpass was tested with other 1.4.2, 1.5.* and 1.6.*, not {found}: it may "
        "differ; try: pip install 'other==1.6.*'"
    )


def test_the_warning_has_the_class_that_fits_and_names_a_single_version():
    with pytest.warns(SlowerRunWarning, match=r"tested with it 0\.7\.0, not 0\.8: it"):
        check_version("it", "0.8", ["0.7.0"], "it takes longer", SlowerRunWarning)
