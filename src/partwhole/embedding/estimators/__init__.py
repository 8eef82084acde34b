"""The scikit-learn estimators: WHCIE, TCIE, WeightedMDS."""
