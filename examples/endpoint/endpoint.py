#!/usr/bin/env python3
"""An external endpoint in Python: the contract is docs/endpoint.md."""
import mmap, os, socket, struct, sys

sends, tcp = os.environ["NT_ROLE"] == "send", os.environ["NT_PROTO"] == "tcp"
size = int(os.environ["NT_SIZE" if sends else "NT_READ"])
page = mmap.mmap(os.open(os.environ["NT_PAGE"], os.O_RDWR), 4096)
count = memoryview(page)[64:80].cast("Q")


def say(line):
    print(line, flush=True)


def hear(word):
    line = sys.stdin.readline().split()
    if not line or line[0] != word:
        sys.exit(f"expected {word}, got {line}")
    return line[1:]


def address(text):
    host, port = text.rsplit(":", 1)
    return host.strip("[]"), int(port)


host, port = address(os.environ["NT_BIND"])
family = socket.AF_INET6 if ":" in host else socket.AF_INET
sock = socket.socket(family, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
if tcp:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(os.environ["NT_NODELAY"]))
sock.bind((host, port))
if tcp and not sends:
    sock.listen(1)
say(f"ready {sock.getsockname()[1]}")
peer = address(hear("connect")[0])
if tcp and not sends:
    sock = sock.accept()[0]
else:
    sock.connect(peer)
say("connected")
hear("go")

messages = octets = 0
if sends:
    message = bytes(size)
    while page[0] != 3:
        if tcp:
            sock.sendall(message)
        else:
            sock.send(message)
        messages += 1
        octets += size
        count[0], count[1] = messages, octets
    say("done")
    hear("stop")
else:
    room = bytearray(size)
    while (got := sock.recv_into(room)) or not tcp:
        messages += 1
        octets += got
        count[0], count[1] = messages, octets
