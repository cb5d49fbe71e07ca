from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from parpass.diagnostic import Span
from parpass.errors import ArgumentError
from parpass.instrument import RemarksInstrument
from parpass.instrument.remark_formats import to_json_lines, to_lines, to_yaml
from parpass.remark import Remark, RemarkKind, plain_value
from parpass.transform import PassContext, Sequential
from tests.support.profiles import examples
from tests.support.toy.ir import program
from tests.support.toy.passes import Add, Duplicate, Say

SPAN = Span("net.relay", 3, 3, 5, 9)
NOT_FUSED = Remark(
    RemarkKind.MISSED,
    "FuseOps",
    "main",
    "NotFused",
    "kept apart",
    SPAN,
    {"Callee": "nn.conv2d", "users": 2},
)
LOOP = Remark(RemarkKind.PASSED, "tir.UnrollLoop", None, "Unrolled", "unrolled")


def read_yaml(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the kind and the fields of each document, as PyYAML reads them."""

    class Loader(yaml.SafeLoader):
        pass

    def remark(loader: Any, kind: str, node: Any) -> tuple[str, dict[str, Any]]:
        return kind, loader.construct_mapping(node, deep=True)

    loader: Any = Loader
    loader.add_multi_constructor("!", remark)
    return list(yaml.load_all(text, loader))


def test_yaml_is_in_the_format_of_llvms_optimisation_records() -> None:
    assert to_yaml([NOT_FUSED, LOOP]) == (
        "--- !Missed\n"
        'Pass:            "FuseOps"\n'
        'Name:            "NotFused"\n'
        'DebugLoc:        { File: "net.relay", Line: 3, Column: 5 }\n'
        'Function:        "main"\n'
        "Args:\n"
        '  - String: "kept apart"\n'
        '  - String: " (Callee="\n'
        '  - Callee: "nn.conv2d"\n'
        '  - String: ", users="\n'
        '  - users: "2"\n'
        '  - String: ")"\n'
        "...\n"
        "--- !Passed\n"
        'Pass:            "tir.UnrollLoop"\n'
        'Name:            "Unrolled"\n'
        'Function:        "<module>"\n'
        "Args:\n"
        '  - String: "unrolled"\n'
        "...\n"
    )


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_names = _texts.filter(bool) | st.sampled_from(["no", "DebugLoc", "String", "a b"])
_values = st.one_of(_texts, st.integers(), st.floats(), st.booleans(), st.none())
_spans = st.builds(Span, _texts, st.just(1), st.just(1), st.just(2), st.just(3))


@examples(1)
@given(
    st.lists(
        st.builds(
            Remark,
            kind=st.sampled_from(RemarkKind),
            pass_name=_texts,
            function=_texts | st.none(),
            name=_texts,
            message=_texts,
            span=_spans | st.none(),
            values=st.dictionaries(_names, _values.map(plain_value), max_size=3),
        ),
        max_size=3,
    )
)
def test_what_is_written_reads_back_whatever_is_in_it(remarks: list[Remark]) -> None:
    for remark, (kind, fields) in zip(
        remarks, read_yaml(to_yaml(remarks)), strict=True
    ):
        assert kind.lower() == remark.kind.value
        assert (fields["Pass"], fields["Name"]) == (remark.pass_name, remark.name)
        assert fields["Function"] in {remark.function, "<module>"}
        assert ("DebugLoc" in fields) is (remark.span is not None)
        assert all(len(one) == 1 and "DebugLoc" not in one for one in fields["Args"])
        told = "".join(value for one in fields["Args"] for value in one.values())
        assert told == remark.text
    lines = to_json_lines(remarks).splitlines()
    for remark, line in zip(remarks, lines, strict=True):
        found: dict[str, Any] = json.loads(line)
        span = found["span"]
        assert found == {
            "kind": remark.kind.value,
            "pass": remark.pass_name,
            "name": remark.name,
            "function": remark.function,
            "message": remark.message,
            "span": span,
            "values": remark.values,
        }
        assert remark.span == (None if span is None else Span(**span))
    assert to_lines(remarks).count("\n") == len(remarks)


def test_half_a_character_is_replaced_since_no_reader_takes_it() -> None:
    ((_, fields),) = read_yaml(
        to_yaml([Remark(RemarkKind.PASSED, "", "\udc80", "", "")])
    )
    assert fields["Function"] == "\ufffd"


def test_lines_say_where_what_and_who() -> None:
    assert to_lines([NOT_FUSED, LOOP]) == (
        "net.relay:3:5: missed: kept apart (Callee=nn.conv2d, users=2) "
        "[FuseOps on 'main']\n"
        "passed: unrolled [tir.UnrollLoop]\n"
    )


@pytest.mark.parametrize(
    ("given_args", "passes"),
    [
        ({}, {"Say", "Duplicate"}),
        ({"passes": ["S*"]}, {"Say"}),
        ({"passes": ["s*"]}, set[str]()),
        ({"kinds": ["passed"]}, {"Duplicate"}),
        ({"passes": ["Say", "Add"], "kinds": [RemarkKind.PASSED]}, set[str]()),
    ],
)
def test_passes_and_kinds_are_chosen(
    given_args: dict[str, Any], passes: set[str]
) -> None:
    remarks = RemarksInstrument(**given_args)
    with PassContext(instruments=[remarks]):
        Sequential([Say(), Add(1), Duplicate()])(program(1, 2))
    assert {one.pass_name for one in remarks.remarks} == passes


def test_bad_choices_are_told() -> None:
    with pytest.raises(ArgumentError, match="did you mean 'missed'"):
        RemarksInstrument(kinds=["mised"])
    with pytest.raises(ArgumentError, match="got the str 'Say'"):
        RemarksInstrument("Say")


def test_the_suffix_says_the_format(tmp_path: Path) -> None:
    remarks = RemarksInstrument()
    remarks.remarks.append(NOT_FUSED)
    for name, expected in {
        "a.opt.yaml": to_yaml([NOT_FUSED]),
        "a.yml": to_yaml([NOT_FUSED]),
        "a.jsonl": to_json_lines([NOT_FUSED]),
    }.items():
        remarks.write(tmp_path / name)
        assert (tmp_path / name).read_text() == expected
    wanted = r"ends in .yaml, .yml or .jsonl for remarks, got .*; did you mean '.jsonl'"
    with pytest.raises(ArgumentError, match=wanted):
        remarks.write(tmp_path / "a.json")
