"""Pictures of trees and of searches, by matplotlib (extra ``plot``)."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lattree._core import Node, OptimalResult, ParameterError, Tree, _shown
from lattree._policy_result import PolicyResult
from lattree._progress import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Those of Okabe and Ito, which colour-blind people tell apart."""

_MOST_NODES = 63
"""So many nodes can be read; trees of more are folded."""

_BOX, _LINES, _COLUMNS = (0.9, 0.66), 4, 20
"""Width and height of a node, its lines of text and their length."""

_INCHES = (1.6, 1.35)
"""Of a leaf's column, and of a level."""


def plot(tree: Tree, *, ax: "Axes | None" = None, max_depth: int | None = None) -> "Axes":
    """Draw a tree.

    A node with branches shows its question, a leaf what it predicts; below it, how many rows came and how many of them
    it gets wrong, as in ``print(tree)``, and the shares of the classes in their colours. Branches say "yes" or "no", or
    the levels that take them, and "or missing" where rows without a value go. The thicker a line, the more came there.

    Parameters
    ----------
    tree : Tree
    ax : matplotlib Axes or None, default=None
        Where to draw; None: a figure of its own, as large as the tree needs.
    max_depth : int or None, default=None
        Nodes of this depth are drawn without what is below them; at least 0. None: as deep as leaves no more than 63
        nodes.

    Returns
    -------
    matplotlib Axes
        Its figure is `ax.figure`: ``ax.figure.savefig("tree.svg")`` writes it.

    Raises
    ------
    ImportError
        There is no matplotlib; the text says how to install it.
    ParameterError
        `max_depth` is negative.

    Examples
    --------
    >>> import lattree
    >>> tree = lattree.OptimalTreeSearch(max_depth=2).run(lattree.datasets.load("iris")).tree
    >>> lattree.plot(tree).figure.savefig("iris.svg")  # doctest: +SKIP
    """
    if max_depth is not None and max_depth < 0:
        raise ParameterError(f"`max_depth` must be at least 0, or None, got {max_depth}")
    nodes = tree.nodes()
    depth = _shown_depth(nodes) if max_depth is None else max_depth
    shown = [node for node in nodes if node.depth <= depth]
    places = _places(shown, depth)
    width = max(1.0, sum(1 for node in shown if _ends(node, depth)))
    levels = 1 + max(node.depth for node in shown)
    ax = _axes(ax, (max(4.0, _INCHES[0] * width), 0.5 + _INCHES[1] * levels))
    ax.set(xlim=(0, width), ylim=(0.5 - levels, 0.5))
    ax.set_axis_off()
    classes = [_class_name(label) for label in tree.schema.classes]
    colours = _colours(len(classes))
    texts: list[Text] = []
    for node in shown:
        if node.parent is not None:
            _draw_branch(ax, node, places[node.parent.index], places[node.index])
    for node in shown:
        texts.append(_draw_node(ax, node, places[node.index], colours, is_folded=node.depth == depth))
    _shrink(ax, texts)
    if len(classes) > 1:
        from matplotlib.patches import Patch

        handles = [Patch(color=colour, label=_short(name, 20)) for name, colour in zip(classes, colours, strict=True)]
        n_columns = min(len(classes), max(1, int(width / 2)))
        legend = ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=n_columns, frameon=False)
        for text in legend.get_texts():
            text.set_parse_math(False)
    return ax


def plot_trace(result: OptimalResult | PolicyResult, *, ax: "Axes | None" = None) -> "Axes":
    """Draw how the best tree and the bound of a search came closer: ``result.trace``.

    Parameters
    ----------
    result : OptimalResult or PolicyResult
    ax : matplotlib Axes or None, default=None
        Where to draw; None: a figure of its own.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        There is no matplotlib; the text says how to install it.
    """
    ax = _axes(ax, (6.4, 3.6))
    best, bound = ("reward", "upper bound") if isinstance(result, PolicyResult) else ("objective", "lower bound")
    entries = result.trace
    seconds = [entry[0] for entry in entries] + [result.seconds]
    values = [entry[1] for entry in entries] + [entries[-1][1]]
    bounds = [entry[2] for entry in entries] + [entries[-1][2]]
    ax.step(seconds, values, where="post", color=_COLOURS[0], label=f"{best}: {number(values[-1])}")
    ax.step(seconds, bounds, where="post", color=_COLOURS[1], label=f"{bound}: {number(bounds[-1])}")
    ax.fill_between(seconds, bounds, values, step="post", color=_COLOURS[4], alpha=0.2, linewidth=0)
    ax.set(xlabel="seconds", ylabel=best, title=f"{result.status}, gap {result.gap:.1%}")
    ax.legend()
    return ax


def _axes(ax: "Axes | None", size: tuple[float, float]) -> "Axes":
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'lattree[plot]'") from error
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def _shown_depth(nodes: Sequence[Node]) -> int:
    """Return the greatest depth down to which there are few nodes."""
    depth = max(node.depth for node in nodes)
    while depth > 0 and sum(node.depth <= depth for node in nodes) > _MOST_NODES:
        depth -= 1
    return depth


