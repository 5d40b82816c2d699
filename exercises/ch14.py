"""Checks of chapter 14: the cache of a layout, and what a sum recalls without repeats."""

from exercises.exercise import Case, Cases, Prediction, exercise


@exercise
def cache_share() -> Cases:
    """Check ``function(layers, T, width)``: the share of the cache that windows leave."""
    for layers, T, width in (("WWWWWG", 32_768, 1_024), ("WGWG", 100, 20), ("WWG", 10, 16), ("WW", 50, 5)):
        windows, n = layers.count("W"), len(layers)
        right = (windows * min(T, width) + (n - windows) * T) / (n * T)
        wrong = {
            "a text shorter than the window fills only T places of it.": (windows * width + (n - windows) * T) / (n * T),
            "this is the share that is saved; what is left?": 1 - right,
            "the layers that read all keep their caches as well.": windows * min(T, width) / (n * T),
            "divide by the cache of all layers, not of one.": right * n,
            "a share has no unit: divide by what layers that all read all would keep.": right * n * T,
            "that is what one layer with a window keeps; count every layer.": min(T, width) / T,
        }
        yield Case((layers, T, width), right, wrong, "the share")


@exercise
def no_repeats() -> Cases:
    """Check which share of the values a gated sum recalls where no key comes again."""
    mistakes = {
        0.75: "so much it recalls with repeats. What goes wrong there, and can it go wrong here?",
        0.88: "more: four heads have 64 rows, and sixteen keys that come once have room in them.",
        0.5: "four heads have 64 rows for sixteen keys; what does a key find there that comes once?",
        1.0: "nearly; but learnt keys are a little alike, and each gives back some of the others.",
    }
    limits = (0, 1, "a share lies between 0 and 1.")
    yield Prediction("the share", (0.93, 0.999), mistakes, limits=limits)
