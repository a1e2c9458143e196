"""Where things stand in the picture of a schema: tables as boxes in layers, links as lines between their columns.

A table stands to the right of those that it leads to. Within a layer, tables are ordered by where their neighbours
stand (Sugiyama's way). Lines that pass through a layer have a gap there, so that they cross no box; those that lead to
the same key share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ruleminer.structure.overview import ToldLink, told_keys, told_links
from ruleminer.structure.structure import Structure

CHARACTER, LINE, HEAD, GAP = 7.0, 17.0, 24.0, 20.0  # sizes in pixels: a letter, a row, a box's title, between boxes
BETWEEN = 90.0  # layers
MARGIN = 24.0
_LANE = 12.0  # what a line that passes through a layer takes up
_LONGEST = 30  # characters of a name that are shown
_TALLEST = 14  # boxes in a layer; more go to the next one
_SWEEPS = 12


@dataclass(frozen=True, slots=True)
class Box:
    """A table: its rows are the columns that are keys or links."""

    table: str
    columns: tuple[str, ...]
    x: float
    y: float
    width: float

    @property
    def height(self) -> float:
        """Of title and rows."""
        return _height(self.columns)

    def row(self, column: str) -> float:
        """The middle of a column's row; of the title, if the column is not shown."""
        if column not in self.columns:
            return self.y + HEAD / 2
        return self.y + HEAD + LINE * (self.columns.index(column) + 0.5)


@dataclass(frozen=True, slots=True)
class Line:
    """A link as a way from point to point, from the linking column to the key."""

    link: ToldLink
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole picture."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def shown(name: str) -> str:
    """A name as it fits into a box."""
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def layout_of(structure: Structure) -> Layout:
    """Lay out all tables; those without any link stand below, side by side."""
    links = told_links(structure)
    columns = {table.name: _columns(structure, table.name, links) for table in structure.schema.tables}
    widths = {name: _width(structure, name, columns[name]) for name in columns}
    tied = {link.table for link in links if link.table != link.target} | {
        link.target for link in links if link.table != link.target
    }
    layers = _layers([name for name in columns if name in tied], links)
    ways = _ways(layers, links)
    order = _ordered(layers, ways)
    heights = {name: _height(columns[name]) + GAP for name in columns}
    middles = _middles(order, ways, heights)
    boxes: dict[str, Box] = {}
    lefts: list[float] = []
    x = MARGIN
    for layer in order:
        lefts.append(x)
        wide = max((widths[one] for one in layer if isinstance(one, str)), default=0.0)
        for one in layer:
            if isinstance(one, str):
                y = middles[one] - (heights[one] - GAP) / 2
                boxes[one] = Box(one, columns[one], x, y, wide)
        x += wide + BETWEEN
    top = min([box.y for box in boxes.values()] + [middles[one] for layer in order for one in layer], default=MARGIN)
    boxes = {name: Box(b.table, b.columns, b.x, b.y - top + MARGIN, b.width) for name, b in boxes.items()}
    lanes: dict[Member, float] = {
        one: middle - top + MARGIN for one, middle in middles.items() if isinstance(one, tuple)
    }
    right = max((box.x + box.width for box in boxes.values()), default=640.0)
    bottom = max([box.y + box.height for box in boxes.values()] + list(lanes.values()), default=0.0)
    alone = _side_by_side([n for n in columns if n not in tied], columns, widths, max(right, 900.0), bottom + MARGIN)
    boxes |= {box.table: box for box in alone}
    spans = [(left, max((boxes[o].width for o in layer if isinstance(o, str)), default=0.0))
             for left, layer in zip(lefts, order, strict=True)]  # fmt: skip
    lines = tuple(Line(link, _points(link, number, boxes, lanes, ways, spans)) for number, link in enumerate(links))
    return Layout(
        max((box.x + box.width for box in boxes.values()), default=right) + MARGIN,
        max([box.y + box.height for box in boxes.values()] + [bottom]) + MARGIN if boxes else 2 * MARGIN,
        tuple(boxes.values()),
        lines,
    )


Lane = tuple[str, int]  # where links lead, and the layer that they pass through: they share their way
Member = str | Lane


