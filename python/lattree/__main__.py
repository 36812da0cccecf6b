"""The command ``lattree``, which says what to install if its extra is missing."""

import sys
import warnings

_EXTRA = ("typer", "click", "rich")


def main() -> None:
    """Run the command line, or exit with code 2 and the extra that it needs."""
    try:
        from lattree.cli import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        print(
            f"error: {error.name} is missing; install the command line with: pip install 'lattree[cli]'",
            file=sys.stderr,
        )
        sys.exit(2)
    # The line on stderr that says how a search ended says this too, in terms of options.
    warnings.filterwarnings("ignore", message="thresholds were thinned out")
    app(prog_name="lattree")


if __name__ == "__main__":
    main()
