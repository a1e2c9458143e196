"""The decision network: scores every hypothesis of every term, and lets terms tell each other what they believe.

A hypothesis is scored by its own features first. Then, for some rounds, each term hears from those that the ontology
relates it to: how far the entities at one end of the hypothesis lie in those that the other term is believed to mean
(and the other way round, and whether they stand in one table), and whether somebody else wants the same rows. All of
it is an expectation under the other's belief, so a message costs one product with the matrix of shares. Each relation
has weights of its own. One softmax per term, *none* among its hypotheses. What the user said of a term adds its
log-likelihood to the logits of every round, so that others hear of a term what is believed with the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ruleminer.learn.decision_problem import Problem, Relation

ROUNDS = 3
MOST_SURE = 7.0  # nats that a hypothesis of a term with answers may be behind the best one, before they count
_CHANNELS = 3
_FAR = 6.0  # deviations that a feature lies from its mean at most
_PADDING = -1e4  # the logit of no hypothesis
_WIDTHS = (4, 8, 16, 32)  # hypotheses of terms that are gone through together
Without = Callable[..., Tensor]
"""Logits of some terms without these features, or without what is said along a relation."""

_TOLD = 3 * _CHANNELS  # by a relation: the most of each channel, the mean, and how much in all
_HEARD = len(Relation) * _TOLD + len(Relation) + 6 + 5


@dataclass(frozen=True)
class Tensors:
    """A problem as tensors."""

    is_class: Tensor
    there: Tensor
    features: Tensor
    subject: Tensor
    object: Tensor
    body: Tensor
    turned: Tensor
    value: Tensor
    called: Tensor
    table: Tensor  # (S,)
    same_table: Tensor  # (S, S)
    inside: Tensor
    edges: Tensor
    right: Tensor
    judged: Tensor
    said: Tensor  # (T, H): the log-likelihood of what the user said


def tensors_of(problem: Problem, said: NDArray[np.float64] | None = None) -> Tensors:
    """The problem as tensors on the processor, with the log-likelihood of the user's answers under each hypothesis."""
    table = torch.from_numpy(problem.table)
    return Tensors(
        torch.from_numpy(problem.is_class),
        torch.from_numpy(problem.there),
        torch.from_numpy(problem.features),
        torch.from_numpy(problem.subject),
        torch.from_numpy(problem.object),
        torch.from_numpy(problem.body),
        torch.from_numpy(problem.turned),
        torch.from_numpy(problem.value),
        torch.from_numpy(problem.called),
        table,
        ((table[:, None] == table[None, :]) & (table[:, None] > 0)).float(),
        torch.from_numpy(problem.inside),
        torch.from_numpy(problem.edges),
        torch.from_numpy(problem.right),
        torch.from_numpy(problem.judged),
        torch.zeros(problem.there.shape) if said is None else torch.from_numpy(said).float(),
    )


