from exercises import ch12

RIGHT = {ch12.cache_as_large: [6144, 6144.0]}

WRONG = {
    ch12.cached_steps: [(lambda q, k, v, keys, values: q, "three things")],
    ch12.cache_as_large: [(100, "how many numbers does a token keep?")],
}
