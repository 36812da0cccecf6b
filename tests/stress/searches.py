"""What a case of the part `limits` runs, and what its result must be."""

from __future__ import annotations

import itertools
import math
import os
import time
from typing import Any

import numpy as np
from tables import Case, log_uniform

import lattree
from lattree import Binarizer, Dataset, GreedyTreeSearch, OptimalTreeSearch

ENDS = {"time_limit", "memory_limit", "interrupted"}
STATUSES = {
    "optimal": ENDS | {"optimal", "optimal_over_tests", "complete"},
    "greedy": ENDS | {"complete"},
    "distinct": ENDS | {"complete"},
    "count": ENDS | {"complete"},
    "acceptable": ENDS | {"optimal", "acceptable"},
    "exhaustive": ENDS | {"optimal"},
    "elimination": ENDS | {"complete"},
}
SUBSETS = {
    "distinct": lattree.DistinctTreeSearch,
    "count": lattree.DistinctTreeSearch,
    "acceptable": lattree.AcceptableSubsetSearch,
    "exhaustive": lattree.ExhaustiveSubsetSearch,
    "elimination": lattree.BackwardEliminationSearch,
}
# Trees taken from an iterator before it is closed.
ENOUGH = 300
# More cells than this make lists of tests that nobody wants to see.
LISTED = 300_000


def draw(rng: Any, table: Case, kind: str) -> Case:
    """Parameters of a search; `rng` is a `random.Random`."""
    rows = table["rows"]
    if kind == "optimal":
        return _draw_optimal(rng, table)
    if kind == "binarizer":
        return {"binarizer": _draw_binarizer(rng, table["levels"], "tests")}
    if kind == "dataset":
        return {}
    parameters: Case = {
        "criterion": rng.choice(["information_gain", "information_gain", "gain_ratio", "gini", "error"]),
        "nominal_splits": rng.choice(["multiway", "one_vs_rest", "subsets"]),
        "missing": rng.choice(["fractional", "fractional", "mean", "class_mean", "level"]),
        "min_leaf": 1 if rng.random() < 0.7 else int(log_uniform(rng, 1, rows)),
        "min_branch": None if rng.random() < 0.8 else int(log_uniform(rng, 1, rows)),
        "max_depth": None if rng.random() < 0.5 else rng.randint(1, 12),
        "class_weight": rng.choice([None, None, None, "balanced"]),
    }
    if kind == "greedy":
        parameters["max_leaves"] = None if rng.random() < 0.6 else int(log_uniform(rng, 1, rows))
    if kind == "acceptable":
        parameters |= {"delta": rng.choice([0.0, 0.01, 0.1]), "feature_penalty": rng.choice([0.0, 0.001, 0.01])}
    if kind == "exhaustive":
        parameters["max_features"] = rng.choice([None, 1, 2, 3])
    if kind in ("acceptable", "exhaustive", "elimination"):
        parameters["error"] = rng.choice(["search", "search", "training", "pessimistic"])
    return parameters


def _draw_binarizer(rng: Any, levels: int, engine: str) -> Case:
    offered = ["auto", "all"] if engine == "continuous" else ["auto", "all", "exact", "quantile", "mdlp"]
    thresholds = rng.choice(offered)
    free = engine == "continuous" or thresholds in ("all", "exact", "mdlp") or rng.random() < 0.6
    return {
        "thresholds": thresholds,
        "max_tests": 1000 if rng.random() < 0.6 else int(log_uniform(rng, 10, 20_000)),
        "max_thresholds": None if free else int(log_uniform(rng, 1, 1000)),
        # Beyond ten levels all subsets are refused.
        "nominal": "subsets" if levels <= 12 and rng.random() < 0.5 else "one_vs_rest",
        "missing": rng.choice(["own_test", "own_test", "fails"]),
    }


