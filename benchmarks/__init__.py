"""Measurements of the course's layers against their peers: ``python -m benchmarks NAME``.

Every benchmark compares things within one run: they take turns, and the table gives medians,
quartiles and ratios. Seconds alone say more about the machine than about the code.

``layers``: one layer, as several libraries write it. ``cases`` has what all share, ``peers`` the
layers (a new one is one entry there), ``floors`` the work that none of them can do without.

``training``: the classifier of chapter 7, in the eight ways of ``variants``.

``writing``: tokens a second, ours and ``transformers``' ``generate``, on the same weights.

``writer``: the model that writes, trained and kept.

``page``: what was measured, as a page of the book. ``report`` keeps the JSON files in ``results/``,
``chapters`` how long each chapter took, ``parts`` makes tables, sentences and pictures of them, and
``page`` puts these into the sentences of ``texts/``.

``timing`` says how all of them are timed. ``whole_layer`` and ``named_heads`` make
the weights of live figures.
"""
