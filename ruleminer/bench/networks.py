"""The two image networks of the paper: a 9-layer CNN (Wen et al.) and ResNet-18 for 32 × 32 images (He et al.).

`width` scales the number of channels; at width 1 they are the paper's, and the parameter counts are checked.
"""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

CNN_PARAMETERS = 4_434_570  # 10 classes
RESNET18_PARAMETERS = 11_220_132  # 100 classes


def cnn9(classes: int = 10, width: float = 1.0, size: int = 32, dropout: float = 0.25) -> nn.Module:
    """Nine 3 × 3 convolutions, batch-normalised, in three blocks, then an average over what is left of the image.

    The last block has no padding (8 × 8 shrinks to 2 × 2), except for small images, of which nothing would be left.
    """
    a, b, c = (max(1, round(width * channels)) for channels in (128, 256, 512))
    blocks: list[nn.Module] = []
    channels = (3, a, a, a, b, b, b, c, b, a)
    for layer, (inputs, outputs) in enumerate(pairwise(channels)):
        padding = 1 if layer < 6 or size < 32 else 0
        blocks += [nn.Conv2d(inputs, outputs, 3, padding=padding), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.01)]
        if layer in (2, 5):
            blocks += [nn.MaxPool2d(2), nn.Dropout2d(dropout)]
    network = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(a, classes))
    return _counted(network, CNN_PARAMETERS if (classes, width) == (10, 1.0) else None)


def resnet18(classes: int = 100, width: float = 1.0) -> nn.Module:
    """Two residual blocks at each of four resolutions; the first convolution is 3 × 3 and keeps the size."""
    sizes = [max(1, round(width * channels)) for channels in (64, 128, 256, 512)]
    layers: list[nn.Module] = [*_convolution(3, sizes[0], 1), nn.ReLU()]
    inputs = sizes[0]
    for stage, outputs in enumerate(sizes):
        layers += [_Residual(inputs, outputs, 1 if stage == 0 else 2), _Residual(outputs, outputs, 1)]
        inputs = outputs
    network = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))
    return _counted(network, RESNET18_PARAMETERS if (classes, width) == (100, 1.0) else None)


def parameter_count(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


class _Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            *_convolution(inputs, outputs, stride), nn.ReLU(), *_convolution(outputs, outputs, 1)
        )
        changes = stride != 1 or inputs != outputs
        self.shortcut = nn.Sequential(*_convolution(inputs, outputs, stride, size=1)) if changes else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = (self.branch(x) + self.shortcut(x)).relu()
        return out


def _convolution(inputs: int, outputs: int, stride: int, size: int = 3) -> tuple[nn.Module, nn.Module]:
    convolution = nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False)
    return convolution, nn.BatchNorm2d(outputs)


def _counted(network: nn.Module, expected: int | None) -> nn.Module:
    count = parameter_count(network)
    if expected is not None and count != expected:
        raise AssertionError(f"the paper's network has {expected:,} parameters, this one {count:,}")
    return network
