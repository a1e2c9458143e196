"""The schema graph as a picture: SVG text of our own, or a bitmap by matplotlib.

Tables are boxes with their keys and links; a declared link is a solid line, a discovered one is dashed and says why
when the mouse rests on it; columns of one space have one colour.
"""

from __future__ import annotations

import colorsys
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path

from ruleminer.errors import InputError
from ruleminer.rules.values import Place
from ruleminer.structure.graph_layout import HEAD, LINE, Box, Layout, Line, layout_of, shown
from ruleminer.structure.overview import DECLARED, told_keys
from ruleminer.structure.structure import Structure
from ruleminer.whole_files import write_whole, writing

FORMATS = (".svg", ".png")
_LEGEND = 34.0
_GREY = "#667085"
_STYLE = """
text { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 11px; fill: #1d2433; }
.head { font-family: "DejaVu Sans", Verdana, Helvetica, sans-serif; font-weight: bold; font-size: 12px; }
.rows, .legend { fill: #667085; }
.key { font-weight: bold; }
.box { fill: #ffffff; stroke: #98a2b3; }
.title { fill: #eef1f6; }
.view .box { stroke-dasharray: 2 3; }
.link { fill: none; stroke-width: 1.4; }
.link:hover, g:hover > .link { stroke-width: 3.5; }
.discovered { stroke-dasharray: 6 4; }
.wide { fill: none; stroke: transparent; stroke-width: 9; }
"""


def write_picture(structure: Structure, path: Path) -> None:
    """Write the picture, whole or not at all; the suffix says which kind."""
    check_picture(path)
    if path.suffix.lower() == ".svg":
        write_whole(path, svg(structure))
    else:
        with writing(path) as part:
            _write_bitmap(structure, part)


