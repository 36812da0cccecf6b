"""Parquet and Arrow IPC files, read by polars, and first by another process that may break.

polars ends the process on some damaged files: it asks for as many bytes as a few broken ones say, and gets none. That
cannot be caught, nor seen before all pages are unpacked. So another process reads a file first and says whether it can
be read; it stays for the next one. Starting it takes as long as importing polars, once; after that a file costs its
second reading. This file is that process too, so it imports nothing of the package.

Where no process can be started files are read without it.
"""

import atexit
import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

if __name__ == "__main__":
    sys.path[:] = json.loads(sys.stdin.readline())

import polars as pl

_IDLE = 300.0
"""Seconds after which a process without work ends."""

_MOST_SHOWN = 1000
"""Characters of an error: it may show a cell that is a whole file."""

Source = str | IO[bytes]


def column_names(kind: str, source: Source) -> list[str]:
    """Return the names of the columns of a ``"Parquet"`` or ``"Arrow IPC"`` file, or of one for ``"pyarrow"``."""
    if kind == "pyarrow":
        return list(_opened(source).schema.names)
    return list((pl.read_parquet_schema if kind == "Parquet" else pl.read_ipc_schema)(source))


def read_columns(kind: str, source: Source, places: list[int] | None) -> Any:
    """Return columns as a polars frame, or as a pyarrow table of checked values; None: all.

    By place, since polars takes some names for patterns.
    """
    if kind == "pyarrow":
        table = _opened(source).read_all()
        table = table if places is None else table.select(places)
        table.validate(full=True)
        return _without_views(table)
    return (pl.read_parquet if kind == "Parquet" else pl.read_ipc)(source, columns=places)


def lacks_type(reason: str) -> bool:
    """Say whether polars refused a file for a type that pyarrow may know, rather than for damage."""
    known = "pyarrow" in sys.modules or importlib.util.find_spec("pyarrow") is not None
    return known and any(words in reason for words in ("not yet implemented", "not supported", "not implemented"))


def _without_views(table: Any) -> Any:
    """A table whose text is in one piece: polars follows views of missing cells, and pyarrow does not check these."""
    import pyarrow

    plain = {pyarrow.string_view(): pyarrow.large_string(), pyarrow.binary_view(): pyarrow.large_binary()}
    types = [(field.name, plain.get(field.type, field.type)) for field in table.schema]
    return table.cast(pyarrow.schema(types)) if any(field.type in plain for field in table.schema) else table


def _opened(source: Source) -> Any:
    import pyarrow.ipc

    return pyarrow.ipc.open_file(source)


class UnreadableError(Exception):
    """The other process could not read a file; the text says why."""


class _Taster:
    """The other process, and the lock of those who wait for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[str] | None = None
        self.inherited: list[Any] = []

    def forget(self) -> None:
        """In a forked process: leave the other process, and a lock that no one here holds, to the parent."""
        self.lock = threading.Lock()
        self.inherited.append(self.process)  # whose end would otherwise be waited for here
        self.process = None

    def ask(self, request: dict[str, Any]) -> Any:
        """Return the answer to a request; None if no process can be started."""
        with self.lock:
            for _ in range(2):  # a process that ended for lack of work is found out by asking
                if not (self._runs() or self._start()):
                    return None
                assert self.process is not None
                assert self.process.stdin is not None
                assert self.process.stdout is not None
                answer = ""
                try:
                    self.process.stdin.write(json.dumps(request) + "\n")
                    self.process.stdin.flush()
                    answer = self.process.stdout.readline()
                except BrokenPipeError:
                    pass
                except BaseException:  # Ctrl-C: what it would still answer is of no use
                    self.close()
                    raise
                if answer:
                    return json.loads(answer)
                code = self.process.wait()
                self.close()
                if code not in (0, -signal.SIGTERM, -9):
                    return {"error": "it is damaged, and ends the process that reads it"}
            return {"error": "the process that reads it was ended"}

    def _runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def _start(self) -> bool:
        self.close()
        executable = _python()
        if executable is None:
            return False
        try:
            self.process = subprocess.Popen(
                [executable, "-I", str(Path(__file__).resolve())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="ascii",
                start_new_session=True,  # Ctrl-C is for this process
            )
        except (OSError, subprocess.SubprocessError):
            return False
        ready = ""
        try:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.write(json.dumps([path for path in sys.path if isinstance(path, str)]) + "\n")
            self.process.stdin.flush()
            ready = self.process.stdout.readline()
        except BrokenPipeError:
            pass
        except BaseException:
            self.close()
            raise
        if not ready:
            self.close()
        return bool(ready)

    def close(self) -> None:
        """End the process."""
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                assert pipe is not None
                pipe.close()


def _python() -> str | None:
    """The interpreter to start, or None where what runs is no interpreter."""
    if getattr(sys, "frozen", False) or not sys.executable:
        return None
    from multiprocessing.spawn import get_executable  # which programs with an interpreter inside set

    executable = get_executable()
    return os.fsdecode(executable) if executable else None


_taster = _Taster()
atexit.register(_taster.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_taster.forget)


def taste(path: str, kind: str, places: list[int] | None = None, *, names: bool = False) -> None:
    """Have another process read the names, or columns, of a file.

    Raises
    ------
    UnreadableError
        It could not, or did not survive it.
    """
    answer = _taster.ask({"path": path, "kind": kind, "places": places, "names": names})
    if answer is not None and "error" in answer:
        raise UnreadableError(answer["error"])


def _serve() -> None:
    """Read files as told, line by line, until there is no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what a library prints is no answer
    print("ready", file=answers, flush=True)
    while True:
        end = threading.Timer(_IDLE, os._exit, (0,))
        end.daemon = True
        end.start()
        line = sys.stdin.readline()
        end.cancel()
        if not line:
            os._exit(0)
        answer: dict[str, Any] = {"ok": True}
        try:
            _try(**json.loads(line))
        except BaseException as error:  # a panic of polars is no Exception
            answer = {"error": (str(error).splitlines() or [""])[0][:_MOST_SHOWN] or type(error).__name__}
        print(json.dumps(answer), file=answers, flush=True)


def _try(path: str, kind: str, places: list[int] | None, names: bool) -> None:
    with Path(path).open("rb") as file:
        if names:
            column_names(kind, file)
            return
        table = read_columns(kind, file, places)
    if isinstance(table, pl.DataFrame):
        for column in table:
            with contextlib.suppress(pl.exceptions.PolarsError):  # a dtype without it
                column.alias("x").hash()  # every cell is looked at; polars takes some names for patterns


if __name__ == "__main__":
    _serve()
