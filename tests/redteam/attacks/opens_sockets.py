# tries: to reach the network and other processes
opened = []
for family, address in (
    (socket.AF_INET, ("127.0.0.1", 80)),
    (socket.AF_INET6, ("::1", 80)),
    (socket.AF_UNIX, "\0PWNED"),
    (socket.AF_UNIX, "/run/docker.sock"),
    (socket.AF_NETLINK, (0, 0)),
):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        with suppress(OSError):
            with socket.socket(family, kind) as made:
                opened.append(family)
                made.bind(address)
if opened:
    breach(opened)
