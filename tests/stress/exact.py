"""The slow reference of the part `weights`: masses, costs and gains as the whole numbers and fractions they are, greedy
trees judged node by node, exact searches by trying all trees. It shares nothing with the library but the words of its
documentation.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import shortest

# docs/greedy.md: what may be rounded, relative to the mass of the node.
CLOSE = {"information_gain": 2.0**-30, "gain_ratio": 2.0**-30, "gini": 2.0**-50, "error": 0.0}
# Floats beside exact sums are wrong by less.
FLOAT = 1e-11


@dataclass
class Column:
    """A column: numbers or names, None where missing; the levels in the order of the schema."""

    values: list[Any]
    levels: list[str] | None


@dataclass
class Table:
    """Who is present, with which mass (in common units) and how many cases each row stands for."""

    columns: list[Column]
    classes: list[int]
    masses: list[int]
    counts: list[int]
    n_classes: int
    rows: list[int]

    def by_class(self, rows: tuple[int, ...]) -> tuple[int, ...]:
        """The mass of each class."""
        masses = [0] * self.n_classes
        for row in rows:
            masses[self.classes[row]] += self.masses[row]
        return tuple(masses)

    def n_cases(self, rows: tuple[int, ...]) -> int:
        """How many cases."""
        return sum(self.counts[row] for row in rows)


def whole(masses: list[Fraction]) -> list[int]:
    """The same proportions in whole numbers."""
    denominator = math.lcm(*(mass.denominator for mass in masses))
    return [int(mass * denominator) for mass in masses]


# ---- Gains


class Sum:
    """A sum of c x log2 x over whole x, of which floats know the size per unit of mass and powers the rest."""

    def __init__(self, unit: int) -> None:
        self.unit, self.terms, self.near = unit, {}, 0.0  # type: int, dict[int, int], float

    def add(self, times: int, x: int) -> None:
        """Adds `times` x log2 x."""
        if x > 0:
            self.terms[x] = self.terms.get(x, 0) + times
            share = x / self.unit
            self.near += times * share * math.log2(share) if share > 0 else 0.0

    def powers(self) -> list[tuple[int, int]]:
        """x, and the exponent c x."""
        return [(x, times * x) for x, times in self.terms.items() if times]


def coprime(powers: list[tuple[int, list[int]]]) -> list[list[int]]:
    """Exponents of pairwise coprime numbers of the same product, whose logarithms are linearly independent."""
    todo, base = list(powers), []
    while todo:
        x, e = todo.pop()
        if x == 1:
            continue
        for place, (b, f) in enumerate(base):
            g = math.gcd(b, x)
            if g > 1:
                del base[place]
                todo += [(b // g, f), (x // g, e), (g, [i + j for i, j in zip(e, f, strict=True)])]
                break
        else:
            base.append((x, e))
    return [exponents for _, exponents in base]


def same_sum(a: Sum, b: Sum) -> bool:
    """Whether two sums are equal as real numbers."""
    if {x: c for x, c in a.terms.items() if c} == {x: c for x, c in b.terms.items() if c}:
        return True
    if abs(a.near - b.near) > FLOAT:
        return False
    powers = [(x, [e]) for x, e in a.powers()] + [(x, [-e]) for x, e in b.powers()]
    return all(exponents == [0] for exponents in coprime(powers))


def same_ratio(a: tuple[Sum, Sum], b: tuple[Sum, Sum]) -> bool:
    """Whether two quotients are equal: as polynomials in logarithms of coprime numbers."""
    if abs(a[0].near * b[1].near - b[0].near * a[1].near) > FLOAT:
        return False
    sums = (*a, *b)
    powers = [
        (x, [e if i == place else 0 for i in range(4)]) for place, one in enumerate(sums) for x, e in one.powers()
    ]
    base = coprime(powers)
    return all(
        u[0] * v[3] + v[0] * u[3] == u[1] * v[2] + v[1] * u[2]
        for u, v in itertools.combinations_with_replacement(base, 2)
    )


@dataclass
class Split:
    """A candidate: a column, the branch of each of the node's rows, and what it is worth."""

    column: int
    branches: tuple[int, ...]
    cut: float | None
    gain: Any = None
    near: float = 0.0
    quality: Any = None
    worth: float = 0.0
    slack: float = 0.0

    def ties(self, other: Split, by: str) -> bool:
        """Whether both are worth exactly the same."""
        a, b = (self.gain, other.gain) if by == "gain" else (self.quality, other.quality)
        if isinstance(a, Sum):
            return same_sum(a, b)
        return same_ratio(a, b) if isinstance(a, tuple) else bool(a == b)


