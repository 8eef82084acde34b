"""Settings of the documentation; `make docs` builds it, without the network and with warnings as errors."""

import os
import re
import sys
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "agg")

import partwhole

sys.path.insert(0, str(Path(__file__).parent))  # for figures_scraper and tutorials
import tutorials

project = "partwhole"
author = "The partwhole developers"
copyright = "2026, The partwhole developers"
version = release = partwhole.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/README.*", "**/GALLERY_HEADER.rst"]

html_theme = "furo"
html_title = f"partwhole {release}"
html_show_sphinx = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "amsmath"]
myst_heading_anchors = 3

# docstrings put code into single backticks
default_role = "code"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
# else these would be spelled out, over several lines
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "DTypeLike": "DTypeLike"}
maximum_signature_line_length = 88
numpydoc_show_class_members = False
# numpydoc would otherwise warn of every word of a parameter's type that isn't a Python object
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "image_scrapers": ("figures_scraper.figures_of_block",),
    "reset_modules": ("figures_scraper.warnings_are_errors",),
    "reset_modules_order": "both",
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
}


def keep_bars(app, what, name, obj, options, lines):
    """In docstrings |x| is an absolute value; in reStructuredText it would be a substitution."""
    in_doctest = False
    for number, line in enumerate(lines):
        in_doctest = line.lstrip().startswith(">>>") or (in_doctest and bool(line.strip()))
        if not in_doctest:
            lines[number] = line.replace("|", r"\|")


def plain_aliases(app, what, name, obj, options, signature, returns):
    """Names of aliases as they stand in the source, also within unions, which Sphinx spells out."""

    def plain(text):
        return text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)

    return plain(signature), plain(returns)


def setup(app):
    app.connect("builder-inited", lambda app: tutorials.make_if_changed())
    app.connect("autodoc-process-signature", plain_aliases)
    # after numpydoc, which has put the sections into their final form
    app.connect("autodoc-process-docstring", keep_bars, priority=900)