def _columns(structure: Structure, table: str, links: Iterable[ToldLink]) -> tuple[str, ...]:
    """The keys of a table, then its links, then what others refer to."""
    own = structure.schema.table(table)
    found = [column for key in told_keys(structure, own) for column in key.columns]
    found += [column for link in links if link.table == table for column in link.columns]
    found += [column for link in links if link.target == table for column in link.referenced]
    return tuple(dict.fromkeys(found))


def _width(structure: Structure, table: str, columns: Iterable[str]) -> float:
    title = len(shown(table)) * 1.1 + len(f"{structure.profile.tables[table].rows:,}") + 4
    return 30.0 + CHARACTER * max([title, *(len(shown(column)) for column in columns)])


def _height(columns: Sequence[str]) -> float:
    return HEAD + LINE * len(columns) + 5.0


def _layers(tables: Sequence[str], links: Iterable[ToldLink]) -> dict[str, int]:
    """The layer of each table: right of all it leads to, but for links that go round in a circle."""
    leads: dict[str, list[str]] = {name: [] for name in tables}
    for link in links:
        if link.table != link.target and link.target not in leads[link.table]:
            leads[link.table].append(link.target)
    layers: dict[str, int] = {}
    full: dict[int, int] = {}
    for name in _targets_first(leads):
        layer = max((layers[other] + 1 for other in leads[name] if other in layers), default=0)
        while full.get(layer, 0) >= _TALLEST:
            layer += 1
        layers[name] = layer
        full[layer] = full.get(layer, 0) + 1
    for name in tables:  # a table that leads nowhere stands beside the first that leads to it: its lines are short
        near = min((layers[other] - 1 for other in tables if name in leads[other]), default=0)
        if not leads[name] and near > layers[name] and full.get(near, 0) < _TALLEST:
            full[near] += 1
            layers[name] = near
    used = {layer: number for number, layer in enumerate(sorted(set(layers.values())))}
    return {name: used[layer] for name, layer in layers.items()}


def _targets_first(leads: Mapping[str, Sequence[str]]) -> list[str]:
    """Tables behind those that they lead to; where that is a circle, behind most of them."""
    done: dict[str, None] = {}
    begun: set[str] = set()
    for start in leads:
        path = [(start, iter(leads[start]))] if start not in begun else []
        begun.add(start)
        while path:
            name, rest = path[-1]
            following = next((other for other in rest if other not in begun), None)
            if following is None:
                done[name] = None
                path.pop()
            else:
                begun.add(following)
                path.append((following, iter(leads[following])))
    return list(done)


def _ways(layers: Mapping[str, int], links: Sequence[ToldLink]) -> dict[int, list[Member]]:
    """What each link passes, from its table to its target: a lane in each layer between."""
    ways: dict[int, list[Member]] = {}
    for number, link in enumerate(links):
        if link.table != link.target:
            start, end = layers[link.table], layers[link.target]
            step = 1 if end > start else -1
            shared = f"{link.end} {link.declared} {step}"
            lanes: list[Member] = [(shared, layer) for layer in range(start + step, end, step)]
            ways[number] = [link.table, *lanes, link.target]
    return ways


def _ordered(layers: Mapping[str, int], ways: Mapping[int, Sequence[Member]]) -> list[list[Member]]:
    """The members of each layer from top to bottom, each near the middle of its neighbours in the layer beside."""
    count = max(layers.values(), default=-1) + 1
    order: list[list[Member]] = [[] for _ in range(count)]
    for name, layer in layers.items():
        order[layer].append(name)
    for lane in dict.fromkeys(one for way in ways.values() for one in way if isinstance(one, tuple)):
        members = order[lane[1]]
        members.insert(len(members) // 2, lane)  # where nothing else decides, lines pass through the middle
    beside = _neighbours(ways)
    best, fewest = [list(layer) for layer in order], _crossings(order, ways)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for index in range(1, count) if forward else range(count - 2, -1, -1):
            fixed = {one: place for place, one in enumerate(order[index - 1 if forward else index + 1])}
            now = {one: float(place) for place, one in enumerate(order[index])}
            scale = len(order[index]) / max(1, len(fixed))

            def wanted(one: Member, fixed: Mapping[Member, int] = fixed, now: Mapping[Member, float] = now,
                       scale: float = scale) -> float:  # fmt: skip
                places = [fixed[other] for other in beside.get(one, ()) if other in fixed]
                return scale * sum(places) / len(places) if places else now[one]

            order[index].sort(key=wanted)
        crossings = _crossings(order, ways)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in order], crossings
    return best


