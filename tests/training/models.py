"""Models beside the language models of program.py: encoder and decoder, images, images with text, experts.

Each function returns (kind of the model, batch(count, length), loss(model, data, target)), as make_language_model does. `length` is that of texts;
where a model has no text, or one of its own length, nothing depends on it. Nothing looks at a value: experts are chosen by place.
"""

HEAD_WIDTH = 64
PATCH = 16
TEXT = 77  # tokens of a caption
CLASSES = 1000


def make_blocks(torch, args):
    """A layer of a transformer, with attention to another sequence where it is asked for."""
    nn, width, heads = torch.nn, args.width, args.width // HEAD_WIDTH

    class Attention(nn.Module):
        def __init__(self, is_causal):
            super().__init__()
            self.is_causal = is_causal
            self.query, self.both, self.out = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)

        def forward(self, x, other):
            batch, count, _ = x.shape
            query = self.query(x).view(batch, count, heads, HEAD_WIDTH).transpose(1, 2)
            key, value = self.both(other).view(batch, other.shape[1], 2, heads, HEAD_WIDTH).permute(2, 0, 3, 1, 4)
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=self.is_causal)
            return self.out(mixed.transpose(1, 2).reshape(batch, count, width))

    class Feed(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            return self.down(nn.functional.gelu(self.up(x)))

    class Experts(nn.Module):
        """Every expert takes its share of the tokens, into places that are reserved for them (one-hot masks, as Switch does it)."""

        def __init__(self, count=4):
            super().__init__()
            self.route, self.experts = nn.Linear(width, count), nn.ModuleList(Feed() for _ in range(count))

        def forward(self, x):
            flat = x.reshape(-1, width)
            count, room = len(self.experts), 2 * flat.shape[0] // len(self.experts)
            weights = self.route(flat).float().softmax(-1)
            chosen = weights.argmax(-1)
            mask = nn.functional.one_hot(chosen, count).to(x.dtype)
            place = (mask.float().cumsum(0) * mask).sum(-1).long().clamp(0, room - 1)
            spread = (mask * weights.to(x.dtype)).unsqueeze(-1) * nn.functional.one_hot(place, room).to(x.dtype).unsqueeze(1)
            taken = torch.einsum("tec,td->ecd", (spread > 0).to(x.dtype), flat)
            done = torch.stack([expert(part) for expert, part in zip(self.experts, taken)])
            return torch.einsum("tec,ecd->td", spread, done).view_as(x)

    class Block(nn.Module):
        def __init__(self, is_causal=False, is_crossed=False, has_experts=False):
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if is_crossed else 2))
            self.own = Attention(is_causal)
            self.crossed = Attention(False) if is_crossed else None
            self.feed = Experts() if has_experts else Feed()

        def forward(self, x, other=None):
            h = self.norms[0](x)
            x = x + self.own(h, h)
            if self.crossed:
                x = x + self.crossed(self.norms[2](x), other)
            return x + self.feed(self.norms[1](x))

    return Block


def through(torch, args, blocks, x, *more):
    """All layers, each recomputed in backward where that is asked for."""
    for block in blocks:
        x = torch.utils.checkpoint.checkpoint(block, x, *more, use_reentrant=False) if args.checkpoint else block(x, *more)
    return x


def make_tower(torch, args, layers):
    """Images to tokens of the model's width: patches, positions, layers."""
    nn, block, side = torch.nn, make_blocks(torch, args), args.image // PATCH

    class Tower(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, args.width, PATCH, stride=PATCH)
            self.places = nn.Parameter(torch.zeros(1, side * side, args.width))
            self.blocks = nn.ModuleList(block() for _ in range(layers))
            self.norm = nn.LayerNorm(args.width)

        def forward(self, images):
            x = self.patches(images).flatten(2).transpose(1, 2) + self.places
            return self.norm(through(torch, args, self.blocks, x))

    return Tower


def tokens(torch, args, count, length):
    return torch.randint(0, args.vocabulary, (count, length), device="cuda")


def images(torch, args, count):
    return torch.randn(count, 3, args.image, args.image, device="cuda")


