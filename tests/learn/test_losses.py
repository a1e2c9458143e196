"""Every loss against the laws it must obey: formula, gradient, theorem, exactness at both ends."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from mpmath import mp, mpf
from torch import Tensor

from ruleminer.errors import InputError
from ruleminer.learn.losses import (
    LOSSES,
    Outputs,
    forbidden_mass,
    libra,
    libra_plain,
    loss_named,
    nll,
    of_logits,
    paper_negatives,
    sag,
)

mp.dps = 100
NAMES = [*LOSSES, "merit(0.25)", "merit(1)", "merit(0)", "lws(2)"]
TARGETS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {  # q of an allowed output from p, s, k
    "nll": lambda p, s, k: p / s,
    "rc": lambda p, s, k: p / s / 2,
    "merit": lambda p, s, k: p**0.5 / (p**0.5).sum(),
    "uniform": lambda p, s, k: torch.ones_like(p),
    "libra": lambda p, s, k: p + (1 - s) / k,
    "libra-plain": lambda p, s, k: p / (1 - s) + 1 / k,
}


def transcription(name: str, z: list[mpf], allowed: list[bool], fixed: list[mpf] | None = None) -> mpf:
    """The paper's formula in 100 digits, term by term; `fixed` are the logits of factors without gradient."""
    fixed = fixed or z
    base, _, beta = name.rstrip(")").partition("(")
    p, p_fixed = _softmax(z), _softmax(fixed)
    inside = [i for i, a in enumerate(allowed) if a]
    outside = [i for i, a in enumerate(allowed) if not a]
    s, s_fixed = sum(p[i] for i in inside), sum(p_fixed[i] for i in inside)
    k, m = len(inside), len(z)
    rest, rest_fixed = sum(p[i] for i in outside), sum(p_fixed[i] for i in outside)
    if base == "nll":
        return -mp.log(s)
    if base == "uniform":
        return -sum(mp.log(p[i]) for i in inside)
    if base == "rc":
        return -sum(p_fixed[i] / s_fixed * mp.log(p[i]) for i in inside) / 2
    if base == "merit":
        power = mpf(beta or "0.5")
        weight = {i: (p_fixed[i] / s_fixed) ** power for i in inside}
        return -sum(weight[i] / sum(weight.values()) * mp.log(p[i]) for i in inside)
    if base in ("libra", "libra-plain"):
        value = mp.log(rest) - sum(mp.log(p[i]) for i in inside) / k
        return value * rest_fixed if base == "libra" else value
    if base == "lws":
        sigmoid = lambda t: 1 / (1 + mp.exp(t))  # noqa: E731  the paper's σ
        exp = [mp.exp(v) for v in fixed]
        first = sum(exp[i] / sum(exp[j] for j in inside) * sigmoid(z[i]) for i in inside)
        second = sum(exp[i] / sum(exp[j] for j in outside) * sigmoid(-z[i]) for i in outside)
        return first + mpf(beta or "1") * second
    assert base == "sag"
    means = sum(mp.log(p[i]) for i in outside) / (m - k) - sum(mp.log(p[i]) for i in inside) / k
    return means + mpf("0.01") * sum(v * v for v in z)


def _softmax(z: list[mpf]) -> list[mpf]:
    exp = [mp.exp(v) for v in z]
    return [e / sum(exp) for e in exp]