# ---- Greedy trees


class Greedy:
    """What a greedy tree over a table must be, node by node."""

    def __init__(self, table: Table, parameters: dict[str, Any], loose: float) -> None:
        self.table, self.p, self.loose = table, parameters, loose
        self.criterion = parameters["criterion"]
        costs = parameters.get("costs")
        k = table.n_classes
        self.costs = [[Fraction(str(c)) for c in row] for row in costs] if costs else None
        self.unit_costs = self.costs or [[Fraction(int(i != j)) for j in range(k)] for i in range(k)]
        self.slack = max(CLOSE[self.criterion], loose)
        self.close = 0

    def cost(self, masses: tuple[int, ...], label: int) -> Fraction:
        """What it costs to take cases of these masses for a class."""
        return sum((m * row[label] for m, row in zip(masses, self.unit_costs, strict=True)), Fraction(0))

    def label(self, masses: tuple[int, ...]) -> int:
        """The class of least cost; ties: the first."""
        return min(range(len(masses)), key=lambda label: self.cost(masses, label))

    def label_is_right(self, masses: tuple[int, ...], label: int) -> bool:
        """Whether a leaf may predict this: the best, of equal ones the first, or what rounding hides: where masses are
        rounded, of classes that should weigh the same either may be the heavier."""
        best = self.label(masses)
        if label == best:
            return True
        lost = self.cost(masses, label) - self.cost(masses, best)
        if self.loose > 0 and lost <= Fraction(self.loose) * sum(masses):
            self.close += 1
            return True
        return False

    def impurity(self, masses: tuple[int, ...]) -> Fraction:
        """Mass times impurity, where that is rational."""
        total = sum(masses)
        if self.criterion == "error" or total == 0:
            return min(self.cost(masses, label) for label in range(len(masses)))
        if self.costs is None:
            return total - Fraction(sum(m * m for m in masses), total)
        return sum((self.cost(masses, j) * m for j, m in enumerate(masses)), Fraction(0)) / total

    def candidates(self, rows: tuple[int, ...], column: int) -> Iterator[Split]:
        """In the order that decides ties."""
        values = [self.table.columns[column].values[row] for row in rows]
        levels = self.table.columns[column].levels
        key = (lambda v: levels.index(v)) if levels is not None else (lambda v: v)
        groups: list[Any] = sorted({v for v in values if v is not None}, key=key)
        # Missing values are a level, or there are none.
        groups += [None] if None in values else []
        if len(groups) < 2:
            return
        places = [groups.index(v) for v in values]
        if levels is None:
            for cut in range(len(groups) - 1):
                after = groups[cut + 1]
                if after is None:
                    yield Split(column, tuple(int(place <= cut) for place in places), None)
                else:
                    whole = [self.table.columns[column].values[row] for row in self.table.rows]
                    t = shortest.in_column(groups[cut], after, sorted({v for v in whole if v is not None}))
                    yield Split(column, tuple(int(place > cut) for place in places), t)
        elif self.p["nominal_splits"] == "multiway":
            yield Split(column, tuple(places), None)
        elif self.p["nominal_splits"] == "one_vs_rest":
            for one in range(len(groups)):
                yield Split(column, tuple(int(place != one) for place in places), None)
        else:
            for chosen in self._sets(rows, places, len(groups)):
                yield Split(column, tuple(int(place not in chosen) for place in places), None)

    def _sets(self, rows: tuple[int, ...], places: list[int], n: int) -> list[set[int]]:
        allowed = self.p["min_leaf"] == 1 and self.p.get("min_branch") in (None, 1)
        concave = self.criterion != "gini" or self.costs is None
        if self.table.n_classes == 2 and allowed and concave:
            of = [tuple(r for r, p in zip(rows, places, strict=True) if p == group) for group in range(n)]
            masses = [self.table.by_class(group) for group in of]
            order = sorted(range(n), key=lambda g: Fraction(masses[g][1], sum(masses[g])))
            both = [(set(order[:cut]), set(order[cut:])) for cut in range(1, n)]
            return [below if 0 in below else above for below, above in both]
        masks = range(1, (1 << n) - 1, 2)
        return [{place for place in range(n) if mask >> place & 1} for mask in masks]

    def judged(self, rows: tuple[int, ...], split: Split) -> Split | None:
        """The candidate with its worth, if it is a split."""
        t = self.table
        parts = [
            tuple(r for r, b in zip(rows, split.branches, strict=True) if b == branch)
            for branch in range(max(split.branches) + 1)
        ]
        parts = [part for part in parts if part]
        cases = [t.n_cases(part) for part in parts]
        least, two = self.p["min_leaf"], self.p.get("min_branch")
        if len(parts) < 2 or min(cases) < least or (two is not None and sum(c >= two for c in cases) < 2):
            return None
        masses, of = [t.by_class(part) for part in parts], t.by_class(rows)
        total = sum(of)
        if self.criterion in ("gini", "error"):
            gain = self.impurity(of) - sum(map(self.impurity, masses))
            if gain <= 0:
                return None
            split.gain = split.quality = gain / total
            split.near = split.worth = float(split.gain)
            split.slack = self.slack
            return split
        if all(m * total == sum(part) * w for part in masses for m, w in zip(part, of, strict=True)):
            return None
        gain_sum = entropy(of, total)
        for part in masses:
            subtract(gain_sum, entropy(part, total))
        split.gain = split.quality = gain_sum
        split.near = split.worth = gain_sum.near
        split.slack = self.slack
        if self.criterion == "gain_ratio":
            info = Sum(total)
            info.add(1, total)
            for part in masses:
                info.add(-1, sum(part))
            split.quality = (gain_sum, info)
            # A branch of a mass that floats do not see: the quotient is not known here.
            split.worth = gain_sum.near / info.near if info.near > FLOAT else math.nan
            split.slack = self.slack * (1 + abs(split.worth)) / max(info.near, FLOAT)
        return split

    def column_best(self, rows: tuple[int, ...], column: int) -> list[Split]:
        """All splits of a column; the best is first, and then those in order."""
        least = self.p.get("min_gain", 0.0)
        splits = [s for s in (self.judged(rows, c) for c in self.candidates(rows, column)) if s is not None]
        kept = []
        for split in splits:
            if self.criterion in ("gini", "error"):
                enough, doubt = split.gain >= Fraction(least), abs(split.gain - Fraction(least)) <= split.slack
                doubt = doubt and split.gain != Fraction(least)
            else:
                # Parts of other proportions than the whole gain something, however little floats see of it.
                enough, doubt = least == 0 or split.near >= least, least > 0 and abs(split.near - least) <= split.slack
            if doubt:
                raise UndecidedError
            if enough:
                kept.append(split)
        return kept

    def choose(self, rows: tuple[int, ...], depth: int, taken: Split | None) -> Split | None:
        """The split of a node. `taken` is what the library took: it is right where it is within what may be rounded."""
        of = self.table.by_class(rows)
        most = self.p.get("max_depth")
        if sum(m > 0 for m in of) < 2 or (most is not None and depth >= most):
            return None
        if self.table.n_cases(rows) < self.p["min_cases"]:
            return None
        best: list[Split] = []
        for column in range(len(self.table.columns)):
            splits = self.column_best(rows, column)
            if splits:
                best.append(self._first(splits, taken, "gain"))
        return self._first(best, taken, "quality") if best else None

    def _first(self, splits: list[Split], taken: Split | None, by: str) -> Split:
        def size(split: Split) -> Any:
            return split.near if by == "gain" else split.worth

        rational = self.criterion in ("gini", "error")
        if any(math.isnan(size(split)) for split in splits):
            raise UndecidedError
        most = max(splits, key=lambda s: s.gain if rational else size(s))
        same = [s for s in splits if s is most or s.ties(most, by)]
        top = same[0]
        if rational:
            near = [s for s in splits if s not in same and most.gain - s.gain <= s.slack]
        else:
            near = [s for s in splits if s not in same and size(most) - size(s) <= s.slack + most.slack]
        if near:
            self.close += 1
            if taken is None:
                raise UndecidedError
            # The first of its equals, if the library took one of them.
            mine = [s for s in near if s.column == taken.column and s.branches == taken.branches]
            if mine:
                return next(s for s in splits if s is mine[0] or s.ties(mine[0], by))
        return top


