"""What two submissions share that few others have, as evidence for a conversation.

It ranks pairs and shows both texts. It sets no threshold and gives no verdict: how similar two
independent solutions are depends on the question, and only people can find out why two are similar.
Nothing that was handed in is run.
"""
