"""The words that keywords may have, each list once: for the types of the compiled module and for the command line."""

from typing import Literal, TypeAlias

Thresholds: TypeAlias = Literal["auto", "all", "exact", "quantile", "mdlp"]
"""Where columns of numbers are cut."""

Engine: TypeAlias = Literal["auto", "tests", "continuous"]
"""Which exact search runs."""

Effort: TypeAlias = Literal["proof", "tree"]
"""What the limits of an exact search are spent on."""

Objective: TypeAlias = Literal["errors", "balanced_errors"]
"""What an optimal tree has least of, where no costs are given."""

Criterion: TypeAlias = Literal["information_gain", "gain_ratio", "gini", "error"]
"""What makes a greedy split good."""

NominalSplits: TypeAlias = Literal["multiway", "one_vs_rest", "subsets"]
"""How nominal columns are split."""

Missing: TypeAlias = Literal["fractional", "drop", "mean", "class_mean", "level"]
"""What becomes of missing values."""

MissingInSubsets: TypeAlias = Literal["fractional", "mean", "class_mean", "level"]
"""The same in searches over subsets, where the split of a node must depend on its cases only."""

Unseen: TypeAlias = Literal["majority", "missing", "error"]
"""What a tree does with a level that its schema does not know."""

Order: TypeAlias = Literal["frontier", "frontier_cases", "reverse", "fixed"]
"""In which order the features of a tree are taken away."""

Estimator: TypeAlias = Literal["search", "training", "pessimistic"]
"""How the error of a tree is estimated."""

FINISHED = ("optimal", "optimal_over_tests", "acceptable", "complete")
"""The statuses of searches that no limit ended."""

OnInterrupt: TypeAlias = Literal["raise", "return"]
"""What Ctrl-C does."""
