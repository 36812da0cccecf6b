"""Part `weights`: masses from 1e-300 to 1e300, class weights, costs and penalties on small tables, against the exact
reference of `exact.py`; and the same tables with all masses scaled, which must give the same trees.

Masses mean the floats they are, or, where they were made as decimals or as multiples of a common factor, those: 0.1 is
a tenth, and 1/9, 2/9, 4/9 are as 1, 2, 4. A typed refusal is right where masses are far apart; for whole numbers,
decimals of few digits and proportions of small numbers it is a failure. Where the documentation allows rounding (gains
within 2^-30 of the mass of the node, Gini within 2^-50, masses of many digits by 2^-24, costs of optimal trees within
the resolution) either choice passes; such cases are counted as close.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from fractions import Fraction
from typing import Any

import exact
import numpy as np
import polars as pl

import lattree
from lattree import (
    AcceptableSubsetSearch,
    Binarizer,
    Dataset,
    ExhaustiveSubsetSearch,
    GreedyTreeSearch,
    OptimalTreeSearch,
)

FACTORS = {"1/3": 1 / 3, "0.1": 0.1, "pi": math.pi, "2^50": 2.0**50, "2^-50": 2.0**-50}
# Families of masses: those whose meaning is plain may not be refused.
PLAIN = {"none", "whole", "dyadic", "decimal", "proportional"}

# Masses of many digits may be rounded by 2^-24 of themselves.
ROUNDED = {"real", "wide", "powers"}
LOOSE = 2.0**-22


def draw(seed: int, number: int, _small: bool = False) -> dict[str, Any]:
    """A problem: all it takes to run it again."""
    rng = random.Random(f"weights-{seed}-{number}")
    n, k = rng.randint(2, 12), rng.choice([2, 2, 2, 3, 4])
    task = rng.choices(["greedy", "optimal", "scaled", "subsets"], [45, 30, 17, 8])[0]
    columns = [_column(rng, n) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.3:
        # A copy, so that there are ties between columns.
        columns.append(columns[0])
    y = [rng.randrange(k) for _ in range(n)]
    y[:2] = [0, 1]
    family, meant, floats = _masses(rng, n)
    if task in ("greedy", "scaled") and rng.random() < 0.25:
        columns[0], y, meant = _independent(rng)
        n, k, family = len(y), len(set(y)), "proportional"
        columns = [columns[0]] + [_column(rng, n) for _ in range(rng.choice([0, 0, 1]))]
        factor = rng.choice([1.0, 1 / 3, 0.1, math.pi, 1 / sum(meant), 10.0 ** rng.randint(-290, 290)])
        floats = [mass * factor for mass in meant]
        if task == "scaled":
            family, floats = "whole", [float(mass) for mass in meant]
    elif task == "scaled":
        whole = rng.random() < 0.7
        meant = [rng.randint(1, 9) if whole else rng.randint(1, 99) / 10 for _ in range(n)]
        family, floats = "whole" if whole else "decimal", [float(mass) for mass in meant]
    optimal = task == "optimal" or (task == "scaled" and rng.random() < 0.4)
    total = sum(floats) if floats else float(n)
    parameters = _optimal(rng, floats, total) if optimal else _greedy(rng, k, task)
    return {
        "task": task,
        "columns": columns,
        "y": y,
        "family": family,
        "meant": meant,
        "weights": floats,
        "counts": [rng.randint(1, 3) for _ in range(n)] if rng.random() < 0.15 else None,
        "search": "optimal" if optimal else "greedy",
        "parameters": parameters,
        "penalty": _penalty(rng) if task == "subsets" else 0.0,
    }


def _column(rng: random.Random, n: int) -> list[Any]:
    """Numbers of few values, or names; a fifth with missing cells."""
    values: list[Any]
    few = rng.randint(2, 6)
    values = [float(rng.randrange(few)) for _ in range(n)]
    if rng.random() < 0.5:
        values = ["abcdef"[int(value)] for value in values]
    if rng.random() < 0.2:
        gone = [None if rng.random() < 0.25 else value for value in values]
        # A column needs a value.
        values = gone if any(value is not None for value in gone) else values
    return values


def _independent(rng: random.Random) -> tuple[list[Any], list[int], list[int]]:
    """A column that says nothing of the class, though no two masses need be equal: products of two small factors."""
    k, levels = rng.randint(2, 3), rng.randint(2, 3)
    of_class, of_level = ([rng.randint(1, 6) for _ in range(n)] for n in (k, levels))
    cells = list(itertools.product(range(levels), range(k)))
    rng.shuffle(cells)
    names = rng.random() < 0.5
    column: list[Any] = ["abc"[level] if names else float(level) for level, _ in cells]
    return column, [c for _, c in cells], [of_level[level] * of_class[c] for level, c in cells]


def _masses(rng: random.Random, n: int) -> tuple[str, list[Any] | None, list[float] | None]:
    """A family, what is meant (None: the floats themselves), and the floats."""
    family = rng.choice(
        ["none", "whole", "dyadic", "decimal", "proportional", "proportional", "products", "real", "wide", "powers"]
    )
    small = [rng.randint(1, rng.choice([2, 4, 9])) for _ in range(n)]
    match family:
        case "none":
            return family, None, None
        case "whole":
            most = rng.choice([6, 100, 1 << 40])
            return family, None, [float(rng.randint(1, most)) for _ in range(n)]
        case "dyadic":
            power = 2.0 ** rng.randint(-200, 200)
            return family, None, [mass * power for mass in small]
        case "decimal":
            digits = rng.randint(1, 4)
            whole = [rng.randint(1, 10 ** rng.randint(1, digits + 1)) for _ in range(n)]
            return family, None, [float(f"{mass}e-{digits}") for mass in whole]
        case "proportional":
            factor = rng.choice([1 / 3, 0.1, math.pi, 1 / 7, 1 / sum(small), 10.0 ** rng.randint(-290, 290)])
            return family, small, [mass * factor for mass in small]
        case "products":
            # Two factors whose products are exact: shares may be equal although no two masses are.
            factors = [rng.uniform(0.5, 2.0) for _ in range(3)]
            return family, None, [rng.choice(factors) * 2.0 ** rng.randint(0, 3) for _ in range(n)]
        case "real":
            return family, None, [rng.uniform(0.1, 10.0) for _ in range(n)]
        case "wide":
            spread = rng.choice([1, 10, 50, 300])
            return family, None, [10.0 ** rng.uniform(-spread, spread) for _ in range(n)]
        case _:
            spread = rng.choice([3, 10, 30, 300])
            return family, None, [float(f"{rng.randint(1, 3)}e{rng.randint(-spread, spread)}") for _ in range(n)]


def _greedy(rng: random.Random, k: int, task: str) -> dict[str, Any]:
    modes = ["fractional", "fractional", "drop", "level", "mean"] if task == "scaled" else ["level", "drop"]
    costs = None
    if rng.random() < 0.25:
        costs = [[0 if i == j else rng.choice([0, 1, 2, 3, 0.5, 0.1]) for j in range(k)] for i in range(k)]
    weights = rng.choice([None, None, None, "balanced", "each"])
    each = {str(label): rng.choice([1, 2, 3, 0.5, 0.1, 1.5]) for label in range(k)}
    return {
        "criterion": rng.choice(["information_gain", "information_gain", "gini", "error", "gain_ratio"]),
        "nominal_splits": rng.choice(["multiway", "one_vs_rest", "subsets"]),
        "missing": "level" if task == "subsets" else rng.choice(modes),
        "min_cases": rng.choice([2, 2, 2, 3, 4]),
        "min_leaf": rng.choice([1, 1, 1, 2]),
        "min_branch": rng.choice([None, None, None, 2]),
        "max_depth": rng.choice([None, None, 1, 2]),
        "min_gain": rng.choice([0.0, 0.0, 0.0, 0.0, 0.0625, 0.125, 0.25]),
        "max_leaves": None if task != "scaled" else rng.choice([None, None, 2, 3, 4]),
        "class_weight": each if weights == "each" else weights,
        "costs": costs,
    }


def _optimal(rng: random.Random, floats: list[float] | None, total: float) -> dict[str, Any]:
    some = (floats or [1.0])[0]
    depth = rng.choice([1, 2, 2, 2, 3])
    return {
        "max_depth": depth,
        "max_nodes": rng.choice([None, None, None, 1, 2, 3]),
        "min_leaf": rng.choice([1, 1, 1, 2, 3]),
        "node_penalty": rng.choice([0.0, 0.0, 0.0, some, some / 2, 2 * some, total]),
        "rank": rng.choice(["objective", "objective", ["objective", "nodes"]]),
        "engine": rng.choice(["tests", "continuous"]),
    }


def _penalty(rng: random.Random) -> float:
    return rng.choice([0.0, 0.1, 0.25, 0.6, 0.001, 1e-6, 0.0625, 3.0])


# ---- Running


def run(problem: dict[str, Any], _patience: float = 1.0) -> dict[str, Any]:
    """What came of a problem."""
    result: dict[str, Any] = {"problems": [], "task": problem["task"], "family": problem["family"]}
    try:
        {"greedy": _run_greedy, "optimal": _run_optimal, "scaled": _run_scaled, "subsets": _run_subsets}[
            problem["task"]
        ](problem, result)
    except exact.UndecidedError:
        result["close"] = True
    except (lattree.DataError, lattree.ParameterError) as refusal:
        result["refused"] = str(refusal)[:300]
        if problem["family"] in PLAIN and not _must_refuse(problem):
            result["problems"].append(f"refused: {refusal}"[:300])
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        result["problems"].append(f"{type(error).__name__}: {error}"[:300])
    except BaseException as panic:
        result["problems"].append(f"{type(panic).__name__}: {panic}"[:300])
    return result


def _must_refuse(problem: dict[str, Any]) -> bool:
    """Whether no row is left to learn from."""
    gone = any(all(c[row] is not None for c in problem["columns"]) for row in range(len(problem["y"])))
    return problem["parameters"].get("missing") == "drop" and not gone


def _dataset(problem: dict[str, Any], weights: list[float] | None) -> Dataset:
    frame = {f"c{i}": values for i, values in enumerate(problem["columns"])}
    extra = {"weight": None if weights is None else np.array(weights), "counts": problem["counts"]}
    return Dataset(pl.DataFrame(frame | {"y": problem["y"]}), "y", **extra)


def _grown(problem: dict[str, Any], data: Dataset) -> Any:
    parameters = dict(problem["parameters"])
    if isinstance(parameters["class_weight"], dict):
        present = set(problem["y"])
        parameters["class_weight"] = {int(k): v for k, v in parameters["class_weight"].items() if int(k) in present}
    if parameters["costs"] is not None:
        labels = sorted(set(problem["y"]))
        parameters["costs"] = [[parameters["costs"][i][j] for j in labels] for i in labels]
    return GreedyTreeSearch(**parameters, threads=1).run(data)


def _searched(problem: dict[str, Any], data: Dataset, factor: float = 1.0) -> Any:
    parameters = dict(problem["parameters"])
    parameters["node_penalty"] *= factor
    return OptimalTreeSearch(**parameters, binarizer=Binarizer(thresholds="all"), threads=1).run(data)


def _fractions(problem: dict[str, Any]) -> list[Fraction]:
    """What masses mean."""
    if problem["weights"] is None:
        return [Fraction(1)] * len(problem["y"])
    if problem["meant"] is not None:
        return [Fraction(str(mass)) for mass in problem["meant"]]
    if problem["family"] in ("decimal", "powers"):
        return [Fraction(repr(mass)) for mass in problem["weights"]]
    return [Fraction(mass) for mass in problem["weights"]]


def _table(problem: dict[str, Any], data: Dataset, extra: list[Fraction]) -> tuple[exact.Table, list[int]]:
    """The table in whole units, and `extra` in the same."""
    labels = sorted(set(problem["y"]))
    classes = [labels.index(label) for label in problem["y"]]
    p = problem["parameters"]
    levels = [feature.levels or None for feature in data.schema.features]
    columns = [exact.Column(values, of) for values, of in zip(problem["columns"], levels, strict=True)]
    rows = list(range(len(classes)))
    if p.get("missing") == "drop":
        rows = [row for row in rows if all(column.values[row] is not None for column in columns)]
    masses = _fractions(problem)
    counts = problem["counts"] or [1] * len(classes)
    masses = [mass * count for mass, count in zip(masses, counts, strict=True)]
    weight = p.get("class_weight")
    if weight == "balanced":
        of = [sum((masses[row] for row in rows if classes[row] == c), Fraction(0)) for c in range(len(labels))]
        present = sum(mass > 0 for mass in of)
        masses = [
            mass * sum(of) / (present * of[c]) if of[c] else mass for mass, c in zip(masses, classes, strict=True)
        ]
    elif weight is not None:
        masses = [mass * Fraction(str(weight[str(label)])) for mass, label in zip(masses, problem["y"], strict=True)]
    units = exact.whole(masses + extra)
    table = exact.Table(columns, classes, units[: len(masses)], counts, len(labels), rows)
    return table, units[len(masses) :]


def _nodes(tree: lattree.Tree) -> Any:
    return json.loads(tree.to_json())["nodes"]


def _branch(node: Any, column: exact.Column, row: int, without: int | None) -> int:
    """The branch of a row; `without`: where a missing value goes that the test does not ask for."""
    kind, test = next(iter(node["test"].items()))
    value = column.values[row]
    if kind == "missing":
        return int(value is not None)
    if value is None:
        if kind == "each_of" and test["missing"]:
            return len(test["levels"])
        return node["default"] if without is None else without
    if kind == "at_most":
        return int(value > test["threshold"]["float"])
    assert column.levels is not None
    level = column.levels.index(value)
    if kind == "is":
        return int(level != test["level"])
    if kind == "in":
        return int(level not in test["levels"])
    return level if kind == "each_level" else test["levels"].index(level)


def _feature(node: Any) -> int:
    return int(next(iter(node["test"].values()))["feature"])


def _run_greedy(problem: dict[str, Any], result: dict[str, Any]) -> None:
    data = _dataset(problem, problem["weights"])
    nodes = _nodes(_grown(problem, data).tree)
    table, _ = _table(problem, data, [])
    parameters = dict(problem["parameters"])
    if parameters["costs"] is not None:
        labels = sorted(set(problem["y"]))
        parameters["costs"] = [[parameters["costs"][i][j] for j in labels] for i in labels]
    # Where the documentation allows masses to be rounded they are not far apart, or are multiplied by class weights.
    near = parameters["class_weight"] is not None or max(table.masses) < min(table.masses) << 45
    judge = exact.Greedy(table, parameters, LOOSE if problem["family"] in ROUNDED and near else 0.0)

    def walk(place: int, rows: tuple[int, ...], depth: int, parent: tuple[int, ...]) -> str | None:
        node = nodes[place]
        masses = table.by_class(rows or parent)
        if "label" in node:
            if not judge.label_is_right(masses, node["label"]):
                return f"node {place} predicts {node['label']}, right is {judge.label(masses)}: {_short(masses)}"
            wanted = judge.choose(rows, depth, None) if rows else None
            if wanted is not None and wanted.near <= judge.loose:
                raise exact.UndecidedError
            return wanted and f"node {place} is a leaf, right is {_words(wanted)}"
        column = _feature(node)
        branches = [_branch(node, table.columns[column], row, None) for row in rows]
        taken = exact.Split(column, _in_order(branches), None)
        wanted = judge.choose(rows, depth, taken)
        if wanted is None:
            return f"node {place} splits by {node['test']}, right is a leaf of {_short(masses)}"
        if (wanted.column, _in_order(wanted.branches, wanted.cut)) != (column, _in_order(branches, wanted.cut)):
            return f"node {place} splits by {node['test']}, right is {_words(wanted)}"
        if wanted.cut is not None and node["test"]["at_most"]["threshold"]["float"] != wanted.cut:
            return f"node {place} cuts by {node['test']}, right is {wanted.cut}"
        for branch, child in enumerate(node["children"]):
            part = tuple(row for row, b in zip(rows, branches, strict=True) if b == branch)
            found = walk(child, part, depth + 1, rows)
            if found:
                return found
        return None

    found = walk(0, tuple(table.rows), 0, ())
    if found:
        result["problems"].append(found)
    if judge.close:
        result["close"] = True


def _in_order(branches: Any, _cut: float | None = None) -> tuple[int, ...]:
    """Branches numbered without gaps, in their order."""
    used = sorted(set(branches))
    return tuple(used.index(branch) for branch in branches)


def _words(split: exact.Split) -> str:
    return f"column {split.column}, branches {split.branches}"


def _short(masses: tuple[int, ...]) -> str:
    """Masses per class, in parts of their sum."""
    total = sum(masses)
    return str([float(Fraction(mass, total)) for mass in masses]) if total else str(masses)


def _run_optimal(problem: dict[str, Any], result: dict[str, Any]) -> None:
    data = _dataset(problem, problem["weights"])
    found = _searched(problem, data)
    p = problem["parameters"]
    nodes = _nodes(found.tree)
    # The penalty is made of masses: in what they mean.
    first, meant = (problem["weights"] or [1.0])[0], _fractions(problem)
    total = sum(problem["weights"]) if problem["weights"] else float(len(problem["y"]))
    exactly = {first: meant[0], first / 2: meant[0] / 2, 2 * first: 2 * meant[0], 0.0: Fraction(0)}
    # Nearly all of the mass, whose sum in floats means nothing exact, forbids splits of tables of two rows and more.
    forbids = p["node_penalty"] == total and p["node_penalty"] not in exactly
    penalty = sum(meant) if forbids else exactly[p["node_penalty"]]
    table, extra = _table(problem, data, [penalty])
    judge = exact.Optimal(table, p, extra[0])
    n = p["max_nodes"] if p["max_nodes"] is not None else (1 << p["max_depth"]) - 1
    least, fewest = judge.best(frozenset(table.rows), p["max_depth"], n)

    def walk(place: int, rows: tuple[int, ...]) -> tuple[int, int, Any]:
        node = nodes[place]
        masses = table.by_class(rows)
        if "label" in node:
            return sum(masses) - masses[node["label"]], 0, node["label"]
        column = _feature(node)
        branches = [_branch(node, table.columns[column], row, 1) for row in rows]
        parts = [tuple(row for row, b in zip(rows, branches, strict=True) if b == branch) for branch in (0, 1)]
        yes, no = (walk(child, part) for child, part in zip(node["children"], parts, strict=True))
        shape = (column, frozenset(parts[0]), yes[2], no[2])
        return yes[0] + no[0] + judge.penalty, yes[1] + no[1] + 1, shape

    cost, size, shape = walk(0, tuple(table.rows))
    unit = Fraction(sum(table.masses[row] for row in table.rows)) / Fraction(
        sum(m * c for m, c in zip(meant, problem["counts"] or [1] * len(meant), strict=True))
    )
    if problem["meant"] is not None:
        unit *= Fraction(problem["meant"][0]) / Fraction(problem["weights"][0])
    user = Fraction(cost) / unit
    slack = Fraction(found.resolution) * (len(problem["y"]) + 3)
    if found.status != "optimal":
        result["problems"].append(f"the status is {found.status!r}")
    if found.resolution <= 0 or not math.isclose(float(user), found.objective, rel_tol=1e-9, abs_tol=float(slack)):
        result["problems"].append(f"the objective is {found.objective!r}, the tree costs {float(user)!r}")
    if cost != least:
        if Fraction(cost - least) / unit <= slack and not forbids:
            result["close"] = True
        elif not forbids:
            result["problems"].append(f"a tree of {float(user)!r}, best is {float(Fraction(least) / unit)!r}")
        return
    if p["rank"] != "objective":
        if size != fewest:
            result["problems"].append(f"{size} splits, {fewest} will do")
        return
    tests = judge.tests

    def shaped(tree: Any, rows: frozenset[int]) -> Any:
        if isinstance(tree, int):
            return tree
        place, yes, no = tree
        passing = rows & tests[place][1]
        return (tests[place][0], passing, shaped(yes, passing), shaped(no, rows - passing))

    wanted = shaped(judge.canonical(frozenset(table.rows), p["max_depth"], n), frozenset(table.rows))
    if shape != wanted and not forbids:
        # Trees that cost the same may differ by units of what was rounded: the whole numbers decide.
        unit_of = Fraction(found.resolution)
        numbers = [Fraction(number) for number in [*(problem["weights"] or ()), p["node_penalty"]]]
        if problem["family"] in ROUNDED and problem["meant"] is None and any(number % unit_of for number in numbers):
            result["close"] = True
        else:
            result["problems"].append(f"not the canonical tree: {shape}, right is {wanted}")


def _run_scaled(problem: dict[str, Any], result: dict[str, Any]) -> None:
    def shape(factor: float) -> Any:
        data = _dataset(problem, [mass * factor for mass in problem["weights"]])
        found = _searched(problem, data, factor) if problem["search"] == "optimal" else _grown(problem, data)
        return [{key: node[key] for key in ("test", "children", "label") if key in node} for node in _nodes(found.tree)]

    plain = shape(1.0)
    for name, factor in FACTORS.items():
        if shape(factor) != plain:
            result["problems"].append(f"{problem['search']}: another tree where masses are times {name}")


def _run_subsets(problem: dict[str, Any], result: dict[str, Any]) -> None:
    """The best subset of the features, over all of them one by one; errors and penalties are added exactly."""
    data = _dataset(problem, problem["weights"])
    whole = dict(problem["parameters"]) | {"class_weight": None, "costs": None}
    whole.pop("max_leaves")
    penalty = Fraction(repr(problem["penalty"]))
    masses = [m * c for m, c in zip(_fractions(problem), problem["counts"] or itertools.repeat(1), strict=False)]
    total = sum(masses)

    def value(tree: lattree.Tree) -> Fraction:
        wrong = tree.predict(data).to_numpy() != np.array(problem["y"])
        error = sum((mass for mass, bad in zip(masses, wrong, strict=True) if bad), Fraction(0)) / total
        return error + penalty * len(tree.features)

    names = data.schema.feature_names
    every = [list(s) for size in range(len(names) + 1) for s in itertools.combinations(names, size)]
    trees = [GreedyTreeSearch(**whole, threads=1).run(data.select(subset)).tree for subset in every]
    least = min(map(value, trees))
    options: dict[str, Any] = {"feature_penalty": problem["penalty"], "error": "training", "threads": 1}
    for cls in (AcceptableSubsetSearch, ExhaustiveSubsetSearch):
        found = cls(**whole, **options).run(data)
        got = value(found.tree)
        slack = Fraction(1, 1 << 24)
        if got != least:
            if got - least <= slack * least:
                result["close"] = True
                continue
            words = f"{cls.__name__}: {found.features} costs {float(got)!r}, best is {float(least)!r}"
            result["problems"].append(words)
        elif not math.isclose(found.objective, float(least), rel_tol=1e-6, abs_tol=1e-9):
            result["problems"].append(
                f"{cls.__name__}: the objective is {found.objective!r}, right is {float(least)!r}"
            )


def summary(results: dict[int, dict[str, Any]]) -> list[str]:
    """What all problems came to, in lines."""
    lines = []
    for what in ("task", "family"):
        for name in sorted({r[what] for r in results.values()}):
            of = [r for r in results.values() if r[what] == name]
            failed = sum(bool(r["problems"]) for r in of)
            refused, close = sum("refused" in r for r in of), sum("close" in r for r in of)
            lines.append(f"{name:14} {len(of):7} problems, {failed:5} differ, {refused:5} refused, {close:5} close")
    return lines