def check_picture(path: Path) -> None:
    """Refuse, before anything is looked at, what could not be written in the end."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"a picture is a file *.svg or *.png, not {path.name}")
    if not path.absolute().parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")


def svg(structure: Structure) -> str:
    """The picture as SVG; the same structure gives the same text."""
    layout = layout_of(structure)
    colours = space_colours(structure)
    width, height = max(layout.width, 420.0), layout.height + _LEGEND
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
            f"<title>{_text(_name(structure))}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fbfcfe"/>',
            *(_line(line, colours) for line in layout.lines),
            *(part for box in layout.boxes for part in _box(box, structure, colours)),
            *_legend(layout),
            "</svg>",
            "",
        ]
    )


def space_colours(structure: Structure) -> dict[Place, str]:
    """A colour for each column of a space that has several; neighbouring spaces get colours far apart."""
    colours: dict[Place, str] = {}
    shared = [space for space in structure.spaces if len(space.places) > 1]
    for number, space in enumerate(shared):
        hue = number * 0.618034 % 1.0  # the golden section spreads any number of hues
        red, green, blue = colorsys.hls_to_rgb(hue, (0.36, 0.45)[number % 2], 0.62)
        colour = f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"
        colours |= dict.fromkeys(space.places, colour)
    return colours


def _text(text: str) -> str:
    """Text for SVG: nothing in it is markup, and no character is one that XML forbids."""
    return escape("".join(c if c.isprintable() or c in "\n" else "�" for c in text), quote=True)


def _name(structure: Structure) -> str:
    schema = structure.schema
    return f"{f'schema {schema.name}, ' if schema.name else ''}{len(schema.tables)} tables"


def _colour(line: Line, colours: dict[Place, str]) -> str:
    return colours.get(Place(line.link.target, line.link.referenced[0]), _GREY)


def _line(line: Line, colours: dict[Place, str]) -> str:
    link = line.link
    why = f"discovered: {link.why}" if link.why else DECLARED
    way = _way(line.points)
    style = "link" if link.declared else "link discovered"
    x, y = line.points[-1]
    colour = _colour(line, colours)
    return (
        f"<g><title>{_text(f'{link.start} → {link.end}')}\n{_text(why)}</title>"
        f'<path class="wide" d="{way}"/><path class="{style}" stroke="{colour}" d="{way}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/></g>'
    )


def _way(points: Sequence[tuple[float, float]]) -> str:
    """Curves from point to point, level where they leave and arrive."""
    x, y = points[0]
    parts = [f"M{x:.1f} {y:.1f}"]
    parts += [f"C{' '.join(f'{a:.1f} {b:.1f}' for a, b in curve)}" for curve in _curves(points)]
    return "".join(parts)


def _curves(points: Sequence[tuple[float, float]]) -> Iterator[tuple[tuple[float, float], ...]]:
    """The two handles and the end of each piece of a line."""
    for (x, y), (u, v) in pairwise(points):
        if x == u:  # from a side of a box back to the same side
            bow = 26.0 + abs(v - y) * 0.1
            yield (x + bow, y), (x + bow, v), (u, v)
        else:
            middle = (x + u) / 2
            yield (middle, y), (middle, v), (u, v)


def _box(box: Box, structure: Structure, colours: dict[Place, str]) -> Iterator[str]:
    table = structure.schema.table(box.table)
    rows = f"{structure.profile.tables[box.table].rows:,}"
    keys = {column: key for key in reversed(told_keys(structure, table)) for column in key.columns}
    yield f'<g class="{"view" if table.is_view else "table"}" transform="translate({box.x:.1f} {box.y:.1f})">'
    yield f'<rect class="box" width="{box.width:.1f}" height="{box.height:.1f}" rx="4"/>'
    yield f'<rect class="title" x="1" y="1" width="{box.width - 2:.1f}" height="{HEAD - 2:.1f}" rx="3"/>'
    told = f"{table.name}{' (view)' if table.is_view else ''}: {rows} rows, {len(table.columns)} columns"
    yield f'<text class="head" x="8" y="16">{_text(shown(box.table))}<title>{_text(told)}</title></text>'
    yield f'<text class="rows" x="{box.width - 7:.1f}" y="16" text-anchor="end">{rows}</text>'
    for number, column in enumerate(box.columns):
        middle = HEAD + LINE * (number + 0.5)
        place = Place(box.table, column)
        if place in colours:
            yield f'<rect x="8" y="{middle - 4:.1f}" width="8" height="8" rx="2" fill="{colours[place]}"/>'
        style = ' class="key"' if column in keys else ""
        note = "".join(
            f"\n{line}" for line in _notes(structure, place, column in keys and (keys[column].why or DECLARED))
        )
        yield (
            f'<text{style} x="22" y="{middle + 4:.1f}">{_text(shown(column))}'
            f"<title>{_text('.'.join(place))}{_text(note)}</title></text>"
        )
    yield "</g>"


def _notes(structure: Structure, place: Place, key: str | bool) -> Iterator[str]:
    if key:
        yield f"key: {key}"
    if (space := structure.space(place)) is not None and len(space.places) > 1:
        yield f"names the same kind of thing as {', '.join('.'.join(p) for p in space.places if p != place)}"


def _legend(layout: Layout) -> Iterator[str]:
    y = layout.height + 8
    yield f'<path class="link" stroke="{_GREY}" d="M24 {y}H60"/>'
    yield f'<text class="legend" x="68" y="{y + 4}">declared</text>'
    yield f'<path class="link discovered" stroke="{_GREY}" d="M140 {y}H176"/>'
    yield f'<text class="legend" x="184" y="{y + 4}">discovered</text>'
    yield f'<text class="legend key" x="270" y="{y + 4}">key</text>'
    yield f'<text class="legend" x="304" y="{y + 4}">one colour: one kind of thing</text>'


def _write_bitmap(structure: Structure, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.path import Path as Way

    layout, colours = layout_of(structure), space_colours(structure)
    width, height = max(layout.width, 420.0), layout.height + _LEGEND
    figure = Figure(figsize=(width / 100, height / 100), dpi=150)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    for line in layout.lines:
        curves = list(_curves(line.points))
        codes = [Way.MOVETO] + [Way.CURVE4] * (3 * len(curves))
        way = Way([line.points[0], *(point for curve in curves for point in curve)], codes)
        style, colour = "solid" if line.link.declared else "dashed", _colour(line, colours)
        axes.add_patch(PathPatch(way, fill=False, edgecolor=colour, linestyle=style, linewidth=1.0))
        axes.plot(*line.points[-1], "o", color=colour, markersize=3)
    for box in layout.boxes:
        table = structure.schema.table(box.table)
        keys = {column for key in told_keys(structure, table) for column in key.columns}
        shape = FancyBboxPatch((box.x, box.y), box.width, box.height, boxstyle="round,pad=0,rounding_size=4",
                               facecolor="white", edgecolor="#98a2b3", linewidth=0.8)  # fmt: skip
        axes.add_patch(shape)
        size = 7.4
        axes.text(box.x + 8, box.y + 16, shown(box.table), weight="bold", size=size, parse_math=False)
        rows = f"{structure.profile.tables[box.table].rows:,}"
        axes.text(box.x + box.width - 7, box.y + 16, rows, size=size - 1, color=_GREY, ha="right")
        for number, column in enumerate(box.columns):
            middle = box.y + HEAD + LINE * (number + 0.5)
            if colour := colours.get(Place(box.table, column), ""):
                axes.plot(box.x + 12, middle, "s", color=colour, markersize=4)
            weight = "bold" if column in keys else "normal"
            axes.text(box.x + 22, middle + 4, shown(column), size=size - 0.4, weight=weight, family="monospace",
                      parse_math=False)  # fmt: skip
    told = "solid: declared · dashed: discovered · bold: key · one colour: one kind of thing"
    axes.text(24, layout.height + 12, told, size=7.0, color=_GREY)
    figure.savefig(path, format="png")
