"""What differs between the versions of scikit-learn that are supported, 1.5 and later."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from partwhole.store.arguments import in_short

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before 1.6
    validate_data = None


def checked_data(estimator: Any, X: Any, *, finite: bool = True, reset: bool = True) -> np.ndarray:
    """X as scikit-learn checks it: 2-D and of floats; the estimator's `n_features_in_` and names of features are set.

    With reset=False they are not: X must have those that were set before.
    """
    if isinstance(X, str | os.PathLike):
        raise ValueError(f"X must be an array of numbers, got {in_short(X)}; read the file first")
    dtypes = [np.float64, np.float32]
    if validate_data is None:
        return estimator._validate_data(X, dtype=dtypes, force_all_finite=finite, reset=reset)
    return validate_data(estimator, X, dtype=dtypes, ensure_all_finite=finite, reset=reset)
