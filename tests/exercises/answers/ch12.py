from exercises import ch12


def accept_without_an_end(guesses, answers):
    n = 0
    while guesses[n] == answers[n]:
        n += 1
    return answers[: n + 1]


def accept_as_a_list(guesses, answers):
    written = []
    for guess, answer in zip(guesses.tolist(), answers.tolist(), strict=False):
        written.append(answer)
        if guess != answer:
            return written
    return [*written, answers[-1]]


RIGHT = {ch12.accepted_tokens: [accept_as_a_list], ch12.cache_as_large: [6144, 6144.0]}

WRONG = {
    ch12.cached_steps: [(lambda q, k, v, keys, values: q, "three things")],
    ch12.accepted_tokens: [(accept_without_an_end, "stop at their end")],
    ch12.cache_as_large: [(100, "how many numbers does a token keep?")],
}
