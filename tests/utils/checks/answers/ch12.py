"""The checks of chapter 12 accept what is right, however written, and name what is wrong."""

import math

import numpy as np
import torch

from utils.checks import ch12


def read(state, q, k, v, mask):
    top, total, mixed = state
    scores = (q @ k.T / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    down, weights = (top - higher).exp(), (scores - higher).exp()
    return higher, total * down + weights.sum(dim=-1, keepdim=True), mixed * down + weights @ v


def read_by_keys(state, q, k, v, mask):
    top, total, mixed = (x.clone() for x in state)
    for j in range(len(k)):
        for row in range(len(q)):
            if mask[row, j]:
                score = torch.dot(q[row], k[j]) / len(k[j]) ** 0.5
                higher = torch.maximum(top[row], score)
                down, weight = (top[row] - higher).exp(), (score - higher).exp()
                total[row] = total[row] * down + weight
                mixed[row] = mixed[row] * down + weight * v[j]
                top[row] = higher
    return top, total, mixed


def read_with_ones(state, q, k, v, mask):
    """The total is mixed like a value that is always one."""
    top, total, mixed = state
    bias = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    scores = torch.einsum("td,sd->ts", q, k) * q.shape[-1] ** -0.5 + bias
    higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    both = torch.cat([total, mixed], dim=-1) * torch.exp(top - higher)
    both = both + torch.exp(scores - higher) @ torch.cat([torch.ones(len(v), 1), v], dim=-1)
    return [higher, both[:, :1], both[:, 1:]]


def fill_with(number):
    """A tile in which a blocked score becomes a large negative number."""

    def filled(state, q, k, v, mask):
        top, total, mixed = state
        scores = (q @ k.T / math.sqrt(q.shape[-1])).masked_fill(~mask, number)
        higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
        down, weights = (top - higher).exp(), (scores - higher).exp()
        return higher, total * down + weights.sum(-1, keepdim=True), mixed * down + weights @ v

    return filled


def change_mixed(function):
    """A tile whose new mixed is ``function(mixed, added, down, total)``."""

    def changed(state, *args):
        top, total, mixed = read(state, *args)
        down = (state[0] - top).exp()
        return top, total, function(state[2], mixed - state[2] * down, down, total)

    return changed


def change_total(function):
    """A tile whose new total is ``function(total, added, down)``."""

    def changed(state, *args):
        top, total, mixed = read(state, *args)
        down = (state[0] - top).exp()
        return top, function(state[1], total - state[1] * down, down), mixed

    return changed


def ranked_before(state, q, k, v, mask):
    """The largest score is taken before the mask."""
    top, total, mixed = state
    scores = q @ k.T / math.sqrt(q.shape[-1])
    higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    weights = (scores.masked_fill(~mask, -math.inf) - higher).exp()
    down = (top - higher).exp()
    return higher, total * down + weights.sum(-1, keepdim=True), mixed * down + weights @ v


def one_top(state, q, k, v, mask):
    """The largest score of the whole tile, for every query."""
    top, total, mixed = state
    scores = (q @ k.T / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    higher = torch.maximum(top, scores.max())
    down, weights = (top - higher).exp(), (scores - higher).exp()
    return higher, total * down + weights.sum(dim=-1, keepdim=True), mixed * down + weights @ v


def turned_factor(both):
    """A tile whose factor is turned round, for both or for mixed alone."""

    def turned(state, *args):
        top, total, mixed = read(state, *args)
        down, up = (state[0] - top).exp(), (top - state[0]).exp()
        if both:
            total = state[1] * up + (total - state[1] * down)
        return top, total, state[2] * up + (mixed - state[2] * down)

    return turned


def forget_top(state, q, k, v, mask):
    top, total, mixed = state
    scores = (q @ k.T / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    higher = scores.amax(dim=-1, keepdim=True)
    down, weights = (top - higher).exp(), (scores - higher).exp()
    return higher, total * down + weights.sum(-1, keepdim=True), mixed * down + weights @ v


def visited(T, window, tile):
    starts = range(0, T, tile)
    return sum(i - max(0, start - window + 1) // tile + 1 for i, start in enumerate(starts))


def mask_of(T, window):
    back = np.subtract.outer(np.arange(T), np.arange(T))
    return (back >= 0) & (back < window)


def tiles_of(mask, tile):
    return len({(t // tile, s // tile) for t, s in zip(*mask.nonzero(), strict=True)})


def everything(T, window, tile):
    return math.ceil(T / tile) ** 2


def from_the_last(T, window, tile):
    starts = range(0, T, tile)
    lasts = [min(start + tile, T) - 1 for start in starts]
    return sum(i - max(0, last - window + 1) // tile + 1 for i, last in enumerate(lasts))


def by_the_window(more):
    """Tiles by the length of the window alone."""

    def counted(T, window, tile):
        tiles = math.ceil(window / tile) + more
        return sum(min(i + 1, tiles) for i in range(math.ceil(T / tile)))

    return counted


def by_the_floor(T, window, tile):
    return sum(min(i + 1, window // tile + 1) for i in range(math.ceil(T / tile)))


def by_the_parts(T, window, tile):
    return sum(min(i + 1, window // tile) for i in range(math.ceil(T / tile)))


def by_rounding(T, window, tile):
    return sum(min(i, round(window / tile)) + 1 for i in range(math.ceil(T / tile)))


def before_the_text(T, window, tile):
    return sum(i - (start - window + 1) // tile + 1 for i, start in enumerate(range(0, T, tile)))


def to_both_sides(T, window, tile):
    mask = mask_of(T, window)
    return tiles_of(mask | mask.T, tile)


def whole_tiles(T, window, tile):
    T = T // tile * tile
    return tiles_of(mask_of(T, window), tile) if T else 0


def merge(outputs, log_sums):
    return (log_sums.softmax(dim=0) * outputs).sum(dim=0), log_sums.logsumexp(dim=0)


def merge_in_turns(outputs, log_sums):
    output, log_sum = outputs[0], log_sums[0]
    for o, other in zip(outputs[1:], log_sums[1:], strict=True):
        both = torch.logaddexp(log_sum, other)
        output = (log_sum - both).exp() * output + (other - both).exp() * o
        log_sum = both
    return [output, log_sum]


def merge_from_the_largest(outputs, log_sums):
    top = log_sums.amax(dim=0)
    shares = torch.exp(log_sums - top)
    mixed = torch.einsum("nti,ntd->td", shares, outputs)
    return mixed / shares.sum(0), top + shares.sum(0).log()


def merge_plainly(outputs, log_sums):
    sums = log_sums.exp()
    return (sums * outputs).sum(0) / sums.sum(0), sums.sum(0).log()


def merge_two(outputs, log_sums):
    both = torch.logaddexp(log_sums[0], log_sums[1])
    parts = zip(log_sums[:2], outputs[:2], strict=True)
    return sum((log_sum - both).exp() * output for log_sum, output in parts), both


def run_state(q, k, v):
    state, outputs = torch.zeros(k.shape[1], v.shape[1]), []
    for q_t, k_t, v_t in zip(q, k, v, strict=True):
        state += torch.outer(k_t, v_t)
        outputs.append(q_t @ state)
    return torch.stack(outputs)


def all_states(q, k, v):
    states = torch.einsum("td,tv->tdv", k, v).cumsum(dim=0)
    return torch.einsum("td,tdv->tv", q, states)


def state_by_products(q, k, v):
    state, rows = k[:0].T @ v[:0], []
    for t in range(len(q)):
        state = state + k[t : t + 1].T @ v[t : t + 1]
        rows.append(q[t : t + 1] @ state)
    return torch.cat(rows)


def state_in_chunks(q, k, v, size=8):
    state, rows = torch.zeros(k.shape[1], v.shape[1]), []
    for a, b, c in zip(q.split(size), k.split(size), v.split(size), strict=True):
        rows.append(a @ state + (a @ b.T).tril() @ c)
        state = state + b.T @ c
    return torch.cat(rows)


def state_read_first(q, k, v):
    state, rows = torch.zeros(k.shape[1], v.shape[1]), []
    for q_t, k_t, v_t in zip(q, k, v, strict=True):
        rows.append(q_t @ state)
        state = state + torch.outer(k_t, v_t)
    return torch.stack(rows)


def averaged(q):
    return torch.arange(1, len(q) + 1).unsqueeze(1)


def in_pairs(q, k, v):
    return (q @ k.T).tril() @ v


def softly(q, k, v):
    return (q @ k.T).masked_fill(~torch.ones(len(q), len(q)).tril().bool(), -math.inf).softmax(
        -1
    ) @ v


RIGHT = {
    ch12.one_tile: [read, read_by_keys, read_with_ones],
    ch12.tiles_visited: [
        visited,
        lambda T, w, tile: tiles_of(mask_of(T, w), tile),
        lambda T, w, tile: np.int64(visited(T, w, tile)),
    ],
    ch12.merged_parts: [merge, merge_in_turns, merge_from_the_largest],
    ch12.causal_state: [run_state, all_states, state_by_products, state_in_chunks],
}

WRONG = {
    ch12.one_tile: [
        (lambda state, *_: state, "top is the old one"),
        (lambda s, q, k, v, m: read(s, q, k, v, m | True), "the mask is not used"),
        (lambda s, q, k, v, m: read(s, q, k, v, ~m), "the wrong way round"),
        (lambda s, q, k, v, m: read(s, 2 * q, k, v, m), "by the root of D_head"),
        (lambda s, q, k, v, m: read(s, q / 2, k, v, m), "divided by D_head; divide"),
        (fill_with(ch12.LOWEST), "each blocked key counts as one"),
        (fill_with(-1e9), "each blocked key counts as one"),
        (fill_with(-1e4), "Fill with -inf"),
        (ranked_before, "taken before the mask"),
        (forget_top, "the old top is forgotten"),
        (change_total(lambda total, new, down: total + new), "so far is not rescaled"),
        (change_total(lambda total, new, down: new), "the total so far is missing"),
        (change_mixed(lambda u, new, down, n: u + new), "mixed before is not rescaled"),
        (change_mixed(lambda u, new, down, n: new), "mixed before is missing"),
        (change_mixed(lambda u, new, down, n: (u * down + new) / n), "comes last"),
        (one_top, "one largest score serves all"),
        (turned_factor(True), "the total so far is rescaled the wrong way"),
        (turned_factor(False), "mixed before is rescaled the wrong way"),
        (lambda s, *a: read(s, *a)[:2], "should return three tensors"),
    ],
    ch12.tiles_visited: [
        (lambda T, w, tile: everything(T, w, tile) if T == 8 else 0, "you count 16 tiles"),
        (everything, "the tiles of all pairs"),
        (lambda T, w, tile: visited(T, T, tile), "all causal tiles"),
        (to_both_sides, "look to both sides"),
        (lambda T, w, tile: visited(T, w + 1, tile), "one key too far back"),
        (lambda T, w, tile: visited(T, w, tile) - math.ceil(T / tile), "the 1 is missing"),
        (by_the_window(0), "into one tile more"),
        (by_the_window(1), "one key too far back"),
        (by_the_floor, "a part of a tile is a tile too"),
        (lambda T, w, tile: tiles_of(mask_of(T, w - 1), tile), "one too narrow"),
        (lambda T, w, tile: int(mask_of(T, w).sum()), "these are pairs"),
        (by_the_parts, "one tile or two too few"),
        (before_the_text, "no tile lies before it"),
        (by_rounding, "it is 9"),
        (whole_tiles, "the last tile is left out"),
        (from_the_last, "its first one sees further back"),
        (lambda T, w, tile: visited(T, w, tile) + 99, "it is 9"),
        (lambda T, w, tile: visited(T, w, tile) / 1, "should be an int; got float"),
    ],
    ch12.merged_parts: [
        (lambda o, s: (o.mean(0), s.logsumexp(0)), "the plain mean"),
        (lambda o, s: (o.sum(0), s.logsumexp(0)), "added as they are"),
        (lambda o, s: ((s.exp() * o).sum(0), s.logsumexp(0)), "not divided by their sum"),
        (lambda o, s: ((s.softmax(1) * o).sum(0), s.logsumexp(0)), "those of the queries"),
        (lambda o, s: ((s.softmax(-1) * o).sum(0), s.logsumexp(0)), "the parts are axis 0"),
        (lambda o, s: (o.take_along_dim(s.argmax(0)[None], 0)[0], s), "largest sum is left"),
        (lambda o, s: ((s / s.sum(0) * o).sum(0), s), "those of the log-sums"),
        (lambda o, s: ((s * o).sum(0), s), "those of the log-sums"),
        (lambda o, s: ((s.log_softmax(0) * o).sum(0), s), "those of the log-sums"),
        (lambda o, s: (((s - s.amax(0)).exp() * o).sum(0), s), "measured from the largest, but"),
        (lambda o, s: ((s.view(-1).softmax(0).view_as(s) * o).sum(0), s), "its own"),
        (lambda o, s: (merge(o, s)[0] / len(o), s.logsumexp(0)), "with no mean"),
        (merge_two, "only the first two parts"),
        (merge_plainly, "the exponential overflows"),
        (lambda o, s: (merge(o, s)[0], s.amax(0)), "the largest log-sum"),
        (lambda o, s: (merge(o, s)[0], s.sum(0)), "the log-sums are added"),
        (lambda o, s: (merge(o, s)[0], s.logsumexp(0) - s.amax(0)), "is not added back"),
        (lambda o, s: (merge(o, s)[0], s.exp().sum(0)), "its logarithm is missing"),
        (lambda o, s: (merge(o, s)[0], s.logsumexp(0)[:, 0]), "lost its last dimension"),
        (lambda o, s: merge(o, s)[0], "should return two tensors"),
    ],
    ch12.causal_state: [
        (lambda q, k, v: q @ (k.T @ v), "a query sees later keys"),
        (state_read_first, "own key is missing"),
        (lambda q, k, v: q @ (v.T @ k), "the output is wrong"),
        (lambda q, k, v: (q * k).sum(1, keepdim=True) * v, "the last token's alone"),
        (lambda q, k, v: all_states(q / q.shape[1] ** 0.5, k, v), "a root of D_head"),
        (lambda q, k, v: all_states(q, v, k), "turned round"),
        (lambda q, k, v: run_state(q, k, v) / averaged(q), "division by the number of keys"),
        (softly, "there is a softmax"),
        (in_pairs, "a number for each query and key"),
    ],
}
