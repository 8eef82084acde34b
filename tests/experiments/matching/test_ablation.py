"""What `partwhole reproduce ablation` concludes, and that it does not say more than its numbers do."""

from __future__ import annotations

import pytest

from partwhole.experiments.matching.ablation import ORDER, PAPER, ROWS, chosen_rows, verdict


def errors(**means: float) -> dict[str, list[float]]:
    """Three seeds with a deviation of 0.1 about each mean; `soft_W=5` is the row soft C_W."""
    named = {name.replace("_", " C_"): mean for name, mean in means.items()}
    return {name: [mean - 0.1, mean, mean + 0.1] for name, mean in named.items()}


AS_IN_THE_PAPER = errors(soft_W=5.0, soft_T=6.0, binary_W=7.0, binary_T=8.0, soft_L=4.0, binary_L=6.5)


def conclusions(lines: tuple[str, ...]) -> tuple[str, str]:
    order = next(line for line in lines if line.startswith("The paper's order"))
    return order.partition("worst)")[2].strip(), lines[-1]


def test_the_order_of_the_paper() -> None:
    order, loops = conclusions(verdict(AS_IN_THE_PAPER))
    assert order == "is confirmed."
    assert loops == "C_L beside C_W: soft, C_L does better than C_W; binary, C_L does better than C_W."


def test_within_one_deviation_no_difference_is_seen() -> None:
    near = AS_IN_THE_PAPER | errors(soft_T=5.1, soft_L=5.09, binary_L=6.91)
    lines = verdict(near)
    assert "soft C_W against soft C_T: 5.00 ± 0.10 against 5.10 ± 0.10, no difference seen" in lines
    order, loops = conclusions(lines)
    assert order == "is neither confirmed nor contradicted: no difference seen in 1 of its 3 steps."
    assert loops == "C_L beside C_W: no difference seen, with soft masks or binary ones."
    # the larger of the two deviations counts
    wide = AS_IN_THE_PAPER | {"soft C_T": [4.0, 6.0, 8.0]}
    assert any("soft C_T: 5.00 ± 0.10 against 6.00 ± 2.00, no difference seen" in line for line in verdict(wide))


def test_an_order_that_is_not_there() -> None:
    order, loops = conclusions(verdict(AS_IN_THE_PAPER | errors(soft_T=4.5, soft_L=5.5, binary_L=7.0)))
    assert order == "is contradicted: 1 of its 3 steps are reversed."
    assert loops == "C_L beside C_W: soft, C_L does worse than C_W; binary, C_L no difference seen to C_W."


def test_a_mask_against_none() -> None:
    lines = verdict(AS_IN_THE_PAPER | {"no mask": [4.0, 4.2, 4.1]})
    assert lines[1] == "soft C_W against no mask: 5.00 ± 0.10 against 4.10 ± 0.10, worse by 0.90"


@pytest.mark.parametrize("seeds", [0, 1])
def test_one_seed_shows_no_difference(seeds: int) -> None:
    lines = verdict({name: values[:seeds] for name, values in AS_IN_THE_PAPER.items()})
    assert lines[1].endswith("unknown, at least two seeds of both are needed")
    assert conclusions(lines) == (
        ": unknown, at least two seeds of each are needed.",
        "Whether C_L does better than C_W: unknown, at least two seeds of each are needed.",
    )


def test_the_numbers_of_the_paper_are_in_its_order() -> None:
    holes = PAPER["shrec16-holes"]
    assert sorted(ORDER, key=holes.__getitem__) == list(ORDER)
    assert all(row in ROWS for rows in PAPER.values() for row in rows)


def test_some_rows_alone() -> None:
    assert chosen_rows(None) == dict(ROWS)
    assert list(chosen_rows(["soft C_W", "binary-c_t"])) == ["binary C_T", "soft C_W"]
    with pytest.raises(ValueError, match="--mask soft C_X: there is no such row; did you mean 'soft C_"):
        chosen_rows(["soft C_X"])
