"""A reader of what trees print: knows the words, and nothing of how trees are made or predict."""

import html
import re

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_NAME = rf'(?:{_QUOTED}|[^",{{}}\\]+?)'
_CONDITION = re.compile(
    rf"(?P<feature>{_NAME}) (?:"
    rf"(?P<cut><=|>) (?P<limit>{_NAME})"
    rf"|(?P<set>in|not in) \{{(?P<levels>(?:{_NAME}(?:, {_NAME})*)?)\}}"
    rf"|is (?P<word>missing|known|any other)"
    rf"|(?P<one>is not|is) (?P<level>{_NAME})"
    rf")(?P<or_missing> or missing)?"
)
_LEAF = re.compile(rf"(?P<label>{_NAME}) \((?P<mass>[^()/]+)(?:/(?P<errors>[^()/]+))?\)")
_LINE = re.compile(
    rf"(?P<bars>(?:\|   )*)(?:\[(?P<deep>\d+)\] )?(?P<condition>(?:{_QUOTED}|[^\"])*?)(?:: (?P<leaf>.*))?"
)


def name(text):
    """The name that stands there, with or without quotes."""
    if not text.startswith('"'):
        return text
    plain = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", '"': '"', "\\": "\\"}
    return re.sub(
        r"\\(?:u\{([0-9a-f]+)\}|(.))",
        lambda found: chr(int(found[1], 16)) if found[1] else plain[found[2]],
        text[1:-1],
        flags=re.DOTALL,
    )


class Condition:
    """One condition: on which feature, what it says of a value, whether it lets in cases without one."""

    def __init__(self, text):
        self.found = _CONDITION.fullmatch(text)
        assert self.found, text
        self.feature = name(self.found["feature"])
        self.or_missing = bool(self.found["or_missing"])
        self.word = self.found["word"]
        self.levels = [name(level) for level in re.findall(rf"({_NAME})(?:, |$)", self.found["levels"] or "")]

    def holds(self, value, order):
        """Whether a value meets it: a number, or a level (`order` is that of the levels of an ordinal column)."""
        if self.word:
            return self.word == "known"
        if cut := self.found["cut"]:
            limit = name(self.found["limit"])
            below = order.index(value) <= order.index(limit) if order else value <= type(value)(limit)
            return below == (cut == "<=")
        if self.found["set"]:
            return (value in self.levels) == (self.found["set"] == "in")
        return (value == name(self.found["level"])) == (self.found["one"] == "is")


class Leaf:
    """A prediction with its mass and what of it is of another class."""

    def __init__(self, text):
        found = _LEAF.fullmatch(text)
        assert found, text
        self.label, self.mass, self.errors = name(found["label"]), float(found["mass"]), float(found["errors"] or 0)


class Node:
    """Branches with their conditions, in order."""

    def __init__(self):
        self.branches = []

    @property
    def mass(self):
        return sum(child.mass for _, child in self.branches)

    def ways(self, row, orders, unseen):
        """The children that a row goes to, each with its share."""
        (feature,) = {condition.feature for condition, _ in self.branches}
        value = row[feature]
        if isinstance(value, str) and value not in orders[feature][1]:
            if unseen == "majority" and all(c.word not in ("missing", "known") for c, _ in self.branches[:1]):
                heaviest = max(child.mass for _, child in self.branches)
                return [(next(child for _, child in self.branches if child.mass == heaviest), 1.0)]
            if unseen == "missing":
                value = None
        if value is None:
            said = [child for c, child in self.branches if c.or_missing or c.word == "missing"]
            assert len(said) <= 1
            if said:
                return [(said[0], 1.0)]
            return [(child, child.mass / self.mass) for _, child in self.branches if child.mass > 0]
        order = orders[feature][1] if orders[feature][0] == "ordinal" else None
        met = [child for c, child in self.branches if c.word != "any other" and c.holds(value, order)]
        met = met or [child for c, child in self.branches if c.word == "any other"]
        assert len(met) == 1, (value, feature)
        return [(met[0], 1.0)]


def orders_of(schema):
    """What a reader knows of the columns: their kinds and levels."""
    return {feature.name: (feature.kind, feature.levels) for feature in schema.features}


def read_text(text):
    """The tree in a text."""
    lines = text.split("\n")
    if len(lines) == 1:
        return Leaf(text)
    root, path = Node(), []
    for line in lines:
        found = _LINE.fullmatch(line)
        assert found, line
        depth = len(found["bars"]) // 4 if not found["deep"] else int(found["deep"])
        assert depth <= len(path)
        del path[depth:]
        child = Leaf(found["leaf"]) if found["leaf"] is not None else Node()
        (path[-1] if path else root).branches.append((Condition(found["condition"]), child))
        path.append(child)
    return root