class UndecidedError(Exception):
    """The decision is within what may be rounded, and nothing can be said of the tree."""


def entropy(masses: tuple[int, ...], unit: int) -> Sum:
    """Mass times entropy, as a sum."""
    result = Sum(unit)
    result.add(1, sum(masses))
    for mass in masses:
        result.add(-1, mass)
    return result


def subtract(a: Sum, b: Sum) -> None:
    """Takes b from a."""
    for x, times in b.terms.items():
        a.terms[x] = a.terms.get(x, 0) - times
    a.near -= b.near


# ---- Optimal trees


class Optimal:
    """The least cost over all trees, and the canonical one."""

    def __init__(self, table: Table, parameters: dict[str, Any], penalty: int) -> None:
        self.table, self.p, self.penalty = table, parameters, penalty
        self.tests: list[tuple[int, frozenset[int], float | None]] = []
        for place, column in enumerate(table.columns):
            self.tests += self._tests(place, column)
        self.best = cache(self._best)

    def _tests(self, place: int, column: Column) -> Iterator[tuple[int, frozenset[int], float | None]]:
        rows, values = self.table.rows, column.values
        present = sorted({values[row] for row in rows if values[row] is not None})
        if column.levels is None:
            for low, high in itertools.pairwise(present):
                passing = frozenset(r for r in rows if values[r] is not None and values[r] <= low)
                yield place, passing, shortest.between(low, high)
        elif len(present) > 1:  # whether there is a level at all is for the test below to ask
            for level in column.levels:
                yield place, frozenset(r for r in rows if values[r] == level), None
        if len(present) < len({values[row] for row in rows}):
            yield place, frozenset(r for r in rows if values[r] is None), None

    def leaf(self, rows: frozenset[int]) -> tuple[int, int]:
        """Cost and label; ties: the first."""
        masses = self.table.by_class(tuple(rows))
        most = max(masses)
        return sum(masses) - most, masses.index(most)

    def splits(self, rows: frozenset[int]) -> Iterator[tuple[int, frozenset[int], frozenset[int]]]:
        """Tests that leave enough cases on both sides."""
        least = self.p["min_leaf"]
        for place, (_, passing, _) in enumerate(self.tests):
            yes = rows & passing
            no = rows - yes
            if yes and no and min(self.table.n_cases(tuple(yes)), self.table.n_cases(tuple(no))) >= least:
                yield place, yes, no

    def _best(self, rows: frozenset[int], depth: int, nodes: int) -> tuple[int, int]:
        """Least cost, and fewest splits of that cost."""
        nodes = min(nodes, (1 << depth) - 1)
        result = (self.leaf(rows)[0], 0)
        if nodes == 0 or result[0] == 0:
            return result
        for _, yes, no in self.splits(rows):
            for share in self.shares(depth, nodes):
                left = self.best(yes, depth - 1, share)
                right = self.best(no, depth - 1, nodes - 1 - share)
                result = min(result, (left[0] + right[0] + self.penalty, left[1] + right[1] + 1))
        return result

    def shares(self, depth: int, nodes: int) -> range:
        """How many splits the passing branch may get: all that it can use, where the budget does not bind."""
        most = (1 << (depth - 1)) - 1
        if nodes >= 2 * most + 1:
            return range(most, most + 1)
        return range(max(0, nodes - 1 - most), min(most, nodes - 1) + 1)

    def canonical(self, rows: frozenset[int], depth: int, nodes: int) -> Any:
        """Nested (test, passing, failing) down to labels."""
        nodes = min(nodes, (1 << depth) - 1)
        cost, (leaf, label) = self.best(rows, depth, nodes)[0], self.leaf(rows)
        if leaf == cost:
            return label
        for place, yes, no in self.splits(rows):
            for share in self.shares(depth, nodes):
                rest = nodes - 1 - share
                if self.best(yes, depth - 1, share)[0] + self.best(no, depth - 1, rest)[0] + self.penalty == cost:
                    return place, self.canonical(yes, depth - 1, share), self.canonical(no, depth - 1, rest)
        raise AssertionError("no tree of the least cost")
