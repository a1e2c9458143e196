"""One HTML page over all runs in a folder: tables, pictures and notes, everything inlined, no network needed."""

from __future__ import annotations

import base64
import html
from pathlib import Path

from ruleminer.bench.catalogue import BENCHES
from ruleminer.bench.runner import duration, run_notes
from ruleminer.bench.tables import html_of
from ruleminer.bench.units import RESULTS, Record, read_records, write_text
from ruleminer.errors import InputError

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h2 { border-top: 1px solid #ccc; padding-top: 1.2rem; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid #ddd; padding: .25rem .5rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { background: #f3f3f3; }
.wide { overflow-x: auto; }
img { max-width: 100%; }
.quiet { color: #666; }
@media (prefers-color-scheme: dark) {
  body { background: #161616; color: #ddd; } th, td { border-color: #444; } thead th { background: #262626; }
  img { background: white; } .quiet { color: #999; }
}
"""


def bench_report(folder: Path) -> Path:
    """Write FOLDER/report.html over every run below the folder; the page's path."""
    runs = sorted(path.parent for path in folder.rglob(RESULTS))
    if not runs:
        raise InputError(f"{folder}: no bench has left its {RESULTS} here; run one with ‹out={folder}› first")
    sections = [_section(run, folder) for run in runs]
    links = "".join(f'<li><a href="#{html.escape(run.name)}">{html.escape(run.name)}</a></li>' for run in runs)
    page = (
        "<!doctype html>\n<html lang=en><meta charset=utf-8>\n<meta name=viewport content='width=device-width'>\n"
        f"<title>ruleminer bench</title>\n<style>{_STYLE}</style>\n<h1>ruleminer bench</h1>\n"
        "<p>Numbers under <em>paper</em> are the paper's; all others were measured by these runs.</p>\n"
        f"<ul>{links}</ul>\n" + "\n".join(sections) + "</html>\n"
    )
    path = folder / "report.html"
    write_text(path, page)
    return path


def _section(run: Path, folder: Path) -> str:
    records = read_records(run / RESULTS)
    parts = [f"<h2 id='{html.escape(run.name)}'>{html.escape(run.name)}</h2>"]
    for name in dict.fromkeys(record.bench for record in records):
        parts += _bench_parts(name, [record for record in records if record.bench == name], run)
    return "\n".join(parts)


def _bench_parts(name: str, records: list[Record], run: Path) -> list[str]:
    if name not in BENCHES:
        return [f"<p>results of a bench that this version does not know: {html.escape(name)}</p>"]
    bench = BENCHES[name]
    spent = duration(sum(record.seconds for record in records))
    parts = [f"<p>{html.escape(bench.info.reproduces)} <span class=quiet>({len(records)} units, {spent})</span></p>"]
    parts += [html_of(table) for table in bench.tables(_latest(records))]
    parts += [_picture(path) for path in sorted(run.glob("*.png"))]
    scale = run.name.removeprefix(f"{name}-")
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in run_notes(bench, scale))
    return [*parts, f"<h3>What differs from the paper</h3><ul>{notes}</ul>"] if notes else parts


def _latest(records: list[Record]) -> list[Record]:
    """The last record of each unit: a run repeated with other options replaces what it showed before."""
    return list({record.key: record for record in records}.values())


def _picture(path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<p><img alt="{html.escape(path.stem)}" src="data:image/png;base64,{data}"></p>'