class _Answer:
    """The edge `yes` or `no` of a test in a graph."""

    def __init__(self, condition, label):
        self.condition, self.feature = condition, condition.feature
        self.yes = label.startswith("yes")
        self.or_missing = label.endswith(" or missing")
        word = {"missing": "known", "known": "missing"}.get(condition.word) if not self.yes else condition.word
        self.word = word

    def holds(self, value, order):
        return self.condition.holds(value, order) == self.yes


def read_dot(dot):
    """The tree in a graph; every line is of one of four forms."""
    lines = dot.split("\n")
    assert lines[0] == "digraph tree {"
    assert lines[-2:] == ["}", ""]
    labels, leaves, edges = {}, set(), []
    for line in lines[3:-2]:
        node = re.fullmatch(rf"  (n\d+) \[label=({_QUOTED})(, style=rounded)?\];", line)
        edge = re.fullmatch(rf"  (n\d+) -> (n\d+) \[label=(yes|no|{_QUOTED})\];", line)
        assert bool(node) != bool(edge), line
        # A label is a string, then a text with entities; neither holds a control character.
        assert line.isprintable(), line
        text = (node or edge)[2 if node else 3]
        text = html.unescape(re.sub(r"\\(.)", r"\1", text[1:-1])) if text.startswith('"') else text
        if node:
            labels[node[1]] = text
            leaves |= {node[1]} if node[3] else set()
        else:
            edges.append((edge[1], edge[2], text))
    made = {node: Leaf(label) if node in leaves else Node() for node, label in labels.items()}
    for parent, child, label in edges:
        test = labels[parent]
        if _CONDITION.fullmatch(test):
            condition = _Answer(Condition(test), label)
        else:
            condition = Condition(f"{test} {label}" if label.startswith("not in {") else f"{test} is {label}")
        made[parent].branches.append((condition, made[child]))
    return made["n0"]


def predict(tree, row, orders, unseen="majority"):
    """The label a tree in words predicts for a row; None where the words do not tell.

    Where a row ends in several leaves they are mixed: that takes the shares of both classes of each, which a leaf of
    two classes tells, and is left open where they are nearly equal.
    """
    ends, pending = [], [(tree, 1.0)]
    while pending:
        node, share = pending.pop()
        if isinstance(node, Leaf):
            ends.append((node, share))
        else:
            pending += [(child, share * part) for child, part in node.ways(row, orders, unseen)]
    if len(ends) == 1:
        return ends[0][0].label
    if any(leaf.mass == 0 for leaf, _ in ends):
        return None
    shares = {}
    labels = {leaf.label for leaf, _ in ends}
    for leaf, share in ends:
        wrong = leaf.errors / leaf.mass
        for label in labels:
            shares[label] = shares.get(label, 0) + share * (1 - wrong if label == leaf.label else wrong)
    if len(labels) == 1:
        return labels.pop() if min(shares.values()) > 0.501 else None
    (first, a), (second, b) = shares.items()
    return None if abs(a - b) < 1e-3 else first if a > b else second


def read_rule(text):
    """The conditions and the label of a rule as it prints."""
    found = re.fullmatch(rf"(?P<conditions>(?:{_QUOTED}|[^\"])*?): (?P<leaf>.*)", text)
    assert found, text
    leaf = Leaf(found["leaf"])
    if found["conditions"] == "always":
        return [], leaf.label
    assert found["conditions"].startswith("if ")
    parts = re.findall(rf"(?:{_QUOTED}|[^\"])+?(?= and |$)", found["conditions"][3:])
    parts = [part.removeprefix(" and ") for part in parts]
    return [Condition(part[1:-1] if part.startswith("(") else part) for part in parts], leaf.label


def labels_by_rules(rules, row, orders, unseen="majority"):
    """The labels of all rules whose conditions a row meets."""

    def meets(condition):
        value, (kind, levels) = row[condition.feature], orders[condition.feature]
        if unseen == "missing" and isinstance(value, str) and value not in levels:
            value = None
        if value is None:
            return condition.or_missing or condition.word == "missing"
        return condition.holds(value, levels if kind == "ordinal" else None)

    return [label for conditions, label in rules if all(meets(condition) for condition in conditions)]
