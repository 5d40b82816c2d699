"""The colours of every figure, named after what they mean: chosen here and nowhere else."""

# Okabe and Ito 2008, "Color Universal Design": told apart by readers of every colour vision.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
HEAD_COLOURS = PALETTE  # head h is drawn in HEAD_COLOURS[h]
LINK = "#2f86d1"  # a line that is seen on a light ground and on a dark one

# Colour maps that readers of every colour vision can order.
SEQUENTIAL = "Blues"  # from nothing to much: weights, counts
DIVERGING = "RdBu_r"  # to both sides of a zero in the middle
GRADED = "viridis"  # numbers without a zero that matters, or many curves in order
BINARY = "cividis"  # yes (yellow) and no (blue)

INK = "black"  # what must be read: a total, a floor, a number in a pale cell
PAPER = "white"  # between filled cells, and a number in a dark one
NOTE = "0.35"  # words and arrows beside the data
NEUTRAL = "grey"  # a line, a band, points to compare with
PALE = "0.85"  # grids, and areas behind the data
