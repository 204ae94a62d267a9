"""Similarity: what two submissions share that few others have, as evidence for a conversation.

    python -m tools.classroom similar SOURCE --into DIR [--references FOLDER ...]

It ranks pairs and shows both texts. It knows no threshold and gives no verdict: how alike two
independent solutions are depends on the question, and only people can find out why two are.

- `command`      the sub-command: reads the class, compares, writes pages to DIR/similar/
- `reading`      the files of a class and of references, laid out by the grader's own rules
- `texts`        what of a file somebody wrote: the lines between the markers, and changes outside
- `tokens`       code and prose as tokens, in two views: with names, and without
- `index`        5-grams of tokens, weighted by how rare they are in the class; a score of each pair
- `matches`      which runs of tokens two texts share, rarest first
- `torch_files`  reads parameters without running anything that is in them
- `parameters`   identical tensors, and finetunings of the same pretraining
- `predictions`  identical wrong predictions, weighted by how rare they are
- `pair_pages`   what is shown, as HTML; `marked` the texts in it
"""
