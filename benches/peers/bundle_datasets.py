"""Write the tables bundled with the package, as Parquet, from the CSV files of a data folder.

    python benches/peers/bundle_datasets.py --data DIR

DIR holds ``uci/`` and ``small/``: a CSV file per table (an empty cell is missing) and a JSON file beside it that lists
the nominal columns. Those are read as text whatever they look like; all others become integers or floats.
"""

import argparse
import json
from pathlib import Path

import polars as pl

SOURCES = {
    "anneal": "uci/anneal",
    "hypothyroid": "uci/hypothyroid",
    "ionosphere": "uci/ionosphere",
    "iris": "small/iris",
    "kr-vs-kp": "uci/kr-vs-kp",
    "restaurant": "small/restaurant",
    "soybean": "uci/soybean",
    "titanic": "small/titanic",
    "vote": "small/vote",
    "weather": "small/weather_numeric",
}
LIMIT = 400_000
"""Bytes that all tables together may take in the wheel."""


def read(stem: Path) -> pl.DataFrame:
    """Return one table, checked against the sizes that its JSON file states."""
    facts = json.loads(stem.with_name(stem.name + ".json").read_text())
    text = dict.fromkeys([*facts["nominal"], facts["target"]], pl.String)
    plain = stem.with_name(stem.name + ".csv")
    path = plain if plain.exists() else plain.with_name(plain.name + ".gz")
    frame = pl.read_csv(path, schema_overrides=text, infer_schema_length=None)
    # A column without any value says nothing about its dtype; polars calls it text.
    frame = frame.with_columns(
        pl.col(name).cast(pl.Float64) for name in facts["continuous"] if frame[name].null_count() == frame.height
    )
    wrong = [name for name in facts["continuous"] if not frame[name].dtype.is_numeric()]
    missing = frame.drop(facts["target"]).null_count().sum_horizontal().item()
    found = (frame.height, frame.width - 1, missing, wrong)
    if found != (facts["n"], facts["features"], facts["missing_cells"], []):
        raise SystemExit(f"{stem}: found rows, features, missing, non-numeric {found}, the JSON file says otherwise")
    return frame


def main() -> None:
    """Write all tables and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with uci/ and small/")
    default = Path(__file__).parents[2] / "python" / "lattree" / "datasets"
    parser.add_argument("--out", type=Path, default=default, help="where to write (default: the package)")
    arguments = parser.parse_args()
    total = 0
    for name, source in SOURCES.items():
        path = arguments.out / f"{name}.parquet"
        read(arguments.data / source).write_parquet(path, compression="zstd", compression_level=22, statistics=False)
        total += path.stat().st_size
        print(f"{name:<12} {path.stat().st_size:>8,} bytes")
    print(f"{'together':<12} {total:>8,} bytes")
    if total > LIMIT:
        raise SystemExit(f"the tables take more than {LIMIT:,} bytes")


if __name__ == "__main__":
    main()
