"""Measurements of the course's layers against their peers: ``python -m benchmarks NAME``.

Every benchmark compares things within one run: they take turns, and the table gives medians,
quartiles and ratios. Seconds alone say more about the machine than about the code. How to time,
to count and to find the limits is in ``timing``, ``limits`` and ``utils.costs``.

``python -m benchmarks layers``: one layer, as several libraries write it

    ``cases``      the shapes, the weights that all share, and a layer that takes part
    ``peers``      the layers: ours, PyTorch's, other libraries'; a new one is one entry here
    ``floors``     the work that none of them can do without
    ``layers``     the benchmark: all are the same function, and take turns

``python -m benchmarks training``: the classifier of chapter 7, in eight ways

    ``variants``   the eight ways
    ``reshaped``   the usual layer, and the same with the fused kernel
    ``epochs``     the batches, and whole trainings that take turns
    ``training``   the benchmark: whole trainings and single steps

``python -m benchmarks writing``: tokens a second, ours and ``transformers``' ``generate``

    ``writing``       the benchmark: the same weights write the same texts, and take turns
    ``writing_part``  what it found, for the screen and for the page

``python -m benchmarks writer``: the model that writes, trained and kept

    ``writer``       its recipe, and what it is compared with
    ``resumable``    its training, which goes on after a kill
    ``compression``  the compressor that it is compared with

``arguments`` says what can be asked.

``python -m benchmarks page``: what was measured, as a page of the book

    ``report``     the JSON files in ``results/``, with machine, versions and date
    ``chapters``   how long each chapter took when it was executed
    ``parts``      tables and sentences of each benchmark, for the screen and for the page
    ``wording``    how their numbers are written
    ``pictures``   what was measured, drawn
    ``page``       the page: the sentences of ``texts/``, filled with what was found
"""
