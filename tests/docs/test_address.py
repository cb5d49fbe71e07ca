from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

from docs.site.address import FILES, address, moved

ROOT = Path(__file__).parents[2]


def test_all_links_of_the_package_are_of_one_address():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    urls = settings["project"]["urls"]
    assert urls.keys() == {"Repository", "Documentation", "Changelog", "Issues"}
    assert all(one.startswith(address()) for one in urls.values())
    for url in (urls["Documentation"], urls["Changelog"]):
        assert (ROOT / url.partition("/blob/main/")[2]).is_file()


def test_the_readme_clones_the_address_and_its_commands_run_in_what_that_makes():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    folder = address().rpartition("/")[2]
    clone, *commands = re.findall(r"^(?:git|python3) .*$", text, re.MULTILINE)
    assert clone == f"git clone {address()} && cd {folder}"
    assert len(commands) == 2


def test_a_release_puts_its_address_into_every_file_that_has_one(tmp_path: Path):
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    for path, text in list(moved("https://code.example/us/parpass/", tmp_path)):
        assert "https://code.example/us/parpass" in text
        assert "//parpass" not in text.replace("://", ":")
        path.write_text(text, encoding="utf-8")
    assert address(tmp_path) == "https://code.example/us/parpass"
    for path, text in list(moved(address(ROOT), tmp_path)):
        assert text == (ROOT / path.name).read_text(encoding="utf-8")


def test_no_other_file_of_the_project_states_the_address():
    files = [
        path
        for folder in ("docs", "parpass", "examples", "bench", ".github", ".ci")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".md", ".py", ".toml", ".yml", ".svg", ".html"}
        and "generated" not in path.parts
    ]
    found = [path for path in files if address() in path.read_text(encoding="utf-8")]
    assert found == []
