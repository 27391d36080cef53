"""Processor time that an emulated network takes from computation: the limit of overlap.

Two nodes exchange messages over plain sockets at the speed of their links, while a loop keeps each processor
busy. The kernel's time for sockets, bridges and shapers is lost to computation, with every library. As a
program, `stolen.py PORT SIZE [ADDRESS]` is one of the nodes.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

PORT = 47600
SOCKET_BUFFER = 1 << 20
SECONDS = 2.0
TICK: float = 1 / os.sysconf("SC_CLK_TCK")
# Columns of /proc/stat (irq, softirq) and, after the name, of /proc/PID/stat (stime).
INTERRUPTS, SYSTEM = slice(6, 8), 12


def stolen(hosts: Sequence[str], size: int, rounds: int) -> list[float]:
    """Return per round the seconds that an exchange of `size` bytes takes from each processor."""
    with _inside(hosts[0], "ip", "-4", "-o", "addr", "show", "eth0") as asked:
        address = asked.communicate()[0].split("inet ")[1].split("/")[0]
    return [_round(hosts, address, size, PORT + turn) for turn in range(rounds)]


def _round(hosts: Sequence[str], address: str, size: int, port: int) -> float:
    script = [sys.executable, __file__, str(port), str(size)]
    processors = len(os.sched_getaffinity(0))
    with ExitStack() as stack:
        for _ in range(processors):
            busy = stack.enter_context(subprocess.Popen(["sh", "-c", "while :; do :; done"]))
            stack.callback(busy.kill)
        nodes = [
            stack.enter_context(_inside(host, *script, *where))
            for host, where in zip(hosts, ([], [address]), strict=True)
        ]
        assert nodes[0].stdout is not None
        nodes[0].stdout.readline()  # messages flow
        begin, before = time.perf_counter(), _by_kernel(nodes)
        time.sleep(SECONDS)
        end, after = time.perf_counter(), _by_kernel(nodes)
        moments = json.loads(nodes[0].communicate("stop")[0])
        nodes[1].communicate("stop")
    exchanges: int = sum(begin <= moment <= end for moment in moments)
    return (after - before) / processors / exchanges


def _by_kernel(nodes: Sequence[subprocess.Popen[str]]) -> float:
    """Return processor seconds since the start: of all interrupts, and of the nodes in the kernel."""
    ticks: int = sum(map(int, Path("/proc/stat").read_text().split(maxsplit=8)[INTERRUPTS]))
    for node in nodes:
        ticks += int(Path(f"/proc/{node.pid}/stat").read_text().rpartition(")")[2].split()[SYSTEM])
    return ticks * TICK


def _inside(host: str, *command: str) -> subprocess.Popen[str]:
    words = ["nsenter", f"--net=/run/netns/{host}", *command]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _connected(port: int, address: str | None) -> socket.socket:
    if address is None:
        return socket.create_server(("", port)).accept()[0]
    while True:
        try:
            return socket.create_connection((address, port))
        except ConnectionRefusedError:
            time.sleep(0.01)


def _exchange(port: int, size: int, address: str | None = None) -> None:
    """Exchange until standard input ends. Print an empty line after the first exchange, and the end times."""
    peer = _connected(port, address)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        peer.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER)
    data, room = bytes(size), bytearray(size)

    def end_with_input() -> None:
        sys.stdin.read()
        peer.shutdown(socket.SHUT_RDWR)

    threading.Thread(target=end_with_input).start()
    ends: list[float] = []
    try:
        while True:
            sending = threading.Thread(target=peer.sendall, args=(data,))
            sending.start()
            if peer.recv_into(room, size, socket.MSG_WAITALL) < size:
                break
            sending.join()
            if not ends:
                print(flush=True)
            ends.append(time.perf_counter())
    except OSError:
        pass
    print(json.dumps(ends))


if __name__ == "__main__":
    threading.excepthook = lambda _: None  # senders whose peer has stopped
    _exchange(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
