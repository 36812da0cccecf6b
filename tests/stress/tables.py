"""Random tables for the part `limits`: what a case says in a few numbers becomes a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from lattree import Dataset

Case = dict[str, Any]


def log_uniform(rng: Any, least: float, most: float) -> float:
    """A number of any size between two, all sizes alike; `rng` is a `random.Random`."""
    return float(np.exp(rng.uniform(np.log(least), np.log(most))))


def draw(rng: Any, most_cells: int | None = None) -> Case:
    """The shape of a table: rows, columns, kinds, levels, classes, missing values, masses."""
    kind = rng.choice(["numeric", "numeric", "integer", "nominal", "mixed"])
    rows, columns = int(log_uniform(rng, 10, 200_000)), int(log_uniform(rng, 1, 5_000))
    # Text takes several times the bytes of numbers, and longer to read. A few tables are large.
    cells = 12_000_000 if rng.random() < 0.03 else 2_000_000
    cells = cells // (4 if kind in ("nominal", "mixed") else 1)
    cells = min(cells, most_cells or cells)
    if rng.random() < 0.5:
        columns = max(1, min(columns, cells // rows))
    rows = max(10, min(rows, cells // columns))
    columns = max(1, min(columns, cells // rows))
    return {
        "rows": rows,
        "columns": columns,
        "kind": kind,
        # How many values a numeric column has; None: as many as rows.
        "values": None if rng.random() < 0.4 else int(log_uniform(rng, 2, max(3, rows))),
        "levels": int(log_uniform(rng, 2, 50_000)),
        "classes": max(2, min(rows, 2 if rng.random() < 0.35 else int(log_uniform(rng, 2, 5_000)))),
        "signal": rng.choice(["columns", "columns", "columns", "none", "chain"]),
        "missing": 0.0 if rng.random() < 0.6 else rng.choice([0.01, 0.1, 0.5]),
        "masses": rng.choice([None, None, None, None, "counts", "whole", "decimal", "real"]),
        "table_seed": rng.randrange(1 << 32),
    }


# Costs of more labels would be more than the rest of the table.
MOST_LABELS = 200


def draw_costs(rng: Any, table: Case) -> Case:
    """What an exact search counts: errors as a rule."""
    objective = rng.choice(["errors", "errors", "errors", "balanced_errors", "costs", "costs"])
    classes = table["classes"]
    if objective == "errors" or (objective == "costs" and classes > min(MOST_LABELS, 4_000_000 // table["rows"])):
        return {}
    digits = rng.choice(["real", "decimal", "thirds", "sevenths"]) if objective == "costs" else None
    return {"objective": objective, "digits": digits}


def build(case: Case) -> tuple[dict[str, Any], bool]:
    """The table as arguments of a data set, and whether they are those of `from_arrays`."""
    rng = np.random.default_rng(case["table_seed"])
    n = case["rows"]
    kinds = ["numeric", "integer", "nominal"]
    kinds = rng.choice(kinds, case["columns"]).tolist() if case["kind"] == "mixed" else [case["kind"]] * case["columns"]
    levels = pl.Series([f"l{i}" for i in range(case["levels"])]) if "nominal" in kinds else None
    masses = _masses(rng, case)
    columns: list[Any] = []
    strength = np.zeros(n)
    for place, kind in enumerate(kinds):
        codes = _numbers(rng, case, kind)
        if place < 3:
            strength += np.argsort(np.argsort(codes, kind="stable"), kind="stable") % max(2, n // 2)
        columns.append(codes)
    y = _classes(rng, case, columns[0], strength)
    masses |= _costs(case, np.unique(y))
    if levels is None and case["missing"] == 0 and case["table_seed"] % 2 == 0:
        return {"X": np.stack(columns, axis=1), "y": y} | masses, True
    gone = rng.random(len(kinds)) < 0.5
    series = {}
    for place, (kind, codes) in enumerate(zip(kinds, columns, strict=True)):
        column = levels.gather(codes) if kind == "nominal" and levels is not None else pl.Series(codes)
        if case["missing"] and (gone[place] or place == 0):
            column = pl.select(pl.when(pl.Series(rng.random(n) >= case["missing"])).then(column)).to_series()
        series[f"c{place}"] = column
    return {"table": pl.DataFrame(series | {"y": y}), "target": "y"} | masses, False


def dataset(case: Case) -> tuple[Dataset, float]:
    """The data set, and how long it took to read."""
    import time

    arguments, arrays = build(case)
    start = time.perf_counter()
    data = Dataset.from_arrays(**arguments) if arrays else Dataset(**arguments)
    return data, time.perf_counter() - start


def _numbers(rng: np.random.Generator, case: Case, kind: str) -> Any:
    n = case["rows"]
    if kind == "nominal":
        # Half of the columns have a few frequent levels and many rare ones.
        power = 1.0 if rng.random() < 0.5 else 4.0
        return (rng.random(n) ** power * case["levels"]).astype(np.uint32)
    if case["values"] is None:
        return rng.normal(size=n) if kind == "numeric" else rng.permutation(n)
    codes = rng.integers(0, case["values"], n)
    return codes / 7.0 - 1.0 if kind == "numeric" else codes


def _classes(rng: np.random.Generator, case: Case, first: Any, strength: Any) -> Any:
    n, k = case["rows"], case["classes"]
    noise = (rng.random(n) ** rng.choice([1.0, 3.0]) * k).astype(np.int64)
    if case["signal"] == "none":
        return noise
    if case["signal"] == "chain":
        return np.argsort(np.argsort(first, kind="stable"), kind="stable") % k
    order = np.argsort(np.argsort(strength, kind="stable"), kind="stable")
    return np.where(rng.random(n) < 0.2, noise, order * k // n)


def _costs(case: Case, classes: Any) -> dict[str, Any]:
    """A cost for each row and class, if they are what is counted."""
    if case.get("objective") != "costs":
        return {}
    rng = np.random.default_rng([case["table_seed"], 1])
    shape = (case["rows"], len(classes))
    match case["digits"]:
        case "real":
            return {"costs": rng.normal(size=shape)}
        case "decimal":
            return {"costs": rng.integers(-99, 1000, shape) / 100}
        case "thirds":
            return {"costs": rng.integers(0, 1 << 20, shape) / 3}
    return {"costs": rng.integers(0, 1 << 30, shape) / 7}


def _masses(rng: np.random.Generator, case: Case) -> dict[str, Any]:
    n = case["rows"]
    match case["masses"]:
        case "counts":
            counts = rng.integers(0, 6, n)
            counts[0] = 1
            return {"counts": counts}
        case "whole":
            return {"weight": rng.integers(1, 11, n).astype(float)}
        case "decimal":
            return {"weight": rng.integers(1, 100, n) / 10}
        case "real":
            return {"weight": rng.random(n) + 1e-3}
    return {}
