"""What chapter 10 says, asserted (see `tools/claims.py`)."""

import json
import os
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

from tools.claims import claim, says

os.environ["KINETO_LOG_LEVEL"] = "6"  # the profiler works without messages


def times(laps, slow, fast_one):
    return (laps[slow] / laps[fast_one]).median()


with says("more than a hundred times as fast without changing what it computes", timed=True):
    claim(times(took[64], "as called", "absorption"), at_least=100)
with says("The rows save more, in either order.", timed=True):
    for before, after in (("as_called", "one_row"), ("no_weights", "both")):
        claim(times(calls, before, after) > times(calls, "as_called", "no_weights"))
with says("Without weights, all rows take less than two thirds of the time.", timed=True):
    claim(times(calls, "no_weights", "as_called"), at_most=2 / 3)
with says("its weights cost next to nothing", timed=True):
    claim(times(calls, "one_row", "both"), 0.85, 1.2)
with says("leaves less than a fifteenth of the time, with weights and without", timed=True):
    claim(times(calls, "as_called", "one_row"), at_least=15)
    claim(times(calls, "no_weights", "both"), at_least=15)
with says("At $D = 64$ this leaves a tenth of the multiply-adds."):
    claim((4 * T * D * D + 2 * T * T * D) / (2 * T * D * D + 2 * D * D + 2 * T * D), 9.5, 10)
    counted = {way: count(step(way, mha, x)).operations for way in ways}
    claim(counted[as_called] / counted[one_row], 9.5, 10)
with says("But the clock shows a larger gain.", timed=True):
    for before, after in ((as_called, one_row), (no_weights, both)):
        fewer = counted[before] / counted[after]
        claim(times(calls, before.__name__, after.__name__) / fewer, at_least=1.2)
with says("the heads, which do not change the count (chapter 9)?"):
    single = nn.MultiheadAttention(D, 1, batch_first=True)
    for way in ways:
        claim(count(step(way, single, x)).operations == counted[way])
with says("All rows now take less than a third of the time", timed=True):
    for name in ("as_called", "no_weights"):
        claim(one_head[name].median() / calls[name].median(), at_most=1 / 3)
with says("one row about as long as before", timed=True):
    for name in ("one_row", "both"):
        claim(one_head[name].median() / calls[name].median(), 0.75, 1.25)
with says("through chapter 4's layer, which copies less than PyTorch's"):
    for runs_of in ladders.values():
        theirs, ours = (count(run) for run in list(runs_of.values())[1:3])
        claim(ours.operations == theirs.operations and ours.moved < theirs.moved)
with says("absorption gives the same numbers"):
    claim(off, at_most=1e-4)
    rows = as_called(wide, few_texts)
    gap = absorbed(MultiHeadAttention.from_torch(wide), few_texts) - rows
    claim(gap.abs().max() / rows.abs().max(), at_most=1e-4)
with says("in less than a fifth of the time of the best call before it.", timed=True):
    claim(times(took[768], "chapter 4's layer", "absorption"), at_least=5)
    for laps in took.values():
        claim(times(laps, "one row, no weights", "chapter 4's layer"), at_least=0.95)
with says("The operations fall further than the time: nearly eightfold at", timed=True):
    for width, low, high in ((64, 7.5, 8), (768, 50, 60)):
        before, after = (count(run).operations for run in list(ladders[width].values())[2:])
        claim(before / after, low, high)
        claim(times(took[width], "chapter 4's layer", "absorption") < before / after)
with says("Narrow heads gain most from asking for one row, a wide layer", timed=True):
    gains = {w: [times(laps, *pair) for pair in pairwise(laps)] for w, laps in took.items()}
    claim([by.index(max(by)) for by in gains.values()] == [0, 2])
with says("The weights of our step are $B H T^2$ numbers, 248 MiB."):
    claim(4 * B * H * T**2 / 2**20 == 248)
sizes = (1, 64), (8, 8)
plain, flash = ({s: count(partial(attend, kernels[n], *s)) for s in sizes} for n in kernels)
with says("FlashAttention does a sixth more operations, and is faster all the same.", timed=True):
    for laps in kernel_took.values():
        claim(times(laps, "plain", "flash"), at_least=1.1)
    for shape, found in flash.items():
        claim(found.operations / plain[shape].operations, 1.16, 1.17)