def make_encdec(torch, args):
    nn, block = torch.nn, make_blocks(torch, args)

    class EncoderDecoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(args.vocabulary, args.width)
            self.encoder = nn.ModuleList(block() for _ in range(args.layers // 2))
            self.decoder = nn.ModuleList(block(True, True) for _ in range(args.layers // 2))
            self.norm_1, self.norm_2 = nn.LayerNorm(args.width), nn.LayerNorm(args.width)
            self.head = nn.Linear(args.width, args.vocabulary, bias=False)

        def forward(self, source, target):
            other = self.norm_1(through(torch, args, self.encoder, self.tokens(source)))
            return self.head(self.norm_2(through(torch, args, self.decoder, self.tokens(target), other)))

    def batch(count, length):
        return (tokens(torch, args, count, length), tokens(torch, args, count, length)), tokens(torch, args, count, length)

    def loss(model, data, target):
        return nn.functional.cross_entropy(model(*data).view(-1, args.vocabulary).float(), target.view(-1))

    return EncoderDecoder, batch, loss


def make_vit(torch, args):
    nn, tower = torch.nn, make_tower(torch, args, args.layers)

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.tower, self.head = tower(), nn.Linear(args.width, CLASSES)

        def forward(self, data):
            return self.head(self.tower(data).mean(1))

    def batch(count, _):
        return images(torch, args, count), torch.randint(0, CLASSES, (count,), device="cuda")

    return Classifier, batch, lambda model, data, target: nn.functional.cross_entropy(model(data).float(), target)


def make_clip(torch, args):
    nn, tower, block = torch.nn, make_tower(torch, args, args.layers), make_blocks(torch, args)

    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.tower, self.tokens = tower(), nn.Embedding(args.vocabulary, args.width)
            self.blocks = nn.ModuleList(block(True) for _ in range(args.layers))
            self.left, self.right = nn.Linear(args.width, 512, bias=False), nn.Linear(args.width, 512, bias=False)

        def forward(self, data, text):
            x = self.left(self.tower(data).mean(1))
            y = self.right(through(torch, args, self.blocks, self.tokens(text))[:, -1])
            return nn.functional.normalize(x, dim=-1) @ nn.functional.normalize(y, dim=-1).t()

    def batch(count, _):
        return (images(torch, args, count), tokens(torch, args, count, TEXT)), torch.arange(count, device="cuda")

    def loss(model, data, target):
        scores = model(*data).float()
        return (nn.functional.cross_entropy(scores, target) + nn.functional.cross_entropy(scores.t(), target)) / 2

    return Pair, batch, loss


def make_vlm(torch, args):
    """A language model that reads an image before a short text: its longest text is far from what a sample has."""
    nn, tower, block = torch.nn, make_tower(torch, args, args.layers // 2), make_blocks(torch, args)

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.tower, self.bridge = tower(), nn.Linear(args.width, args.width)
            self.tokens = nn.Embedding(args.vocabulary, args.width)
            self.blocks = nn.ModuleList(block(True) for _ in range(args.layers))
            self.norm, self.head = nn.LayerNorm(args.width), nn.Linear(args.width, args.vocabulary, bias=False)

        def forward(self, data, text):
            x = torch.cat((self.bridge(self.tower(data)), self.tokens(text)), dim=1)
            return self.head(self.norm(through(torch, args, self.blocks, x))[:, -text.shape[1]:])

    def batch(count, _):
        return (images(torch, args, count), tokens(torch, args, count, TEXT)), tokens(torch, args, count, TEXT)

    def loss(model, data, target):
        return nn.functional.cross_entropy(model(*data).reshape(-1, args.vocabulary).float(), target.view(-1))

    return Reader, batch, loss


def make_experts(torch, args):
    nn, block = torch.nn, make_blocks(torch, args)

    class Mixture(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(args.vocabulary, args.width)
            self.blocks = nn.ModuleList(block(True, has_experts=at % 2 == 1) for at in range(args.layers))
            self.norm, self.head = nn.LayerNorm(args.width), nn.Linear(args.width, args.vocabulary, bias=False)

        def forward(self, data):
            return self.head(self.norm(through(torch, args, self.blocks, self.tokens(data))))

    def batch(count, length):
        return tokens(torch, args, count, length), tokens(torch, args, count, length)

    def loss(model, data, target):
        return nn.functional.cross_entropy(model(data).view(-1, args.vocabulary).float(), target.view(-1))

    return Mixture, batch, loss


def make_unet(torch, args):
    """A denoiser: images at three sizes, features kept across."""
    nn = torch.nn

    def stage(before, after):
        return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(8, after), nn.SiLU(),
                             nn.Conv2d(after, after, 3, padding=1), nn.GroupNorm(8, after), nn.SiLU())

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            widths = (64, 128, 256)
            self.down = nn.ModuleList(stage(before, after) for before, after in zip((3, *widths), widths))
            self.up = nn.ModuleList(stage(2 * after if at else after, before) for at, (before, after) in
                                    enumerate(zip((128, 64, 32), (256, 128, 64))))
            self.end = nn.Conv2d(32, 3, 1)

        def forward(self, x):
            kept = []
            for at, part in enumerate(self.down):
                x = part(x if at == 0 else nn.functional.avg_pool2d(x, 2))
                kept.append(x)
            x = self.up[0](kept[2])
            for at, part in enumerate(self.up[1:]):
                x = part(torch.cat((nn.functional.interpolate(x, scale_factor=2.0), kept[1 - at]), dim=1))
            return self.end(x)

    def batch(count, _):
        return images(torch, args, count), images(torch, args, count)

    return Denoiser, batch, lambda model, data, target: nn.functional.mse_loss(model(data).float(), target)


MAKERS = {"encdec": make_encdec, "vit": make_vit, "clip": make_clip, "vlm": make_vlm, "experts": make_experts, "unet": make_unet}

# SPDX-License-Identifier: Apache-2.0
