"""The colours of every figure, named after what they mean: chosen here and nowhere else."""

from matplotlib.colors import LinearSegmentedColormap, ListedColormap, to_rgb

# Okabe and Ito 2008, "Color Universal Design": told apart by readers of every colour vision.
PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
HEAD_COLOURS = PALETTE  # head h is drawn in HEAD_COLOURS[h]
LINK = "#2f86d1"  # a line that is seen on a light ground and on a dark one

INK = "#1c2430"  # what must be read: text, a total, a floor
PAPER = "#ffffff"  # the ground: between filled cells, and a number in a dark one
NOTE = "#5b6675"  # words and arrows beside the data
NEUTRAL = "#7f8896"  # a line, a band, points to compare with
PALE = "#d5dae1"  # grids, and areas behind the data
HEAT = "#0070b0"  # a cell of a heat map, the more opaque the larger

# What takes the place of a colour on a dark ground, where it is not the same.
DARK = {
    PALETTE[0]: "#56b4e9",
    PALETTE[1]: "#f0904a",
    PALETTE[2]: "#4cc9a0",
    PALETTE[3]: "#e0a3c6",
    PALETTE[4]: "#f0b83c",
    PALETTE[5]: "#8fd0f5",
    LINK: "#56a3e4",
    INK: "#e6eaf0",
    PAPER: "#12161c",
    NOTE: "#9aa7b6",
    NEUTRAL: "#8a94a3",
    PALE: "#39434f",
    HEAT: "#2f86d1",
}
# The name of each colour in the style of a page, where it follows light and dark.
VARIABLES = {colour: f"--fig-{n}" for n, colour in enumerate(PALETTE)} | {
    LINK: "--fig-link",
    INK: "--fig-ink",
    PAPER: "--fig-paper",
    NOTE: "--fig-note",
    NEUTRAL: "--fig-neutral",
    PALE: "--fig-pale",
    HEAT: "--fig-heat",
}


# Colour maps that readers of every colour vision can order. Nothing is transparent, so the ground
# shows through it, light or dark.
def tint(colour: str) -> LinearSegmentedColormap:
    """Give the colour map from nothing to this colour.

    Parameters
    ----------
    colour : str, a colour of the palette, such as one of ``HEAD_COLOURS``
    """
    return LinearSegmentedColormap.from_list(colour, [(*to_rgb(colour), 0.0), to_rgb(colour)])


SEQUENTIAL = tint(HEAT)  # from nothing to much: weights, counts
BINARY = ListedColormap([PALE, PALETTE[0]], name="allowed")  # no (pale) and yes (blue)
