"""No damaged file ends the process, raises what is not typed, or prints the trace of a panic."""

import importlib.util
import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

from lattree import DataError, Dataset, Tree, TreeError, _errors, _files, read_csv, read_ipc, read_parquet

FRAME = pl.DataFrame({"x": [1, None, 3] * 5, "s": ["ab", None, "cd"] * 5, "y": ["p", "q", "q"] * 5})


def stress(name):
    """A module of the stress suite, which is no package."""
    path = Path(__file__).parents[1] / "stress" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"stress_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.timeout(900)  # the module has its own limits, which leave room for a busy machine
@pytest.mark.parametrize("first", [0, 20, 40, 60, 80])
def test_fault_x10_damaged_files(first):
    """The first hundred of the stress suite, which says how to read more."""
    assert stress("files").run(1, first, 20) == []


def error_of(read, *arguments):
    """The text of the only error that a damaged file may raise; nothing if it can still be read."""
    try:
        read(*arguments)
    except DataError as error:
        return str(error)
    return ""


def bytes_of(kind, **options):
    file = io.BytesIO()
    getattr(FRAME, f"write_{kind}")(file, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("kind", "read"),
    [("parquet", read_parquet), ("ipc", read_ipc)],
)
def test_fault_x10_single_bytes(tmp_path, kind, read, capfd):
    good = bytes_of(kind, compression="uncompressed")
    path = tmp_path / "table"
    refused = 0
    for place in range(0, len(good), 7):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :])
        refused += error_of(read, path, "y") != ""
    assert refused > 50
    assert capfd.readouterr().err == ""
    path.write_bytes(good)
    assert read(path, "y").to_polars().equals(FRAME)


def test_fault_x10_a_panic_of_the_csv_reader(tmp_path, capfd):
    path = tmp_path / "table.csv"
    for cells in ('"\n1', '1\n"', '"1\n2', '1"\n"2'):
        path.write_text(f"x\n{cells}\n")
        assert "\n" not in error_of(read_csv, path)
    assert "panicked" not in capfd.readouterr().err


def test_an_error_does_not_show_a_whole_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('x,"y\n' + "a" * 100_000 + '\n1,"2')
    assert 0 < len(error_of(read_csv, path)) < 3000


def test_values_beyond_the_calendar_are_shown_as_trees_print_them(capfd):
    days = pl.Series([-800_000, None, 16_778_523], dtype=pl.Int32).cast(pl.Date)
    instants = pl.Series([0, 1 << 60, None]).cast(pl.Datetime("us"))
    early = pl.Series([0, -(1 << 62), 1]).cast(pl.Datetime("ms", "Europe/Vienna"))
    text = repr(Dataset({"d": days, "t": instants, "e": early}))
    assert "-800000 days since 1970-01-01 to 16778523 days since 1970-01-01" in text
    assert "1970-01-01 00:00:00 to 1152921504606846976 us since 1970-01-01" in text
    assert f"{-(1 << 62)} ms since 1970-01-01 to 1970-01-01 01:00:00.001000+01:00" in text
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", ["table.parquet", "table.arrow", "table.csv.gz"])
def test_fault_x10_on_the_command_line(tmp_path, name):
    path = tmp_path / name
    good = {
        "table.parquet": bytes_of("parquet"),
        "table.arrow": bytes_of("ipc"),
        "table.csv.gz": b"\x1f\x8b\x08" + b"x" * 50,
    }
    path.write_bytes(good[name][:-30] + b"\xff" * 30)
    run = subprocess.run(
        [sys.executable, "-m", "lattree", "greedy", str(path), "--target", "y"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"error: {path} cannot be read as ")
    assert run.stderr.count("\n") == 1


def test_columns_that_are_not_needed_are_not_read(tmp_path):
    odd = FRAME.with_columns(lists=pl.Series([[1]] * 15))
    odd.write_parquet(tmp_path / "t.parquet")
    odd.write_ipc(tmp_path / "t.arrow")
    like = Dataset(FRAME.select("x", "y"), "y")
    for read, name in ((read_parquet, "t.parquet"), (read_ipc, "t.arrow")):
        path = tmp_path / name
        assert read(path, "y", drop=["lists"]).to_polars().equals(FRAME)
        assert read(path, like=like).to_polars().equals(FRAME.select("x", "y"))
        assert read(path, drop=odd.columns).n_rows == 15
        with pytest.raises(DataError, match='column "lists" is List'):
            read(path, "y")
        with pytest.raises(DataError, match='the columns are "x", "s", "y", "lists"'):
            read(path, "z", drop=["lists"])
    FRAME.write_csv(tmp_path / "t.csv")
    assert read_csv(tmp_path / "t.csv", drop=FRAME.columns).n_rows == 15


class TestTheOtherProcess:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "table.parquet"
        path.write_bytes(bytes_of("parquet"))
        return path

    def test_is_started_again(self, path):
        read_parquet(path, "y")
        for end in ("kill", "terminate"):
            getattr(_files._taster.process, end)()
            assert read_parquet(path, "y").n_rows == 15

    def test_files_are_read_without_it_where_none_can_be_started(self, path, monkeypatch):
        def refused(*_, **__):
            raise BlockingIOError

        _files._taster.close()
        monkeypatch.setattr(subprocess, "Popen", refused)
        assert read_parquet(path, "y").n_rows == 15
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(DataError, match="cannot be read as Parquet"):
            read_parquet(path, "y")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
    def test_pipes_are_read_once(self, path, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(path.read_bytes(),))
        writer.start()
        assert read_parquet(pipe, "y").n_rows == 15
        writer.join()


def test_what_others_write_to_stderr_is_not_lost(capfd):
    with _errors.without_traces(), _errors.without_traces():
        os.write(2, b"from another thread\n")
    assert capfd.readouterr().err == "from another thread\n"

    @_errors.without_traces()
    def panics():
        os.write(2, b"thread panicked\n")
        raise pl.exceptions.PanicException

    with pytest.raises(pl.exceptions.PanicException):
        panics()
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"


def test_text_that_is_no_utf8_is_no_tree():
    with pytest.raises(TreeError, match="surrogates not allowed"):
        Tree.from_json("{\udcff}")