def _draw_optimal(rng: Any, table: Case) -> Case:
    rows = table["rows"]
    engine = rng.choice(["auto", "auto", "tests", "continuous"])
    return {
        "max_depth": rng.randint(1, 6),
        "max_nodes": None if rng.random() < 0.6 else rng.randint(0, 40),
        "min_leaf": 1 if rng.random() < 0.6 else int(log_uniform(rng, 1, rows)),
        "node_penalty": 0.0 if rng.random() < 0.6 else rng.choice([0.5, 1.0, float(max(1, rows // 100))]),
        "rank": "objective" if rng.random() < 0.7 else ["objective", "nodes"],
        "engine": engine,
        "binarizer": None if rng.random() < 0.5 else _draw_binarizer(rng, table["levels"], engine),
        "discrepancies": None if rng.random() < 0.7 else rng.randint(0, 5),
        "effort": "proof" if rng.random() < 0.85 else "tree",
        "seed": rng.randint(0, 2**64 - 1),
    }


class Search:
    """The search of a case, ready to run."""

    def __init__(self, case: Case) -> None:
        self.kind: str = case["search"]
        self.parameters: Case = dict(case["parameters"])
        self.case = case
        if "objective" in case:
            self.parameters["objective"] = case["objective"]
        if self.parameters.get("binarizer") is not None:
            self.parameters["binarizer"] = Binarizer(**self.parameters["binarizer"])
        if self.kind in ("binarizer", "dataset", "probe"):
            return
        kinds: dict[str, Any] = {"optimal": OptimalTreeSearch, "greedy": GreedyTreeSearch}
        cls = (kinds | SUBSETS)[self.kind]
        limits = {"time_limit": case["time_limit"], "threads": case["threads"]}
        if hasattr(cls, "memory_limit"):
            limits["memory_limit"] = case["memory_limit"]
        self.search = cls(**self.parameters, **limits)

    def prepare(self, data: Dataset) -> None:
        """What is there before the clock starts."""
        self.data, self.held_out = data, None
        if self.kind in ("acceptable", "exhaustive", "elimination") and self.parameters["error"] == "search":
            self.data, self.held_out = data.take(range(0, len(data), 2)), data.take(range(1, len(data), 2))

    def run(self) -> Any:
        on_interrupt = {"on_interrupt": self.case["on_interrupt"]}
        match self.kind:
            case "binarizer":
                return self.parameters["binarizer"].tests(self.data)
            case "probe":
                return self._misbehave()
            case "dataset":
                return self.data.take(range(0, len(self.data), 3))
            case "distinct":
                trees = self.search.run(self.data)
                # A tree is made when it is asked for, on the time and in the memory of who asks.
                taken = [tree.features for tree in itertools.islice(trees, ENOUGH)]
                trees.close()
                return trees, taken
            case "count":
                return self.search.count(self.data, **on_interrupt)
            case "acceptable" | "exhaustive" | "elimination":
                return self.search.run(self.data, self.held_out, **on_interrupt)
            case _:
                return self.search.run(self.data, **on_interrupt)

    def _misbehave(self) -> list[int]:
        """What no search should do, to see that it is noticed."""
        held = np.ones(self.parameters.get("bytes", 0), dtype=np.uint8)
        end = time.monotonic() + self.parameters.get("seconds", 0.0)
        while time.monotonic() < end:
            try:
                time.sleep(0.01)
            except KeyboardInterrupt:
                if not self.parameters.get("deaf"):
                    raise
        if self.parameters.get("crashes"):
            os.abort()
        return [len(held)]

    def check(self, result: Any) -> tuple[list[str], Case]:
        """What is wrong with a result, and its figures."""
        problems: list[str] = []
        figures: Case = {}
        match self.kind:
            case "probe":
                pass
            case "binarizer":
                figures["tests"] = len(result)
            case "dataset":
                if len(result) != len(range(0, len(self.data), 3)):
                    problems.append(f"take gave {len(result)} rows")
            case "distinct":
                trees, taken = result
                figures["status"] = trees.status
                if len(set(taken)) < len(taken):
                    problems.append("a tree is listed twice")
                if trees.status == "complete" and trees.counts.distinct < len(taken):
                    problems.append(f"{len(taken)} trees were taken, {trees.counts.distinct} counted")
                return problems, figures
            case "count":
                if sum(result.by_size) != result.distinct:
                    problems.append("counts by size do not add up")
                if result.status == "complete" and result.distinct < 1:
                    problems.append("no tree at all")
            case "optimal":
                self._check_optimal(result, problems, figures)
            case "greedy":
                result.tree.predict(self.data)
            case _:
                self._check_subset(result, problems)
        if self.kind in STATUSES:
            figures["status"] = result.status
            if result.status not in STATUSES[self.kind]:
                problems.append(f"the status is {result.status!r}")
            if result.status == "interrupted" and self.case["interrupt"] is None:
                problems.append("interrupted by nobody")
        return problems, figures

    def _check_optimal(self, result: Any, problems: list[str], figures: Case) -> None:
        tree, p = result.tree, self.parameters
        objective, costs = self.case.get("objective", "errors"), self.data.costs
        classes, mass = classes_and_masses(self.data)
        if objective == "balanced_errors":
            of_classes = np.bincount(classes, weights=mass)
            of_classes[of_classes > 0] *= np.count_nonzero(of_classes)
            mass = mass / np.where(of_classes > 0, of_classes, 1.0)[classes]
        if objective == "costs":
            assert costs is not None
            predicted = np.searchsorted(np.array(self.data.schema.classes), tree.predict(self.data).to_numpy())
            values = costs.to_numpy()
            found = float((mass * values[np.arange(len(values)), predicted]).sum())
            leaf, total = float((mass @ values).min()), float((mass @ np.abs(values)).sum())
        else:
            found, total = errors(tree, self.data, classes, mass), float(mass.sum())
            leaf = total - float(np.bincount(classes, weights=mass).max())
        close = 1e-9 * total + len(mass) * (0.0 if result.resolution == 1 else result.resolution)
        penalty = p["node_penalty"] * (tree.n_leaves - 1)
        figures |= {"objective": result.objective, "exact": result.exact_thresholds, "total": total}
        if abs(found + penalty - result.objective) > close + 1e-9 * penalty:
            problems.append(f"the objective is {result.objective!r}, predictions say {found + penalty!r}")
        if not (objective == "costs" or result.lower_bound >= 0) or result.lower_bound > result.objective:
            problems.append(f"the bound is {result.lower_bound!r}, the objective {result.objective!r}")
        if result.status == "optimal" and result.lower_bound != result.objective:
            problems.append(f"optimal with a bound of {result.lower_bound!r} for {result.objective!r}")
        if result.lower_bound > result.tests_bound or result.tests_bound > result.objective:
            problems.append(f"the bound over the tests offered is {result.tests_bound!r}")
        if result.status == "complete" and p["effort"] == "proof":
            problems.append("complete, where a proof was wanted")
        if result.objective > leaf + close:
            problems.append(f"worse than a leaf: {result.objective!r} and {leaf!r}")
        if tree.depth > p["max_depth"] or (p["max_nodes"] is not None and tree.n_leaves - 1 > p["max_nodes"]):
            problems.append(f"a tree of depth {tree.depth} with {tree.n_leaves - 1} splits")
        if tree.n_leaves > 1:
            counts = self.data.to_polars()["counts"].to_numpy() if self.case["masses"] == "counts" else None
            least = np.bincount(tree.apply(self.data), weights=counts)
            least = least[least > 0].min()
            if least < p["min_leaf"]:
                problems.append(f"a leaf of {least} cases")

    def _check_subset(self, result: Any, problems: list[str]) -> None:
        names = self.data.schema.feature_names
        if not set(result.tree.features) <= set(result.features) <= set(names):
            problems.append("the tree asks for other features")
        if not -1e-12 <= result.lower_bound <= result.objective + 1e-12:
            problems.append(f"the bound is {result.lower_bound!r}, the objective {result.objective!r}")
        judged = self.held_out if self.parameters["error"] == "search" else self.data
        if judged is None or self.parameters["error"] == "pessimistic":
            return
        classes, mass = classes_and_masses(judged)
        total = float(mass.sum())
        if total == 0:
            return
        wrong = errors(result.tree, judged, classes, mass) / total
        if not math.isclose(wrong, result.error, rel_tol=1e-6, abs_tol=1e-9):
            problems.append(f"the error is {result.error!r}, predictions say {wrong!r}")
        if self.kind == "elimination" or result.status not in ("optimal", "acceptable"):
            return
        # The empty subset is one of those searched.
        if self.parameters["class_weight"] is None:
            own, own_mass = classes_and_masses(self.data)
            label = int(np.bincount(own, weights=own_mass).argmax())
            leaf = float(mass[classes != label].sum()) / total
            if result.objective > leaf + self.parameters.get("delta", 0.0) + 1e-6:
                problems.append(f"worse than a leaf: {result.objective!r} and {leaf!r}")

    def greedy(self) -> GreedyTreeSearch:
        """A greedy tree that the exact search may find too, for half of the time."""
        p = self.parameters
        limits: Case = {"time_limit": self.case["time_limit"] / 2, "threads": self.case["threads"]}
        if hasattr(GreedyTreeSearch, "memory_limit"):
            limits["memory_limit"] = self.case["memory_limit"] // 2
        most = None if p["max_nodes"] is None else p["max_nodes"] + 1
        return GreedyTreeSearch(
            nominal_splits="one_vs_rest", max_depth=p["max_depth"], min_leaf=p["min_leaf"], max_leaves=most, **limits
        )


def classes_and_masses(data: Dataset) -> tuple[Any, Any]:
    """The class of every row, as a whole number, and its mass."""
    frame = data.to_polars()
    mass = np.ones(len(frame))
    for name in ("counts", "weight"):
        if name in frame.columns and name not in data.schema.feature_names:
            mass = mass * frame[name].to_numpy()
    target = data.target
    assert target is not None
    return target.to_numpy(), mass


def errors(tree: lattree.Tree, data: Dataset, classes: Any, mass: Any) -> float:
    """The mass of rows that a tree predicts wrongly."""
    return float(mass[tree.predict(data).to_numpy() != classes].sum())
