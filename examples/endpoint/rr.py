#!/usr/bin/env python3
"""An external endpoint of TCP_RR and UDP_RR: asks, or answers, by the contract of docs/endpoint.md."""
import mmap
import os
import socket
import sys

env = os.environ
asks, tcp = env["NT_ROLE"] == "send", env["NT_PROTO"] == "tcp"
size = int(env["NT_SIZE"])
if env["NT_TEST"] != "rr":
    sys.exit("rr.py asks and answers; endpoint.py sends streams")
page = mmap.mmap(os.open(env["NT_PAGE"], os.O_RDWR), 4096)
counts = memoryview(page)[64:80].cast("Q")  # messages and bytes; each is written whole, which struct does not do


def address(text):
    host, port = text.rsplit(":", 1)
    return host.strip("[]"), int(port)


bind = address(env["NT_BIND"])
family = socket.AF_INET6 if ":" in bind[0] else socket.AF_INET
sock = socket.socket(family, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
sock.bind(bind)
if tcp and not asks:
    sock.listen(1)
print("ready", sock.getsockname()[1], flush=True)
peer = address(sys.stdin.readline().split()[1])
if tcp and not asks:
    sock = sock.accept()[0]
else:
    sock.connect(peer)
if tcp:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(env.get("NT_NODELAY", "0")))
print("connected", flush=True)
sys.stdin.readline()  # go

done = 0


def whole():
    """A request or a response: a datagram, or as many bytes of the stream; empty at its end."""
    if not tcp:
        return sock.recv(size)
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            return b""
        data += more
    return data


def count():
    global done
    done += 1
    counts[0], counts[1] = done, 2 * size * done  # bytes of both directions


if asks:
    if not tcp:
        sock.settimeout(0.05)  # a lost datagram is asked for again
    while page[0] != 3:
        try:
            sock.sendall(bytes(size)) if tcp else sock.send(bytes(size))
            whole()
        except TimeoutError:
            continue
        count()
    print("done", flush=True)
    sys.stdin.readline()  # stop
else:
    while request := whole():
        sock.sendall(request) if tcp else sock.send(request)  # what comes back begins as it came
        count()