def _ends(node: Node, depth: int) -> bool:
    return node.is_leaf or node.depth == depth


def _places(shown: Sequence[Node], depth: int) -> dict[int, tuple[float, float]]:
    """Return where nodes are: ends beside each other, the others above the middle of their children."""
    places: dict[int, tuple[float, float]] = {}
    ends = [node.index for node in shown if _ends(node, depth)]
    columns = {index: column + 0.5 for column, index in enumerate(ends)}
    for node in reversed(shown):
        below = [] if _ends(node, depth) else [places[child.index][0] for child in node.children]
        x = (min(below) + max(below)) / 2 if below else columns[node.index]
        places[node.index] = (x, -float(node.depth))
    return places


def _colours(n_classes: int) -> list[Any]:
    if n_classes <= len(_COLOURS):
        return list(_COLOURS[:n_classes])
    from matplotlib import colormaps

    # Light and dark by turns, so that neighbours differ.
    order = [*range(0, n_classes, 2), *range(1, n_classes, 2)]
    shades = [colormaps["cividis"](place / (n_classes - 1)) for place in range(n_classes)]
    return [shades[order[place]] for place in range(n_classes)]


def _class_name(label: object) -> str:
    return _shown(label, is_class=True) if isinstance(label, str) else str(label)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _wrapped(text: str, lines: int) -> str:
    parts = textwrap.wrap(text, _COLUMNS, break_long_words=True) or [""]
    if len(parts) > lines:
        parts = [*parts[: lines - 1], parts[lines - 1][: _COLUMNS - 1] + "…"]
    return "\n".join(parts)


def _counts(node: Node) -> str:
    """Return how many rows came and how many of them are wrong, as they stand in the words of the node."""
    return "(" + str(node).rpartition(" (")[2].removesuffix(">")


def _draw_node(
    ax: "Axes", node: Node, place: tuple[float, float], colours: Sequence[Any], *, is_folded: bool
) -> "Text":
    from matplotlib.patches import FancyBboxPatch, Rectangle

    (x, y), (width, height) = place, _BOX
    says = _class_name(node.prediction) if node.is_leaf else str(node.test)
    if is_folded and not node.is_leaf:
        says = f"{_class_name(node.prediction)} …"
    text = f"{_wrapped(says, _LINES - 1)}\n{_counts(node)}"
    box = FancyBboxPatch(
        (x - width / 2, y - height / 2),
        width,
        height,
        boxstyle="round,pad=0,rounding_size=0.06",
        facecolor="white" if node.is_leaf else "#F3F3F3",
        edgecolor="#444444",
        linewidth=1.2 if node.is_leaf else 0.8,
        gid=f"node{node.index}",
    )
    ax.add_patch(box)
    total, left = sum(node.masses), x - 0.46 * width
    for mass, colour in zip(node.masses, colours, strict=True):
        part = 0.92 * width * mass / total if total > 0 else 0
        ax.add_patch(Rectangle((left, y - 0.44 * height), part, 0.12 * height, facecolor=colour, linewidth=0))
        left += part
    return ax.text(
        x,
        y + 0.07 * height,
        text,
        ha="center",
        va="center",
        fontsize=9,
        fontweight="bold" if node.is_leaf else "normal",
        parse_math=False,
        gid=f"text{node.index}",
    )


def _draw_branch(ax: "Axes", node: Node, above: tuple[float, float], here: tuple[float, float]) -> None:
    half = _BOX[1] / 2
    start, end = (above[0], above[1] - half), (here[0], here[1] + half)
    ax.plot(
        [start[0], end[0]],
        [start[1], end[1]],
        color="#888888",
        linewidth=0.6 + 3 * node.share,
        solid_capstyle="round",
        zorder=0,
    )
    ax.text(
        (start[0] + end[0]) / 2,
        (start[1] + end[1]) / 2,
        _short(_branch_words(node), 24),
        ha="center",
        va="center",
        fontsize=7.5,
        parse_math=False,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        zorder=1,
    )


def _branch_words(node: Node) -> str:
    parent, condition = node.parent, node.condition
    assert parent is not None, "a node without a parent has no branch"
    siblings = parent.children
    if len(siblings) == 2:
        words = "yes" if node.index == siblings[0].index else "no"
    else:
        words = ", ".join(condition.levels) if condition is not None else ""
    return f"{words} or missing" if condition is not None and condition.or_missing else words


def _shrink(ax: "Axes", texts: Sequence["Text"]) -> None:
    """Make all texts small enough for their boxes."""
    figure = ax.get_figure(root=True)
    assert figure is not None, "axes have a figure"
    figure.draw_without_rendering()
    size = ax.transData.transform(_BOX) - ax.transData.transform((0, 0))
    ratio = 1.0
    for text in texts:
        extent = text.get_window_extent()
        ratio = max(ratio, extent.width / (0.96 * size[0]), extent.height / (0.8 * size[1]))
    for text in texts:
        text.set_fontsize(9 / ratio)
