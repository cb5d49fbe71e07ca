"""The checker of words finds each pattern of the idiom, and no field terms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.wording import QUESTION, RIDDLE, RULES, findings, project_files

IDIOM = {
    "Have": "Have workers started that are not.",
    "have X do": "Returns the message that has a worker run the functions.",
    "somebody": "Unpacks functions, because somebody will look at them.",
    "who": "Returns the time at which who waits for it may go on.",
    "told": "The schedule is told when a job ends.",
    "hear of": "The coordinator hears of it.",
    "see to": "A thread sees to the worker.",
    "look out": "A worker looks out for a job.",
    "take down": "Takes the seconds down, by function.",
    "what it is given": "A pass changed what it was given.",
    "is no more": "The coordinator is no more.",
    "on its way": "A job on its way.",
    "under way": "Several runs may be under way.",
    "same as the argument": "The same as the argument.",
    "let go": "Lets go of all that it has loaded.",
    "come on": "The time in which workers come on with a stage.",
    "another one": "A pass that another one brings along.",
    "of theirs": "A thread of theirs.",
    "of X's": "A lock of multiprocessing's.",
    "as above": "None as above.",
    "lest": "Sent first, lest it is late.",
    "metaphor": "The result of an errand.",
    "question": "How workers come to their jobs.",
    "riddle": "Whether the codec can be seen.",
}
TERMS = [
    "Return whether a suspect runs again; the worker has to be killed.",
    "Jobs without a worker run here, and users who cancel them get an error.",
    "The parts have a type and are decoded, those that have one that can be read.",
    "How many workers the pool has.",
    "An adapter that has another name; more of the same type than before.",
    "The workers take 0.1 s to start; a function stands for its body.",
    "A parallel run has the serial run's result.",
]


def found_in(folder: Path, suffix: str, text: str) -> list[tuple[int, str]]:
    path = folder / f"some{suffix}"
    path.write_text(text, encoding="utf-8")
    return [(found.line, found.rule.name) for found in findings(path)]


def test_each_rule_has_an_example():
    assert IDIOM.keys() == {rule.name for rule in (*RULES, QUESTION, RIDDLE)}


@pytest.mark.parametrize("name", IDIOM)
def test_the_idiom_is_found_in_docstrings(name: str, tmp_path: Path):
    source = f'"""Some module."""\n\nclass Pool:\n    """{IDIOM[name]}"""\n'
    assert (4, name) in found_in(tmp_path, ".py", source)


@pytest.mark.parametrize("text", TERMS)
def test_sentences_of_the_field_are_no_findings(text: str, tmp_path: Path):
    assert not found_in(tmp_path, ".md", text)


def test_a_phrase_is_found_over_the_end_of_a_line(tmp_path: Path):
    text = "# Title\n\nFunctions are packed, and on\ntheir way.\n"
    assert found_in(tmp_path, ".md", text) == [(3, "on its way")]


def test_blocks_of_code_are_not_read(tmp_path: Path):
    text = "Before.\n\n```python\nnobody = 1\n```\n\nFor nobody.\n"
    assert found_in(tmp_path, ".md", text) == [(7, "somebody")]


def test_errors_that_are_raised_are_read_and_other_strings_are_not(tmp_path: Path):
    source = "key = 'nobody'\n\nif key:\n    raise ValueError(f'{key} is no more')\n"
    assert found_in(tmp_path, ".py", source) == [(4, "is no more")]


def test_a_property_may_be_a_question_of_yes_or_no(tmp_path: Path):
    source = 'class A:\n    @property\n    def is_warm(self):\n        """Whether."""\n'
    assert not found_in(tmp_path, ".py", source)


def test_modules_and_pages_of_the_project_are_checked():
    names = {path.name for path in project_files()}
    assert {"scheduler.py", "api.py", "architecture.md", "README.md"} <= names
