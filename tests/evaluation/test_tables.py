"""Tables as text, Markdown and LaTeX."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.evaluation import Evaluation, PairResult, Protocol, error_table


def run(seed: int, *errors: float, **choices) -> Evaluation:
    return Evaluation([PairResult("p", np.array(errors))], Protocol(data="D_1 & D_2", seeds=(seed,), **choices))


ROWS = {
    "ours, 3 seeds": [run(0, 0.01), run(1, 0.02), run(2, 0.03)],
    "ours, exact": run(0, 0.5, distances="exact"),
    "once more": run(0, 0.04, distances="exact"),
    "paper": {"micro": 6.7},
}
TABLE = error_table(ROWS, columns=["micro", "PCK area", "% flipped"], title="A title")


def test_cells() -> None:
    assert TABLE.header == ("method", "micro", "PCK area", "% flipped", "protocol")
    assert TABLE.rows == (
        ("ours, 3 seeds", "2.00 ± 1.00", "92.00 ± 4.00", "–", "[1]"),
        ("ours, exact", "50.00", "0.00", "–", "[2]"),
        ("once more", "4.00", "84.00", "–", "[2]"),
        ("paper", "6.70", "–", "–", "[3]"),
    )


def test_every_form_names_every_protocol() -> None:
    assert len(TABLE.protocols) == 3
    assert "seeds 0, 1, 2" in TABLE.protocols[0]
    assert "exact distances" in TABLE.protocols[1]
    for form in (TABLE.text(), TABLE.markdown()):
        assert form.count("A title") == 1
        for note in TABLE.notes:
            assert note in form
    assert TABLE.latex().count(r"\footnotesize") == 4


def test_text_is_aligned() -> None:
    lines = TABLE.text().splitlines()[1:7]
    at = lines[0].index("PCK area")
    assert [line[at - 2 : at] for line in lines] == ["  "] * 6
    assert not error_table(ROWS).text().startswith("\n")


def test_markdown_has_as_many_cells_in_every_line() -> None:
    lines = [line for line in TABLE.markdown().splitlines() if line.startswith("|")]
    assert len(lines) == 6
    assert {line.count("|") for line in lines} == {6}
    assert error_table({"a|b": ROWS["ours, exact"]}).markdown().count(r"a\|b") == 1


def test_latex_is_escaped_and_balanced() -> None:
    latex = TABLE.latex()
    assert r"\begin{tabular}{lrrrl}" in latex
    assert latex.count(r"\begin") == latex.count(r"\end") == 1
    assert r"D\_1 \& D\_2" in latex
    assert r"\% flipped" in latex
    assert r"2.00 $\pm$ 1.00" in latex
    strange = error_table({r"a\b ~ {x^2} → $": ROWS["paper"]}, columns=["micro"]).latex()
    assert r"a\textbackslash{}b \textasciitilde{} \{x\textasciicircum{}2\} $\to$ \$" in strange
    body = latex.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert [line.count(" & ") for line in body] == [4] * 4


def test_errors_without_bound_stay_so() -> None:
    table = error_table({"torn": [run(0, np.inf), run(1, 0.1)]}, columns=["micro"])
    assert table.rows[0][1] == "inf ± nan"


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="rows is empty"):
        error_table({})
    with pytest.raises(ValueError, match="there is no 'mirco'; choose from 'micro', 'macro'"):
        error_table({"a": run(0, 0.1)}, columns=["mirco"])
    with pytest.raises(ValueError, match="differ in nothing but seeds"):
        error_table({"a": [run(0, 0.1), run(1, 0.1, refined=15)]})
