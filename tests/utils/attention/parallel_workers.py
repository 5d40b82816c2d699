"""What the processes of ``test_parallel`` do: four of them, in groups of 1, 2 and 4."""

import copy

import torch
import torch.distributed as dist
from largest import Largest
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.utils.flop_counter import FlopCounterMode

from chapters.ch13_costs import count_messages
from chapters.ch13_heads import parallelize_heads
from chapters.ch13_ring import ring_attention, ring_positions
from chapters.ch14_variants import ConvMultiHeadAttention
from chapters.ch17_transformer import DecoderBlock
from utils.attention import MultiHeadAttention, scaled_dot_product_attention
from utils.blocks import EncoderBlock
from utils.cache import KeyValueCache
from utils.costs import kept_bytes
from utils.positions import ALiBi, RotaryPositionalEncoding

B, T, D, H = 2, 8, 16, 4
DOUBLE = torch.float64


def mesh_of(processes):
    shape = (4 // processes, processes)
    return init_device_mesh("cpu", shape, mesh_dim_names=("others", "mine"))["mine"]


def distance(got, wanted):
    whole = [x.full_tensor() if isinstance(x, DTensor) else x for x in got]
    return max((x - y).abs().max().item() for x, y in zip(whole, wanted, strict=True))


def run(module, call):
    """The outputs, and the gradients of inputs and parameters of something that weighs them."""
    torch.manual_seed(7)
    x = torch.randn(B, T, D, dtype=DOUBLE, requires_grad=True)
    y = torch.randn(B, T + 3, D, dtype=DOUBLE, requires_grad=True)
    outputs = [output for output in call(module, x, y) if output is not None]
    sum(output.sin().sum() for output in outputs).backward()
    gradients = [x.grad, y.grad, *(parameter.grad for parameter in module.parameters())]
    return [*outputs, *(gradient for gradient in gradients if gradient is not None)]


def masked(module, x, y):
    """A padding mask, by name, and one with a part for each head, with the weights of all heads."""
    padding = torch.arange(T + 3).expand(B, -1) > T
    each = torch.randn(B * H, T, T + 3, dtype=DOUBLE)
    first = module(x, y, y, attn_mask=each, average_attn_weights=False)
    second = module(query=x, key=y, value=y, key_padding_mask=padding)
    third = module(x, y, y, None, False, each.unflatten(0, (B, H)))
    return [*first, *second, *third]


def own(module, x, y):
    return [*module(x, x, x, need_weights=False, is_causal=True), *module(x[0], x[0], x[0])]


def layer(heads=H, **options):
    return lambda: MultiHeadAttention(D, heads, **options)


CASES = {
    "masks for each head": (layer(head_dim=6, kdim=D, vdim=D), masked),
    "shared key heads": (layer(2 * H, num_kv_heads=H), own),
    "positions by rotation": (layer(positions=RotaryPositionalEncoding(4)), own),
    "positions by slopes": (layer(positions=ALiBi(H), bias=False), own),
    "encoder's block": (
        lambda: EncoderBlock(D, H, 12, norm_first=True),
        lambda block, x, y: block(x, need_weights=True),
    ),
    "decoder's block": (
        lambda: DecoderBlock(D, H, 12),
        lambda block, x, y: block(x, y, need_weights=True),
    ),
}


def compare_heads(meshes):
    """Give how far each case is from one process, for groups of each size."""
    far = {}
    for name, (make, call) in CASES.items():
        module = make().double()
        spreads = [copy.deepcopy(module) for _ in meshes]
        wanted = run(module, call)
        for mesh, spread in zip(meshes, spreads, strict=True):
            far[name, mesh.size()] = distance(run(parallelize_heads(spread, mesh), call), wanted)
    module, x, written = layer(2 * H, num_kv_heads=H)().double(), torch.randn(B, T, D).double(), []
    for one in (module, parallelize_heads(copy.deepcopy(module), meshes[-1])):
        cache = KeyValueCache(T)
        written.append(torch.cat([one.decode(token, cache) for token in x.split(3, 1)], dim=1))
    return far | {("decoding", 4): distance(written[1:], written[:1])}


def count_heads(mesh):
    """Give the messages of a block and of a layer, forward and back, and what a process keeps."""
    block, outputs = EncoderBlock(D, H, 12), []
    before = sum(parameter.numel() for parameter in block.mha.parameters())
    parallelize_heads(block, mesh)
    kept = sum(parameter.to_local().numel() for parameter in block.mha.parameters())
    x, y = torch.randn(2, B, T, D, requires_grad=True).unbind()
    forward = count_messages(lambda: outputs.append(block(x)[0].sum()))
    backward = count_messages(outputs[0].backward)
    crossed = count_messages(lambda: block.mha(x, y, y, need_weights=False)[0].sum().backward())
    return forward, backward, crossed, before, kept


def refuse(mesh):
    """Give the sentences that say what cannot be spread over four processes."""
    said = []
    modules = [
        MultiHeadAttention(12, 6),
        MultiHeadAttention(D, H, num_kv_heads=2),
        torch.nn.Linear(4, 4),
        MultiHeadAttention(D, H, positions=torch.nn.Identity()),
        torch.nn.Sequential(EncoderBlock(D, H, 12), EncoderBlock(D, H, 10)),
        ConvMultiHeadAttention(D, H),
    ]
    for module in [*modules, parallelize_heads(MultiHeadAttention(D, 4 * H), mesh)]:
        try:
            parallelize_heads(module, mesh)
        except ValueError as error:
            said.append(str(error))
    return said, not any(isinstance(x, DTensor) for m in modules for x in m.parameters())


def compare_ring(meshes):
    """Give how far the ring is from one process, for groups of each size."""
    far = {}
    for mesh in meshes:
        group = mesh.get_group()
        for is_causal in (False, True):
            at = ring_positions(16, dist.get_rank(group), mesh.size(), is_causal)
            q = torch.randn(B, 3, 2, 16, 4, dtype=DOUBLE, requires_grad=True)  # two share a key
            k = (3 * torch.randn(B, 3, 1, 16, 4, dtype=DOUBLE)).requires_grad_()
            v = torch.randn(B, 3, 1, 16, 5, dtype=DOUBLE, requires_grad=True)
            whole = [q, *(x.expand(-1, -1, 2, -1, -1) for x in (k, v))]
            output = scaled_dot_product_attention(*whole, is_causal=is_causal)[0]
            wanted = [output, *torch.autograd.grad(output.sin().sum(), (q, k, v))]
            mine = [x.detach()[..., at, :].requires_grad_() for x in (q, k, v)]
            output = ring_attention(*mine, is_causal, group)
            got = [output, *torch.autograd.grad(output.sin().sum(), mine)]
            far[mesh.size(), is_causal] = distance(got, [x[..., at, :] for x in wanted])
    return far


def weigh_ring(meshes):
    """Give what a process keeps, makes, multiplies and sends for one long sequence."""
    return {
        (mesh.size(), is_causal): weigh(mesh.get_group(), 512 // mesh.size(), is_causal)
        for mesh in meshes
        for is_causal in (False, True)
    }


def weigh(group, tokens, is_causal):
    q, k, v = (torch.randn(1, 2, tokens, 8).requires_grad_() for _ in range(3))
    outputs, products, sent = [], [], []
    kept = kept_bytes(lambda: ring_attention(q, k, v, is_causal, group))
    with Largest() as largest:
        for step in (
            lambda: outputs.append(ring_attention(q, k, v, is_causal, group)),
            lambda: outputs[0].sum().backward(),
        ):
            with FlopCounterMode(display=False) as counter:
                sent.append(count_messages(step))
            products.append(counter.get_total_flops())
    return {
        "kept": kept,
        "largest": largest.bytes,
        "products": products,
        "sent": [sum(message.bytes for message in messages) for messages in sent],
        "names": sorted({message.name for messages in sent for message in messages}),
    }


def everything():
    """Start once: four processes are seconds, and what they do is not."""
    torch.manual_seed(0)
    meshes = [mesh_of(processes) for processes in (1, 2, 4)]
    return {
        "heads": compare_heads(meshes),
        "messages": count_heads(meshes[-1]),
        "refused": refuse(meshes[-1]),
        "ring": compare_ring(meshes),
        "weights": weigh_ring(meshes),
    }
