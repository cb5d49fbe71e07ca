"""UnrollLoop: its options."""

from __future__ import annotations

import pytest

from parpass import transform
from parpass.errors import ConfigValueError


def test_the_option_of_tvms_document_is_that_of_the_context():
    with transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 10}}):
        found = transform.PassContext.current().config["tir.UnrollLoop"]
        assert found.auto_max_step == 10


def test_an_option_that_there_is_not_is_refused():
    with pytest.raises(ConfigValueError, match="auto_max_step"):
        transform.PassContext(config={"tir.UnrollLoop": {"auto_max_stop": 1}})
