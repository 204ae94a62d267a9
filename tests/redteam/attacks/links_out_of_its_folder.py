# tries: links that whoever cleans up might follow
def attack(keys, j):
    os.symlink(TREE, "tree")
    os.symlink("/", "root")
    os.symlink("loop", "loop")
    os.makedirs("a/b")
    os.symlink(TREE / "solutions", "a/b/c")
    os.mkfifo("pipe")
