"""``python -m tools.page`` makes again what is kept: the landing page's weights, and its card."""

from tools.page import card, hero

hero.keep()
card.draw()
print(f"written: {hero.KEPT.name}, {card.CARD.name}")
