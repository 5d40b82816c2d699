"""The colours of the whole book, on a light ground and on a dark one: chosen here, nowhere else.

``python -m tools.page`` writes them down for the page, as ``book/_static/colours.css``; a test asks
that the e-book, the drawings and the scripts have no other.
"""

from matplotlib.colors import LinearSegmentedColormap, ListedColormap, to_rgb

# Of figures. Heads: Okabe and Ito 2008, told apart by readers of every colour vision.
FIGURE = {
    "0": ("#0072b2", "#56b4e9"),
    "1": ("#d55e00", "#f0904a"),
    "2": ("#009e73", "#4cc9a0"),
    "3": ("#cc79a7", "#e0a3c6"),
    "4": ("#e69f00", "#f0b83c"),
    "5": ("#56b4e9", "#8fd0f5"),
    "link": ("#2f86d1", "#56a3e4"),  # a line that is seen on both grounds
    "ink": ("#1c2430", "#e6eaf0"),  # what must be read: text, a total, a floor
    "paper": ("#ffffff", "#12161c"),  # between filled cells, and a number in a dark one
    "note": ("#5b6675", "#9aa7b6"),  # words and arrows beside the data
    "neutral": ("#7f8896", "#8a94a3"),  # a line, a band, points to compare with
    "pale": ("#d5dae1", "#39434f"),  # grids, and areas behind the data
    "heat": ("#0070b0", "#2f86d1"),  # a cell of a heat map, the more opaque the larger
}
# Of the page, where it has others than figures.
PAGE = {
    "panel": ("#f5f7fa", "#1a2029"),
    "line": ("#dfe4ea", "#2f3946"),
    "link": ("#00639b", "#7cc4ee"),
    "orange": ("#b64f00", "#f0904a"),  # of letters: 4.5 to 1
    "result": ("#e8f3ee", "#16291f"),
    "result-edge": ("#146b4d", "#4cc9a0"),
    "trap": ("#fdf0e6", "#2e2118"),
    "try": ("#eaf2fb", "#17253a"),
}
OTHERS = ("#7a4100", "#5a3a87", "#fbfaf7")  # strings, numbers of code on paper; a cover
LOGO = ("#14506e", "#f2a541", "#2f8fb8", "#d98324", "#7d8790")  # seen on both grounds

PALETTE = [FIGURE[str(n)][0] for n in range(6)]
HEAD_COLOURS = PALETTE  # head h is drawn in HEAD_COLOURS[h]
LINK, INK, PAPER, NOTE, NEUTRAL, PALE, HEAT = [light for light, _ in FIGURE.values()][6:]


# Colour maps that readers of every colour vision can order. Nothing is transparent, so the ground
# shows through it, light or dark.
def tint(colour: str) -> LinearSegmentedColormap:
    """Give the colour map from nothing to this colour, such as one of ``HEAD_COLOURS``."""
    return LinearSegmentedColormap.from_list(colour, [(*to_rgb(colour), 0.0), to_rgb(colour)])


SEQUENTIAL = tint(HEAT)  # from nothing to much: weights, counts
BINARY = ListedColormap([PALE, PALETTE[0]], name="allowed")  # no (pale) and yes (blue)
