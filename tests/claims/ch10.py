"""What chapter 10 says, asserted (see `tools/claims.py`)."""

import os

from tools.claims import claim, says

os.environ["KINETO_LOG_LEVEL"] = "6"  # the profiler works without messages


def steps(size, heads):
    """The calls of the chapter at other sizes, forward and backward."""
    layer = nn.MultiheadAttention(size[-1], heads, batch_first=True)
    plain = MultiHeadAttention.from_torch(layer)
    quick = FastMultiHeadAttention.from_torch(layer)
    tokens = torch.randn(size, requires_grad=True)

    def trained(call):
        def run():
            tokens.grad = None
            call()[0][:, 0].square().sum().backward()

        return run

    first = (tokens[:, :1], tokens, tokens)
    ways = {
        "called": lambda: layer(tokens, tokens, tokens),
        "quiet": lambda: layer(tokens, tokens, tokens, need_weights=False),
        "row": lambda: layer(*first),
        "own": lambda: plain(*first, need_weights=False),
        "fast": lambda: quick(*first, need_weights=False),
    }
    return {name: trained(way) for name, way in ways.items()}


def gain(laps, slow, fast_one):
    return (laps[slow] / laps[fast_one]).median()


wide_steps, short_steps = steps((8, 512, 256), 4), steps((B, 64, D), H)
with says("on long texts, more than a hundred times as fast", timed=True):
    claim(calls["as_called"].median() / few["fast_layer"].median(), at_least=100)
with says("PyTorch's layer takes less than a tenth of the time", timed=True):
    claim(gain(calls, "as_called", "one_row"), at_least=10)
with says("The fast layer takes less than half of the time of the best call before it", timed=True):
    claim(gain(few, "own_one_row", "fast_layer"), at_least=2)
    claim(few["own_one_row"].median() <= few["one_row"].median())
with says("It turns round.", timed=True):
    claim(gain(calls, "as_called", "one_row") > gain(few, "one_row", "fast_layer"))
    claim(gain(wide, "as called", "one row") < gain(wide, "one row", "fast layer"))
with says("the row is worth less than four, and the fast layer", timed=True):
    claim(gain(wide, "as called", "one row"), at_most=4)
    claim(gain(wide, "one row", "fast layer"), at_least=6)
with says("The first is four times the second at $D = 64$, and a third of it at $D = 768$."):
    claim([2 * T * T * d / (4 * T * d * d) for d in (64, 768)] == [4, 1 / 3])
with says("The fast layer makes neither."):
    claim(bert_fast.absorbing_is_cheaper(1, T))
with says("(With texts of 64 tokens and $D = 64$, both gain less.)", timed=True):
    laps = in_turns(short_steps, rounds=20)
    claim(gain(laps, "called", "row") < gain(calls, "as_called", "one_row"))
    claim(gain(laps, "own", "fast") < gain(few, "own_one_row", "fast_layer"))
with says("absorption gives the same numbers from about an eighth of the operations"):
    before, after = (count(step(way)).operations for way in (own_one_row, absorbed))
    claim(before / after, 7.5, 8.5)
    claim(count(step(fast_layer)).operations / after, 0.95, 1.05)
    claim(max(gaps), at_most=1e-4)
with says("With heads of eight numbers, the row is most of the gain.", timed=True):
    claim(math.log(at[0] / at[1]) / math.log(at[0] / at[-1]), at_least=0.5)
with says("with four heads, of 64 numbers each, about half of the bytes are left."):
    loud, quiet = (count(wide_steps[name]) for name in ("called", "quiet"))
    claim(quiet.moved / loud.moved, 0.45, 0.55)
with says("at $D = 768$ less is saved.", timed=True):
    bert_loud_quiet = {
        "loud": step(lambda x: bert(x, x, x)[0][:, 0], wide_x),
        "quiet": step(lambda x: bert(x, x, x, need_weights=False)[0][:, 0], wide_x),
    }
    saved = gain(in_turns(bert_loud_quiet, rounds=5), "loud", "quiet")
    claim(saved < gain(calls, "as_called", "no_weights"))
with says("The weights of our step are $B H T^2$ numbers, 248 MiB."):
    claim(4 * B * H * T**2 / 2**20 == 248)
with says(
    "here its calls take and give less than an eighth of the bytes, and it does 13 % more operations"
):
    claim(counts["as_called"].moved / counts["no_weights"].moved, at_least=8)
    claim(counts["no_weights"].operations / counts["as_called"].operations, 1.125, 1.145)
with says(
    "On a processor without dropout, and on a GPU in half precision, that runs FlashAttention"
):
    with torch.profiler.profile() as seen:
        no_weights(x)
    claim(any("flash_attention_for_cpu" in event.key for event in seen.key_averages()))
with says("(nn.TransformerEncoderLayer asks for none.)"):
    block, asked = nn.TransformerEncoderLayer(D, H, batch_first=True), []
    block.self_attn.register_forward_pre_hook(
        lambda module, args, kwargs: asked.append(kwargs["need_weights"]), with_kwargs=True
    )
    block(x)
    claim(asked == [False])
with says("PyTorch's layer and chapter 4's call the same kernel."):
    with torch.profiler.profile() as seen_own:
        own(x, x, x, need_weights=False)
    claim(any("flash_attention_for_cpu" in event.key for event in seen_own.key_averages()))
with says(
    "In this run, batches of 16, 32 and 48 texts are slow in PyTorch's layer.",
    timed=True,
):
    theirs, ours = a_text["PyTorch's layer"], a_text["chapter 4's layer"]
    round_ones = theirs[[16, 32, 48]]
    claim(round_ones.min() / theirs.drop(round_ones.index).max(), at_least=1.2)
    claim(ours.max() / ours.min(), at_most=1.5)
with says("with 32 texts, 8,192 bytes."):
    claim(4 * 32 * D == 8192)
    strides = []
    original = F.scaled_dot_product_attention

    def spy(query, *args, **kwargs):
        strides.append(query.stride())
        return original(query, *args, **kwargs)

    F.scaled_dot_product_attention = spy
    try:
        no_weights(x), own(x, x, x, need_weights=False)
    finally:
        F.scaled_dot_product_attention = original
with says("Chapter 4's layer keeps a text together, $D$ numbers from key to key"):
    claim([stride[2] for stride in strides] == [B * D, D])
    claim(q.stride()[2] == 32 * D)
with says(
    "In this run a text in a batch of 32 takes more than one and a half times as long as one in a batch of 31.",
    timed=True,
):
    claim(theirs[32] / theirs[31], at_least=1.5)
with says("a copy into another order must cure it", timed=True):
    claim(gain(copying, "as it lies", "with a copy"), at_least=1.5)
with says(
    "With four heads of sixteen numbers the keys lie just as far apart, and the difference is less than a quarter.",
    timed=True,
):
    halved, runs = nn.MultiheadAttention(D, H // 2, batch_first=True), {}
    for n in (31, 32):
        texts = torch.randn(n, T, D)
        runs[n] = partial(halved, texts, texts, texts, need_weights=False)
    laps = in_turns(runs, rounds=5)
    claim((laps[32] / 32 / (laps[31] / 31)).median(), 0.8, 1.25)
with says("What do scores and mixtures take then?"):
    claim([always.absorbing_is_cheaper(n, 512) for n in (1, 8, 9, 512)] == [True] * 4)
    claim([fast.absorbing_is_cheaper(n, 512) for n in (1, 8, 9, 512)] == [True, True, False, False])
