"""A Python session with the README's program: recorded from a real run, drawn as SVG.

    python -m docs.site.session

The recording is an asciicast (version 2): a header, and a line for each piece of text
with its second. The drawing shows the pieces one after the other, or all at once if the
reader wants no motion; its colours follow the reader's scheme.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple
from xml.sax.saxutils import escape

from docs.site.blocks import blocks

_ROOT = Path(__file__).resolve().parents[2]
README = _ROOT / "README.md"
RECORDING = _ROOT / "docs/own-ir.cast"
DRAWING = _ROOT / "docs/own-ir.svg"

_FILE = "own_ir.py"
_COMMAND = f"python -i {_FILE}"
_PROMPT, _MORE = ">>> ", "... "
_TYPED = (
    "run, steps = parpass.run_pipeline_sync, [fold_constant]",
    'run(Program({"f1": Function("7 // x")}), steps)',
    'crash = Program({"f2": Function("__import__(\'os\').abort()")})',
    """try: run(crash, steps, isolated=True)
except parpass.errors.WorkerDiedError as error: print(error)
""",
    "fold_constant(mod) == mod",
)
_COLUMNS = 66  # so few that a phone shows them, too
_ADVANCE, _LINE, _BORDER = 7.83, 18, 16  # of a letter, a line, and around the text
_LEAST, _MOST = 0.4, 1.2  # seconds from one piece to the next
_STYLE = """
text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  white-space: pre; fill: #24292f; }
rect { fill: #f6f8fa; stroke: #8c959f; }
.typed { font-weight: bold; }
.error { fill: #b3261e; }
@media (prefers-color-scheme: dark) {
  text { fill: #d6dae0; }
  rect { fill: #16191e; stroke: #545b65; }
  .error { fill: #ff8a80; }
}
@media (prefers-reduced-motion: no-preference) {
  text { animation: %(seconds).2fs steps(1); }
}
"""


class Piece(NamedTuple):
    """Text that appeared at once.

    Attributes:
        second: Since the beginning.
        text: What appeared.
    """

    second: float
    text: str


def program() -> str:
    """Return the program that the README shows."""
    text = README.read_text(encoding="utf-8")
    [shown] = [one.text for one in blocks(text) if one.kind == "python"]
    return shown


def recorded() -> list[Piece]:
    """Run the session, and return what a terminal shows of it."""
    began = time.monotonic()
    pieces = [Piece(0.0, f"$ {_COMMAND}\n")]

    def add(text: str) -> None:
        pieces.append(Piece(round(time.monotonic() - began, 2), text))

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / _FILE).write_text(program(), encoding="utf-8")
        with subprocess.Popen(
            [sys.executable, *_COMMAND.split()[1:]],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as session:
            assert session.stdin is not None
            assert session.stdout is not None
            add(_until_prompt(session.stdout))
            for line in _TYPED:
                session.stdin.write(f"{line}\n")
                session.stdin.flush()
                add(_PROMPT + line.replace("\n", f"\n{_MORE}") + "\n")
                printed = _until_prompt(session.stdout)
                printed = printed.removeprefix(_MORE * line.count("\n"))
                add(printed.replace(f"{folder}/", ""))
            session.stdin.close()
            session.stdout.read()
    return [one for one in pieces if one.text]


def _until_prompt(printed: IO[str]) -> str:
    """Return what is printed until the next prompt, without it.

    Raises:
        EOFError: The session ended.
    """
    text = ""
    while not text.endswith(_PROMPT):
        letter = printed.read(1)
        if not letter:
            raise EOFError(text)
        text += letter
    return text.removesuffix(_PROMPT)


def as_cast(pieces: Sequence[Piece]) -> str:
    """Return pieces as an asciicast."""
    header = {"version": 2, "width": _COLUMNS, "height": len(list(_lines(pieces)))}
    lines = [json.dumps(header)]
    lines += [json.dumps([one.second, "o", one.text]) for one in pieces]
    return "\n".join(lines) + "\n"


def from_cast(text: str) -> list[Piece]:
    """Return the pieces of an asciicast."""
    _, *lines = map(json.loads, text.splitlines())
    return [Piece(second, piece) for second, _, piece in lines]


def drawn(pieces: Sequence[Piece]) -> str:
    """Return the drawing of a session."""
    lines = list(_lines(_shortened(pieces)))
    seconds = lines[-1].second
    width = _COLUMNS * _ADVANCE + 2 * _BORDER
    height = len(lines) * _LINE + 2 * _BORDER
    size = f'width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}"'
    made = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>',
        "<title>A Python session with the README's program</title>",
        f"<style>{_STYLE % {'seconds': seconds}}",
    ]
    for second in sorted({one.second for one in lines if one.second}):
        share = 100 * second / seconds
        made.append(
            f"@keyframes {_name(second)} {{ 0% {{ visibility: hidden; }} "
            f"{share:.2f}% {{ visibility: visible; }} }}"
        )
    made.append("</style>")
    made.append(
        f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1}" rx="8"/>'
    )
    for at, line in enumerate(lines):
        shown = f' style="animation-name: {_name(line.second)}"' if line.second else ""
        y = _BORDER + (at + 0.75) * _LINE
        where = f'x="{_BORDER}" y="{y:g}" class="{line.kind}"'
        made.append(f"<text {where}{shown}>{escape(line.text)}</text>")
    return "\n".join([*made, "</svg>"]) + "\n"


def _name(second: float) -> str:
    return f"after-{second * 100:.0f}"


def _shortened(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the pieces with pauses that a reader waits for."""
    before = shown = 0.0
    for one in pieces:
        shown = round(shown + min(max(one.second - before, _LEAST), _MOST), 2)
        before = one.second
        yield Piece(shown if one is not pieces[0] else 0.0, one.text)


class _Line(NamedTuple):
    second: float
    text: str
    kind: str


def _lines(pieces: Iterable[Piece]) -> Iterator[_Line]:
    """Yield the lines, cut where a terminal's end."""
    for one in pieces:
        for line in one.text.splitlines():
            kind = "printed"
            if line.startswith((_PROMPT, _MORE, "$ ")):
                kind = "typed"
            elif "Error: " in line or " on function " in line:
                kind = "error"
            for part in textwrap.wrap(line, _COLUMNS) or [""]:
                yield _Line(one.second, part, kind)


if __name__ == "__main__":
    RECORDING.write_text(as_cast(recorded()), encoding="utf-8")
    made_of = from_cast(RECORDING.read_text(encoding="utf-8"))
    DRAWING.write_text(drawn(made_of), encoding="utf-8")
