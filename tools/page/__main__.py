"""``python -m tools.page`` makes again what is kept: colours, the landing page's heads, a card."""

from tools.page import card, colours, hero

colours.write()
hero.keep()
card.draw()
print(f"written: {hero.KEPT.name}, {card.CARD.name}, {colours.FILE.name}")
