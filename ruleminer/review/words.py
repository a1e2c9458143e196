"""A rule in words, for people who do not read rules."""

from __future__ import annotations

from collections.abc import Sequence

from ruleminer.rules.printer import term_text
from ruleminer.rules.values import Part, Position, Rule, Transformed, Variable, variable_in


def rule_words(rule: Rule) -> str:
    """The rule as a sentence.

    >>> from ruleminer.rules.parser import parse_rule
    >>> rule_words(parse_rule("Author(x) <- person(id: x, writes: true)"))
    'Author: every id of person where writes is true.'
    >>> rule_words(parse_rule("hasAuthor(x, y) <- paper(id: x, by: a), person(no: a, name: y)"))
    'hasAuthor: from id of paper to name of person, joined where by of paper is no of person.'
    >>> rule_words(parse_rule("Late(x) <- paper(id: x, handed_in: a, withdrawn: null)"))
    'Late: every id of paper where withdrawn is empty and handed_in is filled.'
    """
    twice = len({atom.table for atom in rule.body}) < len(rule.body)

    def column(position: Position) -> str:
        table = f"{position.table} ({position.atom})" if twice else position.table
        return f"{position.column} of {table}"

    positions = rule.positions
    arguments = [_argument(rule, argument, column) for argument in rule.arguments]
    said = f"every {arguments[0]}" if len(arguments) == 1 else f"from {arguments[0]} to {arguments[1]}"
    own = {variable for argument in rule.arguments for variable in rule.variables_of(argument)}
    also = [
        f"{'which is also' if variable in own else 'joined where'} "
        + (_listed([column(one) for one in found[1:]]) if variable in own else " is ".join(map(column, found)))
        for variable, found in positions.items()
        if len(found) > 1
    ]
    alone = len(rule.body) == 1

    def place(position: Position) -> str:
        return position.column if alone else column(position)

    chosen = [f"{place(position)} is {term_text(constant)}" for position, constant in rule.constants]
    chosen += [f"{place(position)} is not {term_text(constant)}" for position, constant in rule.excluded]
    chosen += [f"{place(position)} is empty" for position in rule.empty]
    # A variable of its own says no more than that its column holds a value.
    filled = [found[0] for variable, found in positions.items() if len(found) == 1 and variable not in own]
    chosen += [f"{place(position)} is filled" for position in filled]
    told = ", ".join([said, *also])
    return f"{rule.predicate}: {told}{f' where {_listed(chosen)}' if chosen else ''}."


def _argument(rule: Rule, argument: Variable, column: object) -> str:
    assert callable(column)
    concat = rule.definition_of(argument)
    positions = rule.positions
    if concat is None:
        return str(column(positions[argument][0]))

    def told(part: Part) -> str:
        variable = variable_in(part)
        if variable is None:
            return f"“{part}”"
        place = str(column(positions[variable][0]))
        if not isinstance(part, Transformed):
            return place
        return f"{', '.join((part.name, *map(str, part.parameters)))} of {place}"

    return " followed by ".join(map(told, concat.parts))


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(parts)
