"""Pages that are made of files out of this folder: of the root, and examples."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_EXAMPLES = sorted(
    path for path in (_ROOT / "examples").iterdir() if path.suffix in (".py", ".c")
)
_SETTINGS = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))
_TYPES = {
    one["directory"]: one["name"] for one in _SETTINGS["tool"]["towncrier"]["type"]
}

# Files by their paths from the root, and the pages that are made of them.
OUTSIDE = {
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
    **{f"examples/{path.name}": f"examples/{path.stem}" for path in _EXAMPLES},
}


def root_pages() -> dict[str, str]:
    """Return the pages by document, in Markdown."""
    return {
        "changelog": _changelog(),
        "contributing": _from_here((_ROOT / "CONTRIBUTING.md").read_text("utf-8")),
        "security": _from_here((_ROOT / "SECURITY.md").read_text("utf-8")),
        **{f"examples/{path.stem}": _example(path) for path in _EXAMPLES},
    }


def _from_here(text: str) -> str:
    """Return a page of the root with links as they are from the generated pages."""
    text = text.replace("(docs/changes/README.md)", "(changelog.md)")
    return re.sub(r"\]\(docs/", "](../", text)


def _changelog() -> str:
    """Return the changelog with the changes since the last version, by their type."""
    text = (_ROOT / "CHANGELOG.md").read_text("utf-8")
    text = text.replace("<!-- notes of versions -->\n\n", "")
    parts: list[str] = []
    for kind, title in _TYPES.items():
        found = sorted((_ROOT / "docs/changes").glob(f"*.{kind}.md"))
        if found:
            parts.append(f"### {title}\n")
            for path in found:
                lines = path.read_text("utf-8").strip().splitlines()
                parts.append("* " + "\n  ".join(lines))
            parts.append("")
    if parts:
        parts.insert(0, "## Since the last version\n")
    head, version, rest = text.partition("\n## ")
    return _from_here("\n".join([head, "", *parts, version + rest]))


def _example(path: Path) -> str:
    """Return a page with the text of an example."""
    title = f"---\norphan: true\n---\n\n# {path.relative_to(_ROOT).as_posix()}\n\n"
    language = {".py": "python", ".c": "c"}[path.suffix]
    return f"{title}````{language}\n{path.read_text('utf-8').rstrip()}\n````\n"
