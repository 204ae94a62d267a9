"""Similarity: what two submissions share that few others have, as evidence for a conversation.

    python -m tools.classroom similar SOURCE --into DIR [--references FOLDER ...]

It ranks pairs and shows both texts. It sets no threshold and gives no verdict: how similar two
independent solutions are depends on the question, and only people can find out why two are similar.

- `command`      the command: reads the class, compares, writes pages to DIR/similar/
- `reading`      reads the files of a class and of references, by the grader's own rules
- `texts`        finds what a student wrote: lines between the markers, and changes elsewhere
- `tokens`       splits code and prose into tokens, in two views: with names, and without
- `index`        weights 5-grams of tokens by how rare they are in the class, and scores pairs
- `matches`      finds the runs of tokens that two texts share, rarest first
- `torch_files`  reads parameters without running anything in the files
- `parameters`   finds identical tensors, and finetunings of the same pretraining
- `predictions`  finds identical wrong predictions, and weights them by how rare they are
- `pair_pages`   writes the pages; `marked` marks what two texts share
"""