def _neighbours(ways: Mapping[int, Sequence[Member]]) -> dict[Member, list[Member]]:
    beside: dict[Member, list[Member]] = {}
    for way in ways.values():
        for one, other in pairwise(way):
            beside.setdefault(one, []).append(other)
            beside.setdefault(other, []).append(one)
    return beside


def _crossings(order: Sequence[Sequence[Member]], ways: Mapping[int, Sequence[Member]]) -> int:
    """How often lines cross between layers, counted pair by pair."""
    place = {one: (layer, index) for layer, members in enumerate(order) for index, one in enumerate(members)}
    steps: dict[int, list[tuple[int, int]]] = {}
    for way in ways.values():
        for one, other in pairwise(way):
            (left, first), (right, second) = sorted((place[one], place[other]))
            if left != right:
                steps.setdefault(left, []).append((first, second))
    return sum(
        (a[0] - b[0]) * (a[1] - b[1]) < 0
        for pairs in steps.values()
        for i, a in enumerate(pairs)
        for b in pairs[i + 1 :]
    )


def _middles(
    order: Sequence[Sequence[Member]], ways: Mapping[int, Sequence[Member]], heights: Mapping[str, float]
) -> dict[Member, float]:
    """How high each member stands: near its neighbours, in the layer's order, nothing over another."""

    def room(one: Member) -> float:
        return heights[one] if isinstance(one, str) else _LANE

    middles: dict[Member, float] = {}
    for layer in order:
        y = 0.0
        for one in layer:
            middles[one] = y + room(one) / 2
            y += room(one)
    beside = _neighbours(ways)
    for _ in range(2 * _SWEEPS):
        for layer in order:
            wanted = [
                sum(middles[other] for other in others) / len(others) if (others := beside.get(one)) else middles[one]
                for one in layer
            ]
            for one, middle in zip(layer, _apart(wanted, [room(one) for one in layer]), strict=True):
                middles[one] = middle
    return middles


def _apart(wanted: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones, by squares, that keep the order and the room of each.

    Members that push each other form a block, which stands where its members want it on average.
    """
    offsets = [0.0]
    for one, other in pairwise(rooms):
        offsets.append(offsets[-1] + (one + other) / 2)
    blocks: list[tuple[float, int]] = []  # where the block's first offset would be, and how many members
    for place, offset in zip(wanted, offsets, strict=False):
        block = (place - offset, 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, count = blocks.pop()
            block = ((mean * count + block[0] * block[1]) / (count + block[1]), count + block[1])
        blocks.append(block)
    starts = [mean for mean, count in blocks for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets, strict=False)]


def _side_by_side(
    tables: Sequence[str],
    columns: Mapping[str, tuple[str, ...]],
    widths: Mapping[str, float],
    right: float,
    top: float,
) -> list[Box]:
    boxes: list[Box] = []
    x, y, tallest = MARGIN, top, 0.0
    for name in tables:
        if x > MARGIN and x + widths[name] > right:
            x, y, tallest = MARGIN, y + tallest + GAP, 0.0
        boxes.append(Box(name, columns[name], x, y, widths[name]))
        x += widths[name] + GAP
        tallest = max(tallest, boxes[-1].height)
    return boxes


def _points(
    link: ToldLink,
    number: int,
    boxes: Mapping[str, Box],
    lanes: Mapping[Member, float],
    ways: Mapping[int, Sequence[Member]],
    spans: Sequence[tuple[float, float]],
) -> tuple[tuple[float, float], ...]:
    """From the side of the linking column's row to that of the key's, through the link's lanes."""
    start, end = boxes[link.table], boxes[link.target]
    own, other = start.row(link.columns[0]), end.row(link.referenced[0])
    if start.x == end.x:  # the same table, or one of a circle in the same layer
        side = start.x + start.width if link.table == link.target else start.x
        return (side, own), (side, other)
    leftwards = end.x < start.x
    points = [(start.x if leftwards else start.x + start.width, own)]
    for one in ways[number][1:-1]:
        assert isinstance(one, tuple)
        left, width = spans[one[1]]
        near, far = (left + width, left) if leftwards else (left, left + width)
        points += [(near, lanes[one]), (far, lanes[one])]
    points.append((end.x + end.width if leftwards else end.x, other))
    return tuple(points)
