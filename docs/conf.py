"""Sphinx's settings for the site: `sphinx-build -W docs build/site` makes it."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT))  # for the extension, and for the source that it is of

from parpass import __version__  # noqa: E402 -- found by the line before

project = "parpass"
author = "the authors of parpass"
release = version = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "docs.site.extension",
]
exclude_patterns = ["changes", "site"]

# Copied are commands without their prompt and output, and what is not printed: Python,
# and files, which have captions.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_copy_empty_lines = False  # they are of what commands print
copybutton_line_continuation_character = "\\"
copybutton_selector = (
    "div:not(.highlight-text) > div.highlight > pre,"
    " div.literal-block-wrapper div.highlight > pre"
)

# Pages are Markdown that a code host shows, too.
myst_heading_anchors = 4

# Names in docstrings are in single backquotes; those that are documented become links.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_inherit_docstrings = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 72
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # fields are documented by their class, and there alone
toc_object_entries = False  # each page would repeat all names in its navigation

_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
html_theme = "furo"
pygments_dark_style = "github-dark"  # that of Furo underlines names
html_title = f"parpass {release}"
html_logo = "logo.svg"
html_favicon = "logo.svg"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_js_files = ["search.js"]
html_search_scorer = str(_ROOT / "docs/site/scorer.js")
templates_path = ["site/templates"]
html_sidebars = {
    "**": [
        *("sidebar/brand.html", "sidebar/search.html", "repository.html"),
        *("sidebar/scroll-start.html", "sidebar/navigation.html"),
        "sidebar/scroll-end.html",
    ]
}
html_context = {"repository": _PROJECT["urls"]["Repository"]}
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