def value_and_gradient(name: str, z: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    z = z.clone().requires_grad_()
    value = loss_named(name)(of_logits(z, allowed))
    (gradient,) = torch.autograd.grad(value.sum(), z)
    return value.detach(), gradient


def reference_gradient(name: str, z: list[mpf], allowed: list[bool]) -> list[mpf]:
    """Central differences with a step of 1e-40 in 100 digits: exact to far more digits than a double has."""
    step = mpf(10) ** -40
    moved = lambda i, h: [v + h * (i == j) for j, v in enumerate(z)]  # noqa: E731
    f = lambda i, h: transcription(name, moved(i, h), allowed, fixed=z)  # noqa: E731
    return [(f(i, step) - f(i, -step)) / (2 * step) for i in range(len(z))]


def sample(seed: int, m: int = 7, k: int = 3, spread: float = 2.0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    z = spread * torch.randn(m, generator=generator, dtype=torch.float64)
    allowed = torch.zeros(m, dtype=torch.bool)
    allowed[torch.randperm(m, generator=generator)[:k]] = True
    return z, allowed


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [1, 3, 6])
def test_loss_and_gradient_equal_the_papers_formula(name: str, k: int) -> None:
    z, allowed = sample(seed=k, k=k)
    value, gradient = value_and_gradient(name, z, allowed)
    exact = [mpf(v) for v in z.tolist()]
    assert value.item() == pytest.approx(float(transcription(name, exact, allowed.tolist())), rel=1e-12)
    expected = [float(g) for g in reference_gradient(name, exact, allowed.tolist())]
    assert gradient.tolist() == pytest.approx(expected, rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_gradient_equals_finite_differences(name: str) -> None:
    z, allowed = sample(seed=11)
    _, gradient = value_and_gradient(name, z, allowed)
    weightless = (
        "nll",
        "uniform",
        "libra-plain",
        "sag",
    )  # the others hold factors fixed that a difference would move
    if name in weightless:
        numeric = [
            (loss_named(name)(of_logits(z + h, allowed)) - loss_named(name)(of_logits(z - h, allowed))).item() / 2e-6
            for h in 1e-6 * torch.eye(len(z), dtype=torch.float64)
        ]
        assert gradient.tolist() == pytest.approx(numeric, abs=1e-8)
    assert gradient.sum().item() == pytest.approx(0.0, abs=1e-12) or name.startswith(("lws", "sag"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("log10_odds", [-30, -16, -8, -1, 0, 1, 8, 16, 30])
@pytest.mark.parametrize("k", [1, 3])
def test_loss_and_gradient_are_right_from_1e_minus_30_to_one_minus_1e_minus_30(
    name: str, log10_odds: int, k: int
) -> None:
    z, allowed = sample(seed=5, k=k)
    for side in (allowed, ~allowed):  # each side's mass is 1 before the shift
        z[side] -= z[side].logsumexp(-1)
    z = z + allowed * (log10_odds * math.log(10))
    value, gradient = value_and_gradient(name, z, allowed)
    assert torch.isfinite(value).all()
    assert torch.isfinite(gradient).all()
    exact = [mpf(v) for v in z.tolist()]
    assert value.item() == pytest.approx(
        float(transcription(name, exact, allowed.tolist())), rel=1e-12, abs=1e-15 if log10_odds == 0 else 0.0
    )
    expected = [float(g) for g in reference_gradient(name, exact, allowed.tolist())]
    assert gradient.tolist() == pytest.approx(expected, rel=1e-9, abs=3e-16)


@pytest.mark.parametrize("name", ["nll", "rc", "libra", "libra-plain"])
def test_gradients_that_vanish_keep_their_relative_precision(name: str) -> None:
    z, allowed = sample(seed=5)
    z = z + allowed * 69.0
    _, gradient = value_and_gradient(name, z, allowed)
    expected = reference_gradient(name, [mpf(v) for v in z.tolist()], allowed.tolist())
    assert gradient.tolist() == pytest.approx([float(g) for g in expected], rel=1e-9, abs=0.0)


@pytest.mark.parametrize("name", NAMES)
def test_float32_stays_finite_at_the_extremes(name: str) -> None:
    z, allowed = sample(seed=2)
    for shift in (-80.0, -20.0, 20.0, 80.0):
        value, gradient = value_and_gradient(name, (z + allowed * shift).float(), allowed)
        assert torch.isfinite(value).all()
        assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("name", NAMES)
def test_loss_is_invariant_under_permutation(name: str) -> None:
    z, allowed = sample(seed=3)
    order = torch.randperm(len(z), generator=torch.Generator().manual_seed(0))
    value, gradient = value_and_gradient(name, z, allowed)
    permuted, permuted_gradient = value_and_gradient(name, z[order], allowed[order])
    assert permuted.item() == pytest.approx(value.item(), rel=1e-13)
    assert permuted_gradient.tolist() == pytest.approx(gradient[order].tolist(), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", list(TARGETS))
def test_loss_has_the_gradient_of_a_cross_entropy_against_its_target(name: str) -> None:
    z, allowed = sample(seed=4)
    _, gradient = value_and_gradient(name, z, allowed)
    p = z.softmax(-1)
    q = torch.zeros_like(p)
    q[allowed] = TARGETS[name](p[allowed], p[allowed].sum(), int(allowed.sum()))
    assert gradient.tolist() == pytest.approx((p * q.sum() - q).tolist(), rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_any_leading_shape_is_a_batch(name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(4, 3, 6, generator=generator, dtype=torch.float64)
    allowed = torch.rand(3, 6, generator=generator) < 0.5
    allowed[:, 0], allowed[:, 1] = True, False
    value, gradient = value_and_gradient(name, z, allowed)
    assert value.shape == (4, 3)
    for i in range(4):
        for j in range(3):
            alone, alone_gradient = value_and_gradient(name, z[i, j], allowed[j])
            assert value[i, j].item() == pytest.approx(alone.item(), rel=1e-13)
            assert gradient[i, j].tolist() == pytest.approx(alone_gradient.tolist(), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_all_or_none_allowed_gives_finite_values_and_gradients(name: str) -> None:
    z, _ = sample(seed=6)
    for allowed in (torch.ones(7, dtype=torch.bool), torch.zeros(7, dtype=torch.bool)):
        value, gradient = value_and_gradient(name, z, allowed)
        assert torch.isfinite(value).all()
        assert torch.isfinite(gradient).all()


def test_padding_does_not_change_the_loss_of_a_candidate_set() -> None:
    z, allowed = sample(seed=8)
    outputs = of_logits(z, allowed)
    inside = outputs.log_p[allowed]
    padded = torch.cat([inside, torch.full((4,), math.nan, dtype=torch.float64)])
    mask = torch.arange(len(padded)) < len(inside)
    for loss in LOSSES.values():
        if not loss.needs_all_outputs:
            ragged = loss(Outputs(padded, mask, outputs.log_rest))
            assert ragged.item() == pytest.approx(loss(outputs).item(), rel=1e-13)


def test_libra_keeps_allowed_ratios_over_a_thousand_steps_of_softmax_regression() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, generator=generator, dtype=torch.float64)
    theta = torch.randn(8, 5, generator=generator, dtype=torch.float64)
    allowed = torch.tensor([True, True, False, True, False, False, True, False])
    for weighted in (True, False):
        w = theta.clone().requires_grad_()
        before = (w @ x).detach()[allowed]
        for _ in range(1000):
            (gradient,) = torch.autograd.grad(libra(of_logits(w @ x, allowed), weighted), w)
            w = (w - 0.05 * gradient).detach().requires_grad_()
        after = (w @ x).detach()[allowed]
        ratios = (after - after[0]).exp() / (before - before[0]).exp()
        assert torch.allclose(ratios, torch.ones_like(ratios), rtol=0, atol=1e-6)
        assert (w @ x).softmax(-1)[allowed].sum() > 0.99


def test_with_nll_the_largest_allowed_output_takes_all() -> None:
    z = torch.tensor([0.5, 0.0, 1.0, -0.5], dtype=torch.float64)
    allowed = torch.tensor([True, True, False, True])
    for _ in range(2000):
        leaf = z.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(nll(of_logits(leaf, allowed)), leaf)
        z = z - 0.02 * gradient / gradient.norm()  # a fixed length of step: the limit is far along the way
    p = z.softmax(-1)
    assert p[0] > 0.9999


def test_libra_gradient_is_constant_on_allowed_logits() -> None:
    z, allowed = sample(seed=9)
    leaf = z.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(libra_plain(of_logits(leaf, allowed)), leaf)
    p = z.softmax(-1)
    expected = torch.where(allowed, -1 / 3, p / p[~allowed].sum())
    assert gradient.tolist() == pytest.approx(expected.tolist(), rel=1e-12)


def test_sag_gradient_is_constant_on_both_sides() -> None:
    z, allowed = sample(seed=9)
    leaf = z.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(sag(of_logits(leaf, allowed), logit_penalty=0.0), leaf)
    assert gradient.tolist() == pytest.approx([-1 / 3 if a else 1 / 4 for a in allowed.tolist()], rel=1e-12)


def test_forbidden_mass_is_bounded_below_and_so_are_the_papers_negatives() -> None:
    z, forbidden = sample(seed=10)
    for shift in (-200.0, -30.0, 0.0, 5.0):
        outputs = of_logits(z + forbidden * shift, forbidden)
        assert forbidden_mass(outputs.log_rest) >= 0
        assert paper_negatives(libra_plain(outputs).unsqueeze(-1), floor=10.0) >= -10.0


@pytest.mark.parametrize("name", ["lws", "sag"])
def test_losses_that_need_all_outputs_refuse_sequences(name: str) -> None:
    loss = loss_named(name)
    assert loss.needs_all_outputs
    with pytest.raises(InputError, match="classifiers only"):
        loss(Outputs(torch.zeros(2), torch.ones(2, dtype=torch.bool), torch.tensor(-1.0)))


@pytest.mark.parametrize("text", ["libre", "nll(2)", "nll:2", "merit(x)", "merit:", ""])
def test_an_unknown_loss_is_named_with_the_known_ones(text: str) -> None:
    with pytest.raises(InputError, match=r"unknown loss|has no β"):
        loss_named(text)


@pytest.mark.parametrize("name", ["merit", "lws"])
def test_a_colon_or_parentheses_set_beta(name: str) -> None:
    outputs = of_logits(torch.randn(3, 5, generator=torch.manual_seed(0)), torch.tensor([1, 1, 0, 0, 1]) > 0)
    one, two, other = (loss_named(f"{name}{beta}")(outputs) for beta in (":0.25", "(0.25)", ":3"))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_losses_are_importable_from_the_package() -> None:
    import ruleminer.losses

    assert ruleminer.losses.libra is libra
