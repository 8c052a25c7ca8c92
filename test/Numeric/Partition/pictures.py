# SPDX-License-Identifier: Apache-2.0
"""Draws convolution networks for spatial sharding. The feature maps are sharded along the rows
("lines"), and layers exchange halos above and below each shard."""

import numpy as np
from split import Build, draw


class Net(Build):
    """Adds layers over values of shape [n, channels, lines, columns]. A value is a tuple of name,
    channels, lines and columns."""

    def weight(self, *shape):
        """Returns random weights, scaled so that a layer's results have the magnitude of its
        inputs."""
        return self.constant(draw(self, *shape) / np.float32(np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else 4)))

    def pick(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def extents(self, value, kernel, stride, dilation, low, high):
        return tuple(
            (size + low[i] + high[i] - (kernel[i] - 1) * dilation[i] - 1) // stride[i] + 1
            for i, size in enumerate(value[2:])
        )

    def window(self, value, strided=True, even=False):
        """Draws the parameters of a convolution window over lines and columns (kernel, strides,
        dilations, pads) until the result has at least five lines and columns."""
        while True:
            kernel = [int(self.pick(1, 2, 3, 5)) for _ in range(2)]
            stride = [self.pick(1, 1, 2, 3) if strided else 1 for _ in range(2)]
            dilation = [self.pick(1, 1, 2) for _ in range(2)]
            low = [int(self.random.integers(0, k)) for k in kernel]
            high = [int(self.random.integers(0, k)) for k in kernel]
            if even:
                kernel = [k | 1 for k in kernel]
                low = high = [(k - 1) * d // 2 for k, d in zip(kernel, dilation)]
            sizes = self.extents(value, kernel, stride, dilation, low, high)
            if min(sizes) >= 5:
                return kernel, stride, dilation, low, high, sizes

    def conv(self, value, channels, even=False, strided=True, window=None):
        name, inside = value[:2]
        kernel, stride, dilation, low, high, sizes = window or self.window(value, strided, even)
        group = self.pick(1, 1, inside) if channels == inside else 1
        made = self(
            "Conv",
            name,
            self.weight(channels, inside // group, *kernel),
            self.weight(channels),
            strides=stride,
            dilations=dilation,
            pads=[*low, *high],
            group=group,
        )
        return (made, channels, *sizes)

    def act(self, value):
        return (self(self.pick("Relu", "Tanh", "Sigmoid"), value[0]), *value[1:])

    def pool(self, value):
        kernel, stride, dilation, low, high, sizes = self.window(value)
        options = {"kernel_shape": kernel, "strides": stride, "pads": [*low, *high]}
        if self.pick(0, 1):
            made = self("MaxPool", value[0], dilations=dilation, **options)
        else:
            made = self("AveragePool", value[0], count_include_pad=self.pick(0, 1), **options)
            sizes = self.extents(value, kernel, stride, [1, 1], low, high)
        return (made, value[1], *sizes)

    def pad(self, value):
        low = [int(self.random.integers(0, 3)) for _ in range(2)]
        high = [int(self.random.integers(-1, 3)) for _ in range(2)]
        pads = self.ints(0, 0, *low, 0, 0, *high)
        made = self("Pad", value[0], pads, mode=self.pick("constant", "edge", "reflect"))
        return (made, value[1], *(size + a + b for size, a, b in zip(value[2:], low, high)))

    def resize(self, value, factor=None):
        mode = self.pick("nearest", "linear", "cubic")
        factor = factor or self.pick(2, 2, 3, 0.5)
        lines, columns = (int(size * factor) for size in value[2:])
        if min(lines, columns) < 5:
            return value
        made = self(
            "Resize",
            value[0],
            "",
            "",
            self.ints(self.items, value[1], lines, columns),
            mode=mode,
            coordinate_transformation_mode=self.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"),
            nearest_mode=self.pick("floor", "round_prefer_floor", "ceil"),
        )
        return (made, value[1], lines, columns)

    def up(self, value):
        """Doubles lines and columns by a transposed convolution whose kernel is at least as large
        as its stride."""
        kernel = self.pick(2, 3, 4)
        pads = [(kernel - 2) // 2] * 2 + [(kernel - 2 + 1) // 2] * 2
        weight = self.weight(value[1], value[1], kernel, kernel)
        made = self("ConvTranspose", value[0], weight, strides=[2, 2], pads=pads)
        return (made, value[1], 2 * value[2], 2 * value[3])

    def shuffle(self, value):
        """Doubles lines and columns by a sub-pixel convolution (DepthToSpace)."""
        value = self.conv(value, 4 * value[1], even=True, strided=False)
        return (self("DepthToSpace", value[0], blocksize=2), value[1] // 4, 2 * value[2], 2 * value[3])

    def residual(self, value):
        inner = self.act(self.conv(value, value[1], even=True, strided=False))
        inner = self.conv(inner, value[1], even=True, strided=False)
        return (self("Add", value[0], inner[0]), *value[1:])

    def norm(self, value):
        """Normalizes over the channels of each pixel."""
        away = self("Sub", value[0], self("ReduceMean", value[0], self.ints(1)))
        spread = self("Sqrt", self("ReduceMean", self("Mul", away, away), self.ints(1)))
        return (self("Div", away, self("Add", spread, self.constant(draw(self, 1, 1, 1, 1) ** 2 + 1))), *value[1:])

    def squeeze(self, value):
        """Scales channels by a gate computed from the global average of the feature map."""
        gate = self("Sigmoid", self("Conv", self("GlobalAveragePool", value[0]), self.weight(value[1], value[1], 1, 1)))
        return (self("Mul", value[0], gate), *value[1:])

    def turn(self, value):
        """Reverses the order of the rows."""
        made = self("Slice", value[0], self.ints(-1), self.ints(-(2**31)), self.ints(2), self.ints(-1))
        return (made, *value[1:])

    def fork(self, value):
        """Concatenates two convolutions of one value along the channels."""
        left, right = (self.conv(value, value[1], even=True, strided=False) for _ in range(2))
        return (self("Concat", left[0], right[0], axis=1), 2 * value[1], *value[2:])

    def narrow(self, value):
        return self.conv(value, 8, even=True, strided=False)

    def u(self, value, depth):
        """A U-Net: downsamples, recurses, upsamples, and concatenates the skip connection."""
        if depth == 0 or min(value[2:]) < 12:
            return self.residual(value)
        down = self("MaxPool", value[0], kernel_shape=[2, 2], strides=[2, 2])
        inner = self.u((down, value[1], value[2] // 2, value[3] // 2), depth - 1)
        inner = self.up(inner) if self.pick(0, 1) else self.resize(inner, 2)
        skip = value[0]
        if value[2:] != inner[2:]:  # the downsampling convolution has dropped an odd row
            skip = self("Slice", skip, self.ints(0, 0), self.ints(*inner[2:]), self.ints(2, 3))
        joined = (self("Concat", inner[0], skip, axis=1), inner[1] + value[1], *inner[2:])
        return self.act(self.conv(joined, value[1], even=True, strided=False))


STEPS = ("act", "pool", "pad", "resize", "up", "shuffle", "residual", "norm", "squeeze", "turn", "fork", "narrow")


def network(seed, items=1):
    net = Net(seed)
    net.items = items
    lines, columns = (int(size) for size in net.random.integers(21, 45, 2))
    image = net.input("image", [items, 3, lines, columns], draw(net, items, 3, lines, columns))
    if net.pick(0, 1):
        image = net(
            "Div", net("Sub", image, net.constant(draw(net, 3, 1, 1))), net.constant(draw(net, 3, 1, 1) ** 2 + 1)
        )
    value = net.act(net.conv((image, 3, lines, columns), 8))
    seen = []
    for _ in range(int(net.random.integers(2, 6))):
        step = net.pick(*STEPS, "conv", "u")
        if step == "u":
            value = net.u(value, 2)
        elif step == "conv":
            value = net.conv(value, net.pick(8, 12, value[1]))
        elif step in ("up", "shuffle", "resize") and max(value[2:]) > 80:
            continue
        else:
            value = getattr(net, step)(value)
        if net.pick(0, 0, 0, 1):
            seen.append(value[0])
    value = net.conv(value, 4, even=True, strided=False)
    if net.pick(0, 1):
        flat = net("Flatten", net("GlobalAveragePool", value[0]))
        return net.model(net("MatMul", flat, net.weight(4, 10)), *dict.fromkeys(seen))
    return net.model(value[0], *dict.fromkeys(seen))
