"""What codes mean, where a small table tells it: VoteTypeId is 2, and of VoteTypes 2 is called UpVote."""

from __future__ import annotations

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.rules.values import Kind, Place
from ruleminer.sources.database import Database
from ruleminer.sources.patience import patiently
from ruleminer.sources.schema import quote_identifier
from ruleminer.structure.structure import MOST_CODES, Structure

_MOST = 3  # texts of a row that are read
_LONGEST = 40  # characters of a text that may be a name


class Meanings:
    """The texts of the rows that links to small tables lead to; a table is read once, when somebody asks for it."""

    def __init__(self, structure: Structure, database: Database) -> None:
        self._structure, self._database = structure, database
        self._ends = dict(structure.schema.links)
        self._known: dict[Place, dict[str, list[str]]] = {}

    def of(self, link: Place, key: str) -> list[str]:
        """What the thing is called that a link with this key leads to; nothing if it leads to many, or is none."""
        end = self._ends.get(link)
        profile = self._structure.profile.tables.get(end.table) if end is not None else None
        if end is None or profile is None or profile.rows > MOST_CODES:
            return []
        if end not in self._known:
            self._known[end] = self._read(end)
        return self._known[end].get(key, [])

    def _read(self, end: Place) -> dict[str, list[str]]:
        table = self._structure.schema.table(end.table)
        texts = [one.name for one in table.columns if one.kind is Kind.TEXT and one.name != end.column][:_MOST]
        if not texts:
            return {}
        text_of = self._database.dialect.text_of
        shown = ", ".join(text_of(quote_identifier(name)) for name in (end.column, *texts))
        sql = f"SELECT {shown} FROM {self._database.quoted(table.name)}"
        try:
            rows = patiently(lambda: list(self._database.rows(sql)))
        except ConnectionLostError:
            raise
        except DatabaseError:  # a meaning is no more than a hint
            return {}
        return {str(key): [str(text) for text in said if text and len(str(text)) <= _LONGEST] for key, *said in rows}
