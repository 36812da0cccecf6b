"""Damaged files: every one gives a typed error or a table, within bounds of time and memory, and no process ends.

    python tests/stress/files.py --seed 1 --cases 3000 [--first 0]

Case k of a seed is the same file for ever. Files are CSV, Parquet, Arrow IPC, Feather and JSON trees with flipped
bytes, truncations, insertions, swapped blocks, huge counts and lengths, deep nesting, NUL bytes, text that is no
UTF-8. They are read in child processes, many in each; one that ends, hangs or grows names the file it was reading.
Every fortieth is given to the command line. Exits with 1 and the failures if there are any; ``--first`` carries on
where a run ended.
"""

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

FORMATS = ("csv", "parquet", "ipc", "feather", "json")
BATCH = 100
SECONDS = 60.0
"""What one file may take, on a machine that has other things to do."""
MEGABYTES = 600
"""By how much reading a file may raise the peak of either process."""
ADDRESS_SPACE = 8 << 30
"""So that what should fail here does not fail elsewhere."""
COMMAND_LINE = 40

_HUGE = (0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 1 << 40, (1 << 62) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


def case_file(seed: int, case: int) -> tuple[str, bytes]:
    """Return the name and the bytes of a damaged file."""
    rng = random.Random(f"{seed} {case}")
    kind = FORMATS[case % len(FORMATS)]
    name, data = _good(kind, rng)
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        _damage(damaged, kind, rng)
    if kind == "csv" and name.endswith(".gz") and rng.random() < 0.5:  # what is packed is damaged, not the packing
        text = bytearray(gzip.decompress(data))
        _damage(text, kind, rng)
        damaged = bytearray(gzip.compress(bytes(text)))
    return f"{case}_{name}", bytes(damaged)


def _good(kind: str, rng: random.Random) -> tuple[str, bytes]:
    """Return the name and the bytes of a file before it is damaged."""
    import polars as pl

    if kind == "json":
        return "tree.json", _tree(rng).encode()
    frame = _table(rng)
    file = io.BytesIO()
    if kind == "csv":
        separator = rng.choice(",,\t")
        text = frame.select(pl.exclude("l")).write_csv(
            separator=separator, quote_style=rng.choice(["necessary", "always"])
        )
        data = text.replace("\n", rng.choice(["\n", "\n", "\r\n"])).encode()
        data = rng.choice([b"", b"", b"\xef\xbb\xbf"]) + data
        name = "table.csv" if separator == "," else "table.tsv"
        return (f"{name}.gz", gzip.compress(data)) if rng.random() < 0.2 else (name, data)
    if kind == "parquet":
        compression: Any = rng.choice(["zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed", "uncompressed"])
        rows = rng.choice([None, 7])
        if rng.random() < 0.5:
            frame.write_parquet(file, compression=compression, row_group_size=rows, statistics=rng.random() < 0.5)
        else:
            import pyarrow.parquet

            packed = "none" if compression == "uncompressed" else compression
            page = rng.choice(["1.0", "2.0"])
            table = frame.to_arrow()
            pyarrow.parquet.write_table(table, file, compression=packed, row_group_size=rows, data_page_version=page)
        return "table.parquet", file.getvalue()
    if rng.random() < 0.5:
        frame.write_ipc(file, compression=rng.choice(["uncompressed", "zstd", "lz4"]))
    else:
        import pyarrow.feather

        pyarrow.feather.write_feather(frame.to_arrow(), file, compression=rng.choice(["uncompressed", "zstd", "lz4"]))
    return "table.arrow" if kind == "ipc" else "table.feather", file.getvalue()


def _table(rng: random.Random) -> Any:
    import polars as pl

    n = rng.choice((0, 1, 5, 40, 300))
    days = pl.Series([rng.randrange(20_000) for _ in range(n)], dtype=pl.Int32)
    columns = {
        "f": pl.Series([rng.choice((None, rng.random(), 1.5, -0.0)) for _ in range(n)], dtype=pl.Float64),
        "i": pl.Series([rng.choice((None, rng.randrange(9), 2**40)) for _ in range(n)], dtype=pl.Int64),
        "s": pl.Series(
            [rng.choice((None, "", "a", "é", "a longer text than others", "0300")) for _ in range(n)], dtype=pl.String
        ),
        "c": pl.Series([rng.choice("xyz") for _ in range(n)], dtype=pl.Categorical),
        "e": pl.Series([rng.choice("xyz") for _ in range(n)], dtype=pl.Enum(["z", "y", "x"])),
        "b": pl.Series([rng.choice((True, False, None)) for _ in range(n)], dtype=pl.Boolean),
        "d": days.cast(pl.Date),
        "t": days.cast(pl.Int64).cast(pl.Datetime("us")),
        "l": pl.Series([[1, 2]] * n, dtype=pl.List(pl.Int64)),
    }
    names = rng.sample(sorted(columns), len(columns))
    labels = pl.Series([rng.choice("pq") for _ in range(n)], dtype=pl.String)
    return pl.DataFrame({**{name: columns[name] for name in names}, "y": labels})


def _tree(rng: random.Random) -> str:
    import lattree

    n = 40
    table = {
        "f": [rng.random() for _ in range(n)],
        "c": [rng.choice("xyz") for _ in range(n)],
        "i": [rng.choice((None, 1, 2, 3)) for _ in range(n)],
        "y": [rng.choice("pq") for _ in range(n)],
    }
    search: Any = rng.choice(
        (lattree.GreedyTreeSearch(max_depth=4, nominal_splits="subsets"), lattree.OptimalTreeSearch(max_depth=2))
    )
    text: str = search.run(lattree.Dataset(table, "y")).tree.to_json()
    return text


def _damage(data: bytearray, kind: str, rng: random.Random) -> None:
    """Damage a file in one of many ways."""
    size = len(data)
    # Metadata stand at the end of Parquet and IPC files, and are hit too seldom by chance.
    place = rng.randrange(size) if size else 0
    if size and kind in ("parquet", "ipc", "feather") and rng.random() < 0.4:
        place = max(0, size - 1 - rng.randrange(800))
    width = rng.choice((1, 4, 8, 30))
    way = rng.randrange(13) if rng.random() < 0.5 else rng.randrange(4)
    if way <= 2 and size:
        readable = kind in ("csv", "json") and rng.random() < 0.8
        data[place] = rng.choice(b'0123456789abcxyzpq,;:[]{}"\n\r\t -+.eE?') if readable else rng.randrange(256)
    elif way == 3 and size:
        data[place] ^= 1 << rng.randrange(8)
    elif way == 4:
        del data[place:]
    elif way == 5:
        del data[place : place + width]
    elif way == 6:
        data[place:place] = bytes(rng.randrange(256) for _ in range(width))
    elif way == 7 and size:
        other = rng.randrange(size)
        one, two = data[place : place + width], data[other : other + width]
        data[place : place + width], data[other : other + width] = two, one
    elif way == 8:
        bits = rng.choice((32, 64))
        data[place : place + bits // 8] = (rng.choice(_HUGE) % (1 << bits)).to_bytes(bits // 8, "little")
    elif way == 9:
        data[place:place] = rng.choice(
            (b"\0" * width, b"\xff\xfe\xed", b"\xc3\x28", b"\xff" * 9 + b"\x7f", b'"', b"\r")
        )
    elif way == 10 and kind == "json":
        text = data.decode(errors="replace")
        opening = rng.choice(("[", '{"a":', "[[", '{"schema":['))
        hostile = (
            opening * 100_000,
            text.replace("1", "1" * 400, 3),
            text.replace(":", ":" + opening * 5_000, 2),
            text.replace("0", "18446744073709551615", 4),
            text.replace("[", "[" + "0," * 1000, 1),
            text.replace('"y"', '"\\ud800"'),
            text.replace("0.", "1e999", 1),
        )
        data[:] = rng.choice(hostile).encode()
    elif way == 10 and kind == "csv":
        hostile_text = (
            b'"',
            b'"""',
            b"," * 50_000,
            b"\n" * 1000,
            b"9" * 400,
            b"a" * 100_000,
            b"1e999",
            "१".encode(),
            b"\0",
        )
        data[place:place] = rng.choice(hostile_text)
    elif way == 10 and size > 12:
        data[-8:-4] = rng.choice((0, 1, size, 2**31 - 1, 2**32 - 1, rng.randrange(size))).to_bytes(4, "little")
    elif way == 11:
        data[:] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 12, 500))))
    else:
        data[place : place + width] = data[place : place + width] * 3


