"""What options of several commands refuse, before anything is read."""

import click
import pytest
from click.testing import CliRunner

from parpass.cli import main
from parpass.limits import LIMITS


@pytest.mark.parametrize("name", ["opt", "bisect"])
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--executor", "nowhere"], "'--executor': expected SCHEME://..., got 'nowh"),
        (
            ["--executor", "a://b", "-j2"],
            "'--executor': the executor decides how many jobs run",
        ),
    ],
)
def test_an_executor_is_a_url_and_says_how_many_jobs_run(
    name: str, words: list[str], why: str
):
    result = CliRunner().invoke(main, [name, __file__, "-p", "InferType", *words])
    assert result.exit_code == 2
    assert why in " ".join(result.stderr.split())


def test_where_jobs_run_is_said_once():
    words = ["--executor", "a://b", "--dask", "tcp://c:1"]
    result = CliRunner().invoke(main, ["opt", __file__, *words])
    assert result.exit_code == 2
    assert "one of --executor and --dask, got both" in result.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("opt FILE -o none/x", "'-o': directory 'none' does not exist"),
        ("opt FILE --reproducer none/x", "'--reproducer': directory 'none' does"),
        ("opt - -", "expected '-' at most once"),
        ("diff - -", "expected '-' at most once"),
        ("reduce FILE -o none/x", "'-o': directory 'none' does not exist"),
        ("run FILE -o none/x.npy", "'-o': directory 'none' does not exist"),
        ("run FILE -o x.txt", "ends in .npy or .npz, got 'x.txt'"),
        ("build FILE -o none/x", "'-o': directory 'none' does not exist"),
        ("build FILE -o x.so --header none/x", "'--header': directory 'none' does"),
    ],
)
def test_what_cannot_be_written_or_read_twice_is_told_before_anything_is_read(
    words: str, why: str
):
    # This file is no program, and would be refused as soon as it was read.
    result = CliRunner().invoke(main, words.replace("FILE", __file__).split())
    assert result.exit_code == 2
    assert why in " ".join(result.stderr.split())


@pytest.mark.parametrize("name", ["opt", "bisect", "codemod"])
def test_each_limit_is_a_flag_of_commands_that_run_passes(name: str):
    found = main.get_command(click.Context(main), name)
    assert found is not None
    flags = {one.name: one.opts for one in found.params}
    assert [flags[one.name] for one in LIMITS] == [[one.flag] for one in LIMITS]
