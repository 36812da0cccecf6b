"""Least costs of small trees, by trying all of them: short, slow, and without any of lattree's ideas or code.

A set of rows is a whole number whose bit r says whether row r is in it. ``test_bugs.py`` checks it on trees that can be
counted by hand.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any


def rows_where(column: Sequence[Any], holds: Any) -> int:
    """The rows whose value is not missing and makes `holds` true."""
    return sum(1 << row for row, value in enumerate(column) if value is not None and holds(value))


def ordered_tests(column: Sequence[Any]) -> list[int]:
    """Every way to cut between two values; a missing value passes none."""
    values = sorted({value for value in column if value is not None})
    return [rows_where(column, lambda value, cut=cut: value <= cut) for cut in values[:-1]]


def level_tests(column: Sequence[Any], subsets: bool = False) -> list[int]:
    """`is level` for each level, or `in levels` for each set of levels."""
    levels = sorted({value for value in column if value is not None})
    sizes = range(1, len(levels) + 1) if subsets else [1]
    sets = [set(chosen) for size in sizes for chosen in combinations(levels, size)]
    return [rows_where(column, lambda value, chosen=chosen: value in chosen) for chosen in sets]


def missing_test(column: Sequence[Any]) -> list[int]:
    """`is missing`."""
    return [sum(1 << row for row, value in enumerate(column) if value is None)]


def least_cost(
    tests: Sequence[int],
    labels: Sequence[Any],
    depth: int,
    *,
    nodes: int | None = None,
    min_leaf: int = 1,
    penalty: Any = 0,
    counts: Sequence[int] | None = None,
    weight: Sequence[Any] | None = None,
) -> Fraction:
    """The least of: mass of wrong cases plus penalties, over all trees within the limits.

    A branch must have `min_leaf` cases by counts, and at least one; a row of count or weight 0 is absent.
    """
    n = len(labels)
    counts = list(counts) if counts is not None else [1] * n
    weights = [Fraction(w) for w in weight] if weight is not None else [Fraction(1)] * n
    present = sum(1 << row for row in range(n) if counts[row] and weights[row])
    penalty = Fraction(penalty)
    every = 2**depth - 1

    def members(rows: int) -> list[int]:
        return [row for row in range(n) if rows >> row & 1]

    @cache
    def leaf(rows: int) -> tuple[Fraction, int]:
        masses: Counter[Any] = Counter()
        for row in members(rows):
            masses[labels[row]] += counts[row] * weights[row]
        return sum(masses.values()) - max(masses.values(), default=Fraction(0)), sum(counts[r] for r in members(rows))

    @cache
    def least(rows: int, depth: int, nodes: int) -> Fraction:
        best = leaf(rows)[0]
        if depth == 0 or nodes == 0:
            return best
        for test in tests:
            yes, no = rows & test, rows & ~test
            if not yes or not no or min(leaf(yes)[1], leaf(no)[1]) < min_leaf:
                continue
            for share in range(nodes):
                cost = least(yes, depth - 1, share) + least(no, depth - 1, nodes - 1 - share) + penalty
                best = min(best, cost)
        return best

    @cache
    def unlimited(rows: int, depth: int) -> Fraction:
        best = leaf(rows)[0]
        for test in tests if depth else ():
            yes, no = rows & test, rows & ~test
            if yes and no and min(leaf(yes)[1], leaf(no)[1]) >= min_leaf:
                best = min(best, unlimited(yes, depth - 1) + unlimited(no, depth - 1) + penalty)
        return best

    return unlimited(present, depth) if nodes is None or nodes >= every else least(present, depth, nodes)
