"""Drawings: tensors, masks, heads, layers, blocks, tiles and caches, alike through the whole book.

Each picture is drawn twice, for a wide page and for a narrow one, and says in words what it shows:
``DescribedFigure(picture.wide, picture.alt, caption, narrow=picture.narrow)`` puts it on a page.

``canvas``      a canvas measured in points, and a picture
``primitives``  words, boxes, arrows, lines, links
``tensors``     blocks of cells with named axes
``masks``       a mask in both conventions; scores, mask, softmax
``heads``       whom each token attends to
``couriers``    a dictionary; one courier and two
``embedding``   the vectors of a text, taken from a table
``loop``        a loop over heads, each with matrices of its own; ``sums`` heads that add up
``folding``     the heads of a layer in one product; ``blocks`` the block around it
``splitting``   numbers split into heads, rightly and wrongly
``packings``    its packed weights, as libraries and models keep them
``reading``     a text, and how much each word is read
``alignment``   two texts, and where each token written looks in the other
``beams``       a beam search as a tree
``translator``  encoder and decoder, and the way between
``memory``      tiles; ``caches`` what is kept while a text is written, and who shares it
"""

from utils.figures.drawings.alignment import draw_alignment
from utils.figures.drawings.beams import draw_beams
from utils.figures.drawings.blocks import draw_block
from utils.figures.drawings.caches import draw_cache, draw_sharing
from utils.figures.drawings.canvas import NARROW, WIDE, Block, Picture, both, canvas, trim
from utils.figures.drawings.couriers import draw_couriers, draw_lookup
from utils.figures.drawings.embedding import draw_embedding
from utils.figures.drawings.folding import draw_folding
from utils.figures.drawings.heads import draw_heads
from utils.figures.drawings.loop import draw_loop
from utils.figures.drawings.masks import draw_mask, draw_scores_to_weights
from utils.figures.drawings.memory import draw_tiles
from utils.figures.drawings.packings import draw_packings
from utils.figures.drawings.primitives import arrow, box, head_name, line, link, write
from utils.figures.drawings.reading import draw_reading
from utils.figures.drawings.splitting import draw_splitting
from utils.figures.drawings.sums import draw_sum_of_heads
from utils.figures.drawings.tensors import grid, tensor
from utils.figures.drawings.translator import draw_transformer
