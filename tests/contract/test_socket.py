"""What the service's sockets promise."""

import socket

from service.server import listen


def test_answers_are_not_held_back_by_the_kernel():
    (listener,) = listen("127.0.0.1", 0)
    with listener, socket.create_connection(listener.getsockname(), timeout=5):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
