from exercises import ch15

RIGHT = {ch15.idle_biases: [["k_proj"], ("k_proj",), {"k_proj"}]}

WRONG = {
    ch15.idle_biases: [
        ([], "q · (k + b) adds q · b"),
        (["k_proj", "q_proj"], "another number for each key"),
        (["k_proj", "v_proj"], "reaches its output whole"),
        (["out_proj"], "its bias is added to every output"),
    ]
}