class DecisionNetwork(nn.Module):
    """Features of hypotheses in, logits of hypotheses out, one set for each round."""

    def __init__(
        self, features: int, width: int = 32, rounds: int = ROUNDS, messages: bool = True, dropped: float = 0.0
    ) -> None:
        super().__init__()
        self.width, self.rounds, self.messages, self.dropped = width, rounds, messages, dropped
        self.mean: Tensor
        self.scale: Tensor
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        self.encode = nn.ModuleList([_two_layers(features, width, width) for _ in range(2)])  # properties, classes
        self.start = nn.ModuleList([nn.Linear(width, 1) for _ in range(2)])
        self.hear = nn.ModuleList([_two_layers(width + _HEARD + 2, width, 1) for _ in range(2)])

    def forward(self, problem: Tensors) -> list[Tensor]:
        """The logits after each round: (T, H) each, padding far below all others."""
        own, alone = self._alone(problem.is_class, problem.there, problem.features)
        found = [_answered(alone, problem.there, problem.said)]
        for _ in range(self.rounds if self.messages else 0):
            heard = self._heard_now(problem, found[-1])
            together = self._together(problem.is_class, problem.there, own, alone, heard)
            found.append(_answered(together, problem.there, problem.said))
        return found

    def without(self, problem: Tensors, before: Tensor, terms: Tensor) -> Without:
        """The last round of some terms once more: a function of features, or a relation, to do without.

        `before` are the logits of the round before. What a reason is worth shows by its absence.
        """
        is_class, there, features = problem.is_class[terms], problem.there[terms], problem.features[terms]
        said = problem.said[terms]
        heard = None
        if self.messages:
            number = (problem.there.flatten().cumsum(0) - 1).view_as(problem.there)  # of each hypothesis that is there
            heard = self._heard_now(problem, before)[number[terms][there]]

        def logits(muted: Sequence[int] = (), relation: Relation | None = None) -> Tensor:
            known = features.clone()
            known[..., list(muted)] = self.mean[list(muted)]
            own, alone = self._alone(is_class, there, known)
            if heard is None:
                return _answered(alone, there, said)
            told = heard
            if relation is not None:
                told = heard.clone()
                told[..., relation * _TOLD : (relation + 1) * _TOLD] = 0.0
                told[..., len(Relation) * _TOLD + relation] = 0.0
            return _answered(self._together(is_class, there, own, alone, told), there, said)

        return logits

    def _alone(self, is_class: Tensor, there: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        """Each hypothesis by its own features: what is known of it, (N, width), and its logit, (T, H).

        Most of what a term could have of hypotheses is padding, and is left out: N are those that are there.
        """
        rows = there.nonzero(as_tuple=True)
        known = ((features[rows] - self.mean) / self.scale).clamp(-_FAR, _FAR)  # what nobody met is not louder
        if self.training and self.dropped:  # a feature is missing of all hypotheses, or of none
            known = known * (torch.rand(known.shape[-1]) >= self.dropped)
        own = _by_kind(self.encode, is_class[rows[0]], known)
        return own, _spread(_by_kind(self.start, is_class[rows[0]], own).squeeze(-1), there)

    def _heard_now(self, problem: Tensors, logits: Tensor) -> Tensor:
        """What each hypothesis hears, and what was thought of it so far: (N, _HEARD + 2)."""
        belief = logits.softmax(-1)
        before = logits - logits.max(-1, keepdim=True).values
        last = torch.stack([before.clamp(min=-10.0) / 5.0, belief], -1)[problem.there.nonzero(as_tuple=True)]
        return torch.cat([self.heard(problem, belief), last], -1)

    def _together(self, is_class: Tensor, there: Tensor, own: Tensor, alone: Tensor, heard: Tensor) -> Tensor:
        kinds = is_class[there.nonzero(as_tuple=True)[0]]
        change = _by_kind(self.hear, kinds, torch.cat([own, heard], -1)).squeeze(-1)
        return _masked(alone + _spread(change, there), there)

    def heard(self, problem: Tensors, belief: Tensor) -> Tensor:
        """What each hypothesis hears when terms believe this: (N, _HEARD).

        Terms with few hypotheses are gone through apart from those with many, so that little is padding.
        """
        there, spoken = problem.there, spoken_of(problem, belief)
        last = (there * torch.arange(1, there.shape[1] + 1)).amax(-1)  # (T,)
        told, rows = [], []
        least = 0
        for most in (*(one for one in _WIDTHS if one < there.shape[1]), there.shape[1]):
            terms = ((last > least) & (last <= most)).nonzero().squeeze(1)
            least = most
            if len(terms):
                own = there[terms, :most].nonzero(as_tuple=True)
                told.append(self._heard_by(problem, belief, spoken, terms, most)[own])
                rows.append(terms[own[0]] * there.shape[1] + own[1])
        found = torch.cat(told)[torch.cat(rows).argsort()]
        around = surroundings(problem, belief)[there.nonzero(as_tuple=True)]
        return torch.cat([found, claims(problem, belief), around], -1)

    def _heard_by(self, problem: Tensors, belief: Tensor, spoken: Spoken, terms: Tensor, places: int) -> Tensor:
        """What the first hypotheses of some terms hear: (terms, places, …)."""
        number = torch.full((len(problem.there),), -1)
        number[terms] = torch.arange(len(terms))
        edges = problem.edges[number[problem.edges[:, 0]] >= 0]
        by_edge = messages(problem, belief, edges, places, spoken)  # (E, places, channels)
        slots = number[edges[:, 0]] * len(Relation) + edges[:, 2]
        index = slots[:, None, None].expand_as(by_edge)
        size = (len(terms) * len(Relation), places, _CHANNELS)
        most = by_edge.new_zeros(size).scatter_reduce(0, index, by_edge, "amax", include_self=True)
        count = by_edge.new_zeros(size[0]).index_add(0, slots, by_edge.new_ones(len(slots)))
        total = by_edge.new_zeros(size).index_add(0, slots, by_edge)
        mean = total / count.clamp(min=1.0)[:, None, None]
        told = torch.cat([most, mean, total.log1p()], -1).view(len(terms), len(Relation), places, _TOLD)
        told = told.permute(0, 2, 1, 3).reshape(len(terms), places, -1)
        absent = belief.new_zeros(size[0]).index_add(0, slots, belief[edges[:, 1], 0])
        absent = (absent / count.clamp(min=1.0)).view(len(terms), 1, len(Relation)).expand(-1, places, -1)
        is_none = torch.zeros_like(told[..., :1])
        is_none[:, 0] = 1.0
        return torch.cat([told, absent * is_none], -1)


def _spread(found: Tensor, there: Tensor) -> Tensor:
    """What is known of the hypotheses that are there, (N,), in their places, padding far below all others: (T, H)."""
    return found.new_full(there.shape, _PADDING).index_put(there.nonzero(as_tuple=True), found)


def _masked(logits: Tensor, there: Tensor) -> Tensor:
    return logits.masked_fill(~there, _PADDING)


def _answered(logits: Tensor, there: Tensor, said: Tensor) -> Tensor:
    """The logits with what the user said. However sure the network is of a term, an answer may prove it wrong."""
    spoken = (said != 0.0).any(-1, keepdim=True)
    least = logits.max(-1, keepdim=True).values - MOST_SURE
    open_ = torch.where(there, torch.maximum(logits, least), logits)
    return torch.where(spoken, open_ + said, logits)


@dataclass(frozen=True)
class Spoken:
    """What each term is believed to mean, as others hear of it: a row for each term."""

    forth: Tensor  # how much of each set lies in its subjects, and below them in its objects: (2 T, S)
    back: Tensor  # how much of these lies in each set
    table: Tensor  # whether these stand in the table of each set
    bodies: Tensor  # (T, B)
    called: Tensor  # (T, names)


def spoken_of(problem: Tensors, belief: Tensor) -> Spoken:
    """What terms are believed to mean."""
    sets = problem.inside.shape[0]
    ends = torch.cat([_believed(one, belief, sets) for one in (problem.subject, problem.object)])  # (2 T, S)
    rows = int(torch.maximum(problem.body.max(), problem.turned.max())) + 1
    forth, back, table = (ends @ m for m in (problem.inside.T, problem.inside, problem.same_table))
    bodies = _believed(problem.body, belief, rows)
    return Spoken(forth, back, table, bodies, _believed(problem.called, belief, int(problem.called.max()) + 1))


def messages(
    problem: Tensors,
    belief: Tensor,
    edges: Tensor | None = None,
    places: int | None = None,
    spoken: Spoken | None = None,
) -> Tensor:
    """What each edge, or each of some, says of the first hypotheses of its receiver: (E, places, channels).

    Between a class and a property, or two classes: the share of our entities in theirs, of theirs in ours, and whether
    they stand in one table. Between two properties: how well both ends fit, and whether they are the same rows.
    Between two parts of a term: whether the other one takes a column that is called the same, or any.
    """
    spoken = spoken_of(problem, belief) if spoken is None else spoken
    receiver, sender, relation = (problem.edges if edges is None else edges).T
    ours_at_end = _any(relation, Relation.RANGE, Relation.RANGE_KIN)
    theirs_at_end = _any(relation, Relation.RANGE_OF, Relation.RANGE_OF_KIN)
    turned = _any(relation, Relation.INVERSE)
    of_two = turned | _any(relation, Relation.PARENT_PROPERTY, Relation.CHILD_PROPERTY)
    second = problem.object[:, :places][receiver]  # (E, places)
    first = torch.where(ours_at_end[:, None], second, problem.subject[:, :places][receiver])

    def told(by_set: Tensor, at_end: Tensor, places: Tensor) -> Tensor:
        return _of(by_set, torch.where(at_end, sender + len(belief), sender), places)

    one = torch.stack(
        [told(by_set, theirs_at_end | turned, first) for by_set in (spoken.forth, spoken.back, spoken.table)], -1
    )
    other = torch.stack([told(by_set, ~turned, second) for by_set in (spoken.forth, spoken.back)], -1)
    wanted = torch.where(turned[:, None], problem.turned[:, :places][receiver], problem.body[:, :places][receiver])
    same = _of(spoken.bodies, sender, wanted) * (wanted > 0)
    both = torch.stack([one[..., :2].mean(-1), other.mean(-1), same], -1)
    found = torch.where(of_two[:, None, None], both, one)
    parts = _any(relation, Relation.SAME_TERM)
    called = problem.called[:, :places][receiver]
    alike = _of(spoken.called, sender, called) * (called > 0)
    taken = (1.0 - belief[sender, :1]).expand_as(alike)
    return torch.where(parts[:, None, None], torch.stack([alike, taken, torch.zeros_like(alike)], -1), found)


def _of(known: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Of each row some columns, (E, places): without a copy of whole rows, of which there are many, and long."""
    return known.flatten().gather(0, (rows[:, None] * known.shape[1] + columns).flatten()).view_as(columns)


def claims(problem: Tensors, belief: Tensor) -> Tensor:
    """How far other terms of the same kind want the same rows, or the same column of values: (N, 6).

    Of all that could be wanted a term has few hypotheses: what each believes is added up for these alone.
    """
    terms, places = problem.there.nonzero(as_tuple=True)
    own, is_class = belief[terms, places], problem.is_class[terms]
    body, value = problem.body[terms, places], problem.value[terms, places]
    asked = ((body, is_class), (body, ~is_class), (value, ~is_class))
    return torch.cat([_claimed(own, terms, wanted, kind) for wanted, kind in asked], -1)


def _claimed(own: Tensor, terms: Tensor, wanted: Tensor, kind: Tensor) -> Tensor:
    """What others of a kind believe of what each hypothesis wants: all together, and the most that one does; (N, 2)."""
    counted = (kind & (wanted > 0)).nonzero().squeeze(1)  # none is no rival of none
    many = int(wanted.max()) + 1
    pairs, index = torch.unique(terms[counted] * many + wanted[counted], return_inverse=True)
    thing = pairs % many
    by_pair = own.new_zeros(len(pairs)).index_add(0, index, own[counted])  # of a term and what it wants
    nothing = own.new_zeros(many)
    total = nothing.index_add(0, thing, by_pair)
    first = nothing.scatter_reduce(0, thing, by_pair, "amax")
    is_first = by_pair >= first[thing]
    shared = nothing.index_add(0, thing, is_first.to(own.dtype)) > 1
    second = nothing.scatter_reduce(0, thing[~is_first], by_pair[~is_first], "amax")
    rival = torch.where(is_first & ~shared[thing], second[thing], first[thing])
    found = torch.stack([(total[thing] - by_pair).clamp(max=3.0), rival], -1)
    return own.new_zeros(len(own), 2).index_put((counted,), found[index])


def surroundings(problem: Tensors, belief: Tensor) -> Tensor:
    """How much of the ontology is found at all, and whether anybody wants the table of a hypothesis: (T, H, 5).

    Where all other terms are found this one is, too, and a table that nobody wants is what nobody else has.
    """
    tables = problem.table[problem.subject]
    many = int(problem.table.max()) + 1
    found, free = [], belief.new_zeros(())
    for kind in (True, False):
        own = problem.is_class == kind
        by_term = _believed(tables, belief * own[:, None], many)
        by_term = torch.cat([torch.zeros_like(by_term[:, :1]), by_term[:, 1:]], 1)
        total = by_term.sum(0)
        found.append((total[None, :] - by_term).gather(1, tables).clamp(max=3.0))
        absent = belief[:, 0] * own
        others = (own.sum() - own.long()).clamp(min=1)
        found.append(((absent.sum() - absent) / others)[:, None].expand_as(tables))
        if kind:
            free = (1.0 - total[1:].clamp(max=1.0)).sum() / max(1, many - 1)
    return torch.stack([*found, free.expand_as(found[0])], -1)


def _believed(places: Tensor, belief: Tensor, size: int) -> Tensor:
    """Belief by what hypotheses have in common: (T, size)."""
    return belief.new_zeros(belief.shape[0], size).scatter_add(1, places, belief)


def _any(relation: Tensor, *wanted: Relation) -> Tensor:
    return torch.isin(relation, torch.tensor([int(one) for one in wanted]))


def _two_layers(inputs: int, width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.GELU(), nn.Linear(width, outputs))


def _by_kind(layers: nn.ModuleList, is_class: Tensor, inputs: Tensor) -> Tensor:
    """Classes by their own layers, properties by theirs."""
    properties, classes = (~is_class).nonzero().squeeze(1), is_class.nonzero().squeeze(1)
    found = torch.cat([layers[0](inputs[properties]), layers[1](inputs[classes])])
    return found[torch.cat([properties, classes]).argsort()]
