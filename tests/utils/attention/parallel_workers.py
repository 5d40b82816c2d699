"""What the processes of ``test_parallel`` do: four of them, in groups of 1, 2 and 4."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from largest import Largest
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.utils.flop_counter import FlopCounterMode

from utils.attention import (
    ALiBi,
    ConvMultiHeadAttention,
    KeyValueCache,
    MultiHeadAttention,
    RotaryPositionalEncoding,
    parallelize_heads,
    ring_attention,
    ring_positions,
    scaled_dot_product_attention,
)
from utils.measure import count_messages, kept_bytes
from utils.models import DecoderBlock, EncoderBlock

B, T, D, H = 2, 8, 16, 4
DOUBLE = torch.float64


def whole(x):
    return x.full_tensor() if isinstance(x, DTensor) else x


def distance(got, wanted):
    return max((whole(g) - w).abs().max().item() for g, w in zip(got, wanted, strict=True))


def run(module, call):
    """The outputs, and the gradients of inputs and parameters of something that weighs them."""
    torch.manual_seed(7)
    x = torch.randn(B, T, D, dtype=DOUBLE, requires_grad=True)
    y = torch.randn(B, T + 3, D, dtype=DOUBLE, requires_grad=True)
    outputs = [output for output in call(module, x, y) if output is not None]
    sum((output * torch.randn(output.shape, dtype=DOUBLE)).sum() for output in outputs).backward()
    gradients = [x.grad, y.grad, *(parameter.grad for parameter in module.parameters())]
    return [*outputs, *(gradient for gradient in gradients if gradient is not None)]


def layer(**options):
    return MultiHeadAttention(D, H, **options)


def masked(module, x, y):
    """A padding mask, by name, and one with a part for each head, with the weights of all heads."""
    padding = torch.zeros(B, T + 3, dtype=torch.bool)
    padding[0, -2:] = True
    each = torch.randn(B * H, T, T + 3, dtype=DOUBLE)
    first = module(x, y, y, attn_mask=each, average_attn_weights=False)
    second = module(query=x, key=y, value=y, key_padding_mask=padding)
    third = module(x, y, y, None, False, each.unflatten(0, (B, H)))
    return [*first, *second, *third]


def own(module, x, y):
    return [*module(x, x, x, need_weights=False, is_causal=True), *module(x[0], x[0], x[0])]


CASES = {
    "own sequence": (layer, own),
    "masks for each head": (layer, masked),
    "shared key heads": (lambda: MultiHeadAttention(D, 2 * H, num_kv_heads=H), own),
    "heads of another width": (lambda: layer(head_dim=6, kdim=D, vdim=D), masked),
    "positions by rotation": (lambda: layer(positions=RotaryPositionalEncoding(4)), own),
    "positions by slopes": (lambda: layer(positions=ALiBi(H), bias=False), own),
    "encoder's block": (
        lambda: EncoderBlock(D, H, 12, norm_first=True),
        lambda block, x, y: block(x, need_weights=True),
    ),
    "decoder's block": (
        lambda: DecoderBlock(D, H, 12),
        lambda block, x, y: block(x, y, need_weights=True),
    ),
}
FEWER = {
    1: ["own sequence"],
    2: ["masks for each head", "shared key heads", "positions by slopes"],
}


def compare_heads():
    """Give how far each case is from one process, for 4 of them, with one head each.

    What is cut by the heads' numbers also for 2, with two heads each; and one case for 1.
    """
    far = {}
    meshes = [
        init_device_mesh("cpu", (4 // n, n), mesh_dim_names=("data", "heads"))["heads"]
        for n in (1, 2, 4)
    ]
    for name, (make, call) in CASES.items():
        torch.manual_seed(0)
        module = make().double()
        spreads = [copy.deepcopy(module) for _ in meshes]
        wanted = run(module, call)
        for mesh, spread in zip(meshes, spreads, strict=True):
            if mesh.size() == 4 or name in FEWER[mesh.size()]:
                got = run(parallelize_heads(spread, mesh), call)
                far[name, mesh.size()] = distance(got, wanted)
    module = MultiHeadAttention(D, 2 * H, num_kv_heads=H).double()
    far["decoding", 4] = decode(module, parallelize_heads(copy.deepcopy(module), meshes[-1]))
    return far


def decode(module, spread):
    x, caches = torch.randn(B, T, D, dtype=DOUBLE), []
    for one in (module, spread):
        cache = KeyValueCache(T)
        caches.append(torch.cat([one.decode(token, cache) for token in x.split(3, dim=1)], dim=1))
    return distance(caches[1:], caches[:1])


def count_heads():
    """Give the messages of a block and of a layer, forward and back, and what a process keeps."""
    mesh = init_device_mesh("cpu", (4,))
    block = EncoderBlock(D, H, 12)
    before = sum(parameter.numel() for parameter in block.mha.parameters())
    parallelize_heads(block, mesh)
    local = [parameter.to_local() for parameter in block.mha.parameters()]
    x = torch.randn(B, T, D, requires_grad=True)
    y = torch.randn(B, T, D, requires_grad=True)
    outputs = []
    forward = count_messages(lambda: outputs.append(block(x)[0].sum()))
    backward = count_messages(outputs[0].backward)
    crossed = count_messages(lambda: block.mha(x, y, y, need_weights=False)[0].sum().backward())
    return forward, backward, crossed, before, sum(part.numel() for part in local)


def refuse():
    """Give the sentences that say what cannot be spread over four processes."""
    mesh, said = init_device_mesh("cpu", (4,)), []
    spread = parallelize_heads(MultiHeadAttention(D, 4 * H), mesh)
    modules = [
        MultiHeadAttention(12, 6),
        MultiHeadAttention(D, H, num_kv_heads=2),
        torch.nn.Linear(4, 4),
        MultiHeadAttention(D, H, positions=torch.nn.Identity()),
        torch.nn.Sequential(EncoderBlock(D, H, 12), EncoderBlock(D, H, 10)),
        ConvMultiHeadAttention(D, H),
    ]
    for module in [*modules, spread]:
        try:
            parallelize_heads(module, mesh)
        except ValueError as error:
            said.append(str(error))
    untouched = not any(isinstance(x, DTensor) for m in modules for x in m.parameters())
    return said, untouched


def compare_ring():
    """Give how far the ring is from one process, for 1, 2 and 4 of them."""
    far = {}
    for processes in (1, 2, 4):
        shape = (4 // processes, processes)
        group = init_device_mesh("cpu", shape, mesh_dim_names=("data", "ring"))["ring"].get_group()
        at = {c: ring_positions(16, dist.get_rank(group), processes, c) for c in (False, True)}
        for is_causal in (False, True):
            for groups in (1, 2):  # queries that share a key head
                torch.manual_seed(processes)
                q = torch.randn(B, 3, groups, 16, 4, dtype=DOUBLE, requires_grad=True)
                k = 3 * torch.randn(B, 3, 1, 16, 4, dtype=DOUBLE)
                k, v = k.requires_grad_(), torch.randn(B, 3, 1, 16, 5, dtype=DOUBLE)
                inputs = (q, k, v.requires_grad_())
                wanted = ring_case(lambda *x, c=is_causal: one_process(*x, c), inputs, slice(None))
                mine = [x.detach()[..., at[is_causal], :].requires_grad_() for x in inputs]
                got = ring_case(
                    lambda *x, c=is_causal, g=group: ring_attention(*x, c, g), mine, at[is_causal]
                )
                wanted = [x[..., at[is_causal], :] for x in wanted]
                far[processes, is_causal, groups] = distance(got, wanted)
    return far


def one_process(q, k, v, is_causal):
    groups = q.shape[2]
    return scaled_dot_product_attention(
        q, k.expand(-1, -1, groups, -1, -1), v.expand(-1, -1, groups, -1, -1), is_causal=is_causal
    )[0]


def ring_case(function, inputs, at):
    output = function(*inputs)
    factor = torch.randn(*output.shape[:-2], 16, 5, dtype=DOUBLE, generator=seeded())[..., at, :]
    return [output.detach(), *torch.autograd.grad((output * factor).sum(), inputs)]


def seeded():
    return torch.Generator().manual_seed(3)


def weigh_ring():
    """Give what a process keeps, makes, multiplies and sends for one long sequence."""
    found = {}
    for processes in (1, 2, 4):
        shape = (4 // processes, processes)
        group = init_device_mesh("cpu", shape, mesh_dim_names=("data", "ring"))["ring"].get_group()
        for is_causal in (False, True):
            found[processes, is_causal] = weigh(group, 512 // processes, is_causal)
    return found


def weigh(group, tokens, is_causal):
    q, k, v = (torch.randn(1, 2, tokens, 8).requires_grad_() for _ in range(3))
    outputs = []

    def forward():
        outputs.append(ring_attention(q, k, v, is_causal, group))
        return outputs[-1]

    kept = kept_bytes(forward)
    with Largest() as largest, FlopCounterMode(display=False) as products:
        sent = count_messages(forward)
    with largest, FlopCounterMode(display=False) as products_back:
        sent_back = count_messages(outputs[-1].sum().backward)
    return {
        "kept": kept,
        "largest": largest.bytes,
        "products": (products.get_total_flops(), products_back.get_total_flops()),
        "sent": (sum(m.bytes for m in sent), sum(m.bytes for m in sent_back)),
        "names": sorted({m.name for m in sent + sent_back}),
    }


def beside_pytorch():
    """Give how far PyTorch's context parallelism is from one process, or what it says."""
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.experimental._attention import context_parallel_unshard

    mesh = init_device_mesh("cpu", (4,))
    torch.manual_seed(0)
    q, k, v = (torch.randn(B, H, 16, 4) for _ in range(3))
    wanted = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    try:
        with context_parallel(mesh, buffers=[q, k, v], buffer_seq_dims=[2, 2, 2]):
            mine = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            (got,) = context_parallel_unshard(mesh, [mine], [2])
    except (NotImplementedError, RuntimeError) as error:
        return str(error)
    return distance([got], [wanted])


def everything():
    """Start once: four processes are seconds, and what they do is not."""
    return {
        "heads": compare_heads(),
        "messages": count_heads(),
        "refused": refuse(),
        "ring": compare_ring(),
        "weights": weigh_ring(),
        "PyTorch's": beside_pytorch(),
    }