def _read(path: Path, like: Any) -> str:
    """Read one file as a user would, and use what comes of it."""
    import lattree

    kind = path.name.partition("_")[2].partition(".")[2]
    if kind == "json":
        tree = lattree.Tree.from_json(path.read_text(errors="surrogateescape"))
        repr(tree), tree.to_dot(), tree.rules(), lattree.Tree.from_json(tree.to_json())
        return "read"
    suffix = kind.partition(".")[0]
    reader = {"parquet": lattree.read_parquet, "arrow": lattree.read_ipc, "feather": lattree.read_ipc}
    data: lattree.Dataset = reader.get(suffix, lattree.read_csv)(path, "y", **like)
    repr(data)
    frame = data.to_polars()
    if frame.width and frame.height != data.n_rows:
        raise AssertionError(f"{data.n_rows} rows, {frame.height} in the frame")
    if data.n_rows and data.schema.task == "classes":
        tree = lattree.GreedyTreeSearch(max_depth=2).run(data).tree
        if len(tree.predict(data)) != data.n_rows:
            raise AssertionError("a row without a prediction")
    return "read"


def _serve() -> None:
    """Read the files named on stdin, and say for each how it ended."""
    import resource

    import lattree
    from lattree import _files

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    # Advice, which says once for each place that levels are new.
    warnings.simplefilter("ignore", UserWarning)
    base = lattree.Dataset({"f": [0.5, 1.0, 2.0], "c": ["x", "y", "z"], "y": ["p", "q", "q"]}, "y")

    def peaks() -> tuple[int, int]:
        other = _files._taster.process
        high = 0
        with contextlib.suppress(OSError):
            if other is not None:
                status = Path(f"/proc/{other.pid}/status").read_text()
                high = int(status.partition("VmHWM:")[2].split()[0])
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10, high >> 10

    for line in sys.stdin:
        path = Path(line.rstrip("\n"))
        print("start", path, flush=True)
        case = int(path.name.partition("_")[0])
        lists = ["l"] if case % len(FORMATS) in (1, 2, 3) else []  # no CSV file has lists
        all_options = ({"drop": lists}, {"like": base}, {"drop": ["s", *lists]}, {"drop": lists, "nominal": ["y", "s"]})
        options = all_options[case // len(FORMATS) % len(all_options)]
        before, written, began = peaks(), os.fstat(2).st_size, time.monotonic()
        try:
            outcome = _read(path, options)
        except (lattree.LattreeError, OSError) as error:
            text = str(error)
            outcome = (
                "error" if text and len(text) < 5000 else f"FAILED: {type(error).__name__} of {len(text)} characters"
            )
        except BaseException as error:
            outcome = f"FAILED: {type(error).__name__}: {str(error)[:200]!r}"
        grown = [after - one for one, after in zip(before, peaks(), strict=True)]
        if max(grown[0], grown[1] if before[1] else 0) > MEGABYTES:
            outcome += f" FAILED: grew by {grown} MB"
        if time.monotonic() - began > SECONDS:
            outcome += f" FAILED: took {time.monotonic() - began:.1f} s"
        if os.fstat(2).st_size > written:
            outcome += " FAILED: wrote to stderr"
        print("end", outcome.replace("\n", " "), flush=True)


def _read_all(paths: list[Path]) -> dict[Path, str]:
    """Read files in child processes; one that ends or hangs is replaced, and its file is to blame."""
    outcomes: dict[Path, str] = {}
    while rest := [path for path in paths if path not in outcomes]:
        current: Path | None = None
        with tempfile.TemporaryFile() as errors:
            child = subprocess.Popen(
                [sys.executable, __file__, "--serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
            )
            assert child.stdin is not None
            assert child.stdout is not None
            names = "".join(f"{path}\n" for path in rest)
            feeder = threading.Thread(target=_feed, args=(child.stdin, names))
            feeder.start()
            watchdog = threading.Timer(4 * SECONDS, child.kill)
            watchdog.start()
            for line in child.stdout:
                watchdog.cancel()
                watchdog = threading.Timer(4 * SECONDS, child.kill)
                watchdog.start()
                what, _, text = line.rstrip("\n").partition(" ")
                if what == "start":
                    current = Path(text)
                elif what == "end" and current is not None:
                    outcomes[current], current = text, None
            watchdog.cancel()
            child.wait()
            feeder.join()
            child.stdout.close()
            errors.seek(0)
            trace = errors.read().decode(errors="replace")[-300:]
        if current is not None:
            outcomes[current] = f"FAILED: the process ended with {child.returncode}: {trace!r}"
        elif child.returncode != 0:
            raise RuntimeError(f"no file could be read: {trace}")
    return outcomes


def _feed(pipe: Any, text: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        pipe.write(text)
        pipe.close()


def _on_the_command_line(path: Path) -> str:
    """Describe a file on the command line: a table, or one clean line and exit code 2."""
    if path.suffix == ".json":
        return ""
    command = [sys.executable, "-m", "lattree", "describe", str(path), "--target", "y"]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=5 * SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f" FAILED: the command line took {5 * SECONDS} s"
    if run.returncode == 0:
        return "" if not run.stderr else f" FAILED: the command line wrote {run.stderr[:200]!r}"
    clean = run.returncode == 2 and run.stderr.startswith("error: ") and run.stderr.count("\n") == 1 and not run.stdout
    return "" if clean else f" FAILED: the command line ended with {run.returncode}: {run.stderr[:200]!r}"


def run(seed: int, first: int, cases: int) -> list[str]:
    """Read `cases` files from case `first` on; return the failures, each with its case."""
    return _run(seed, first, cases)[0]


def _run(seed: int, first: int, cases: int) -> tuple[list[str], dict[str, int]]:
    failures, counts = [], dict.fromkeys((f"{kind} {how}" for kind in FORMATS for how in ("read", "error")), 0)
    for start in range(first, first + cases, BATCH):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for case in range(start, min(start + BATCH, first + cases)):
                name, data = case_file(seed, case)
                paths.append(Path(folder) / name)
                paths[-1].write_bytes(data)
            outcomes = _read_all(paths)
            for case, path in enumerate(paths, start):
                outcome = outcomes[path]
                if case % COMMAND_LINE == 0:
                    outcome += _on_the_command_line(path)
                if "FAILED" in outcome:
                    failures.append(f"seed {seed} case {case} {path.name}: {outcome}")
                    print(failures[-1], flush=True)
                else:
                    counts[f"{FORMATS[case % len(FORMATS)]} {outcome}"] += 1
        print(f"{min(start + BATCH, first + cases)} cases, {len(failures)} failures", file=sys.stderr, flush=True)
    return failures, counts


def main() -> int:
    """Run the cases that the arguments say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        _serve()
        return 0
    began = time.monotonic()
    failures, counts = _run(given.seed, given.first, given.cases)
    seconds = time.monotonic() - began
    print(json.dumps({"files": given.cases, "failures": len(failures), "seconds": round(seconds), **counts}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
