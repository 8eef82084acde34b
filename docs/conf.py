"""Settings of the documentation; `make docs` builds it, without the network and with warnings as errors."""

import os
import sys
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "agg")

import partwhole  # noqa: E402  (after the backend was chosen)

sys.path.insert(0, str(Path(__file__).parent))  # for figures_scraper

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

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
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
    "reset_modules": (),
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
}
