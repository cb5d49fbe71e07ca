"""What type checkers infer for a user's code: the other files here, and the docs.

The files state it by `assert_type`, and by comments that ignore an error that there
must be. The snippets of the docs are checked as their readers have them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.docs.steps import snippets

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

# Mypy takes no class for another, as a decorator makes of one.
SEEN_BY_PYRIGHT = {"decorated_classes.py", "for_tvm_users.py"}


# Pieces of programs of `examples`, checked there; libraries of other people; and cells
# of notebooks, which may await.
LEFT_OUT = {
    "in-notebooks.md",
    "recipes.md",  # its files are parts of the project
    "services.md",
    "with-codemods.md",
    "with-qiskit.md",
    "with-tvm.md",
    "xdsl.md",
}

# What is asked of the files here is more than readers ask of their first attempts;
# pyright asks less by itself where there is no project.
AS_READERS_CHECK = """\
# mypy: disallow_untyped_defs=False, disallow_incomplete_defs=False
# mypy: disallow_untyped_calls=False, disallow_any_generics=False, warn_return_any=False
"""


def check(folder: Path, *command: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def files(folder: Path) -> list[str]:
    """Return the files here, and one for each page, with the page's line numbers."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if page.name in LEFT_OUT:
            continue
        own = folder / f"{page.stem.replace('-', '_').lower()}.py"
        for one in snippets(page):
            file = one.file
            if file and not file.removesuffix(".py").isidentifier():
                continue  # settings of another program's, which gives it names
            path = folder / file if file else own
            text = path.read_text() if path.exists() else AS_READERS_CHECK
            if not file:
                text += "\n" * (one.before - text.count("\n"))
            path.write_text(text + one.text)
    pages = [*folder.glob("*.py")]
    assert len(pages) > 7
    here = (path for path in HERE.glob("*.py") if path != Path(__file__))
    return sorted(map(str, [*here, *pages]))


@pytest.mark.slow
def test_pyright_infers_what_is_stated_and_takes_the_docs(tmp_path: Path):
    # Comments for mypy are not for pyright, as in this project.
    (tmp_path / "pyrightconfig.json").write_text('{"enableTypeIgnoreComments": false}')
    check(tmp_path, "pyright", "--pythonpath", sys.executable, *files(tmp_path))


# What mypy leaves out when it is to be quick: libraries of which no type is stated
# here, which cost half of its time; and errors in parpass itself, as for its users.
QUICKLY = """\
[mypy]
follow_imports = silent
[mypy-dask.*,distributed.*,IPython.*,lark.*,onnx.*,rich.*]
follow_imports = skip
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        pytest.param(QUICKLY, id="quickly"),
        pytest.param("[mypy]\n", id="whole", marks=pytest.mark.stress),
    ],
)
def test_mypy_infers_what_is_stated_and_takes_the_docs(tmp_path: Path, config: str):
    paths = [one for one in files(tmp_path) if Path(one).name not in SEEN_BY_PYRIGHT]
    (tmp_path / "mypy.ini").write_text(config)
    options = f"--config-file={tmp_path / 'mypy.ini'}", f"--cache-dir={os.devnull}"
    check(ROOT, "mypy", "--strict", *options, *paths)
