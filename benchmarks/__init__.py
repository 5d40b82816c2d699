"""Measurements of the course's layers against their peers: ``python -m benchmarks NAME``.

Every benchmark compares things within one run: they take turns, and the table gives medians,
quartiles and ratios. Seconds alone say more about the machine than about the code. How to time,
to count and to measure memory is in ``utils.timing``, ``utils.costs`` and ``utils.memory``.

``machine``         what the numbers were measured on
``report``          the JSON files in ``results/``

``cases``           the shapes at which layers are compared, and the work that each asks for
``shared_weights``  the weights that all layers of a comparison share
``peers``           a layer that takes part; ours and PyTorch's
``floors``          the work that none of them can do without
``libraries``       the same layer as other libraries write it
``agreement``       the proof that all are the same function
``layers``          the benchmark of that name

``documents``       the batches of chapter 8
``reshaped``        the usual layer, and the same with the fused kernel
``variants``        the classifier of chapter 8 in seven ways
``steps``           a single training step: time, parts, memory
``precision``       the same training in double precision
``training``        the benchmark of that name

``multi30k``        sentences in English and German
``subwords``        one vocabulary for both, and batches of sentences of about one length
``resumable``       a training that goes on after a kill
``bleu``            BLEU by sacrebleu
``translation``     the benchmark of that name

``screen``          the tables that a benchmark prints
``chapters``        how long each chapter took when it was executed
``pictures``        what was measured, drawn
``page``            the book's page of measurements, written from ``results/``
"""