with says("moves less than a third of the bytes with heads of 64, less than a twentieth with"):
    claim(flash[1, 64].moved / plain[1, 64].moved, at_most=1 / 3)
    claim(flash[8, 8].moved / plain[8, 8].moved, at_most=1 / 20)
with says("13 % more operations, a ninth of the traffic, and 41.7 ms become 7.3 [2]"):
    claim(75.2 / 66.6, 1.125, 1.135)
    claim(40.3 / 4.4, 8.5, 9.5)
with says(
    "On a processor without dropout, and on a GPU in half precision, that runs FlashAttention"
):
    with torch.profiler.profile() as seen:
        no_weights(mha, x)
    claim(any("flash_attention_for_cpu" in event.key for event in seen.key_averages()))
with says("PyTorch's layer takes a path of its own, which stores the weights"):
    with torch.profiler.profile() as seen, torch.no_grad():
        no_weights(nn.MultiheadAttention(D, H, batch_first=True).eval(), x)
    called = {event.key for event in seen.key_averages()}
    claim("aten::_native_multi_head_attention" in called and "aten::bmm" in called)
    claim(not any("flash_attention" in name for name in called))
with says("(nn.TransformerEncoderLayer asks for none."):
    block, asked = nn.TransformerEncoderLayer(D, H, batch_first=True), []
    block.self_attn.register_forward_pre_hook(
        lambda module, args, kwargs: asked.append(kwargs["need_weights"]), with_kwargs=True
    )
    block(x)
    claim(asked == [False])
with says("PyTorch's layer and chapter 4's call the same kernel."):
    with torch.profiler.profile() as seen_own:
        no_weights(own, x)
    claim(any("flash_attention_for_cpu" in event.key for event in seen_own.key_averages()))
with says("with 16 texts, 4,096 bytes."):
    claim(4 * 16 * D == 4096)
    kernel = F.scaled_dot_product_attention
    with patch.object(F, kernel.__name__, wraps=kernel) as spy:
        no_weights(mha, x), no_weights(own, x)
    strides = [call.args[0].stride() for call in spy.call_args_list]
with says("Chapter 4's layer keeps a text together, $D$ numbers from key to key."):
    claim([stride[2] for stride in strides] == [B * D, D])
    claim(q.stride()[2] == 32 * D)
with says("PyTorch's layer is slow at the multiples of 16.", timed=True):
    claim(all((ms[0] > 1.3 * a_text[31][0]) == (n % 16 == 0) for n, ms in a_text.items()))
    claim(all(ms[1] < 1.3 * a_text[31][1] for ms in a_text.values()))
with says("in a batch of 16, 32 or 48 takes more than one and a half times as long", timed=True):
    for n in (16, 32, 48):
        claim(a_text[n][0] / a_text[31][0], at_least=1.5)
with says("a copy into another must cure it", timed=True):
    claim(times(copying, "as it lies", "with a copy"), at_least=1.5)
with says("What do scores and mixtures take then?"):
    quick = FastMultiHeadAttention.from_torch(mha)
    claim([quick.absorbing_is_cheaper(n, 512) for n in (1, 8, 9)] == [True, True, False])

root = Path(checks.__file__).parents[1]
layers = json.loads((root / "benchmarks/results/layers-cuda.json").read_text(encoding="utf-8"))
with says("On a GPU (an H200), at $D = 64$, a step with one row takes no less time than with 512"):
    claim(layers["machine"]["gpu"] == "NVIDIA H200")
    at_size = {
        (row["asked"], row["queries"]): row["ms"]
        for row in layers["tables"]["layers"]
        if row["case"] in ("(32, 512, 64, 8)", "(32, 1 of 512, 64, 8)")
        if (row["pass"], row["name"]) == ("both", "torch.nn")
    }
    for asked in ("mean", "none"):
        claim(at_size[asked, 1] / at_size[asked, 512], at_least=1)
