from exercises import ch14


def one_by_one(layers, T, width):
    sizes = [width if layer == "W" and width < T else T for layer in layers]
    return sum(sizes) / T / len(sizes)


RIGHT = {ch14.cache_share: [one_by_one], ch14.no_repeats: [0.94, 0.95, 0.98]}
